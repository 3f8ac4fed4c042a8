// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Workers allocate, then park for good; prints what the JVM says that each has allocated:
 * `thread ID BYTES NAME`.
 */
public final class ThreadBytes {
    static Object sink;

    private static void allocate(int number) {
        for (int i = 0; i < 30_000 * (number + 1); i++) {
            sink = new byte[i % (50 + number)];
            if (i % 100 == 0) sink = new Object[] {new long[1][3], "n" + i};
            if (i % 10_000 == 0) sink = new int[300_000];
        }
    }

    public static void main(String[] args) throws Exception {
        int count = 6;
        CountDownLatch parked = new CountDownLatch(count);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            int number = t;
            Thread thread = new Thread(() -> {
                allocate(number);
                parked.countDown();
                while (true) LockSupport.park();
            }, "measured-" + t);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        parked.await();
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.WAITING) Thread.sleep(1);
        }
        com.sun.management.ThreadMXBean bean =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (Thread thread : threads) {
            System.out.println("thread " + thread.getId() + " " + bean.getThreadAllocatedBytes(thread.getId())
                    + " " + thread.getName());
        }
    }
}
