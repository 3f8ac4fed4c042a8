// SPDX-License-Identifier: Apache-2.0
/**
 * Allocates much while native code in a critical section holds off every collection, then goes on without it.
 * Wants a young generation that has room for it. Argument: objects in the critical section.
 */
public final class Uncollectable {
    static Object sink;

    private static native int hold(int[] data);

    private static void allocate(int objects) {
        for (int i = 0; i < objects; i++) {
            sink = (i & 3) == 0 ? new byte[i % 50] : new Object[] {i, new int[i & 7]};
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.library"));
        int objects = Integer.parseInt(args[0]);
        int[] data = new int[1];
        allocate(objects);
        System.gc();  // data is in the old generation from now on
        Thread thread = new Thread(() -> {
            allocate(objects);
            data[0] = 1;
        });
        thread.start();
        int seen = hold(data);
        thread.join();
        for (int i = 0; i < 20; i++) {
            allocate(objects / 10);
            System.gc();
        }
        Judge.both();
        System.out.println("seen " + seen);
    }
}
