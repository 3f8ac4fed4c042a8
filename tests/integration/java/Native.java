// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Objects that native code makes through JNI, and critical sections that hold the collector off. */
public final class Native {
    public static final class Made {
        public int value;

        public Made(int value) {
            this.value = value;
        }
    }

    private static final List<Object> kept = new ArrayList<>();

    static native Object construct(int value);

    static native Object allocate();

    static native Object[] objects(int length, Object fill);

    static native int[] ints(int length);

    static native byte[] bytes(int length);

    static native String unicode(int length);

    static native String utf(int number);

    static native long critical(int[] data, byte[] other);

    static native Object cloneOf(Object[] array);

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.library"));
        Thread churn = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Object garbage = new byte[1000];
                if (garbage.hashCode() == 1) kept.add(null);
            }
        });
        churn.start();
        long sum = 0;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 10_000; i++) {
                Object[] all = {construct(i), allocate(), objects(i % 20, "x"), ints(i % 30), bytes(i % 50),
                    unicode(i % 40), utf(i), cloneOf(new Object[] {i})};
                sum += critical(new int[] {1, 2, i}, new byte[i % 100]);
                if (i % 5 == 0) kept.add(all);
            }
            kept.add(ints(500_000));
            Judge.both();
            kept.subList(0, kept.size() / 2).clear();
        }
        churn.interrupt();
        churn.join();
        Judge.both();
        System.out.println("native " + sum);
    }
}
