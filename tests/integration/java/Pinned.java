// SPDX-License-Identifier: Apache-2.0
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Native code holds young arrays in place over young, mixed and full collections. For a collector that pins
 * regions.
 */
public final class Pinned {
    static final class Small {
        final Object other;

        Small(Object other) {
            this.other = other;
        }
    }

    private static final int THREADS = 4;
    private static final List<Object> kept = new ArrayList<>();
    private static final Random random = new Random(Long.getLong("random.seed", 5));

    static native int hold(int[] data);

    private static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += bean.getCollectionCount();
        }
        return count;
    }

    /** Until so many more collections were made. Of the objects one in 20 stays for a while. */
    private static void allocate(int more) {
        for (long end = collections() + more; collections() < end; ) {
            for (int i = 0; i < 20_000; i++) {
                Object other = i % 100 == 1 ? new int[20] : null;
                Object one = i % 4 == 0 ? new byte[random.nextInt(300)] : new Small(other);
                if (i % 20 == 0) kept.add(one);
            }
            if (kept.size() > 100_000) kept.subList(0, 60_000).clear();
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.library"));
        for (int round = 0; round < 3; round++) {
            allocate(2);
            Thread[] threads = new Thread[THREADS];
            int[][] data = new int[THREADS][];
            for (int i = 0; i < THREADS; i++) {
                allocateSome();
                int[] held = data[i] = new int[500];
                threads[i] = new Thread(() -> hold(held));
                threads[i].start();
            }
            for (int[] one : data) {
                while (one[1] == 0) Thread.sleep(1);
            }
            allocate(4);
            Judge.both();
            allocate(4);
            for (int[] one : data) one[0] = 1;
            for (Thread thread : threads) thread.join();
            Judge.both();
        }
        System.out.println("kept " + !kept.isEmpty());
    }

    /** So that the arrays are not in one region. */
    private static void allocateSome() {
        for (int i = 0; i < 2000; i++) {
            Object one = new byte[1000];
            if (i % 10 == 0) kept.add(one);
        }
    }
}
