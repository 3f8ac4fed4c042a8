// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Thousands of virtual threads that allocate, and sleep with deep stacks: their frames lie in the heap
 * then. For JDK 21 on.
 */
public final class VirtualThreads {
    private static final int THREADS = 3000;
    private static final List<Object> kept = new ArrayList<>();
    private static volatile boolean stop;

    private static int deep(int depth, int seed) {
        int[] local = new int[seed % 20];
        if (depth > 0) return deep(depth - 1, seed + 1) + local.length;
        for (int i = 0; !stop && (seed % 3 == 0 || i < 5); i++) {
            byte[] bytes = new byte[seed % 100];
            LockSupport.parkNanos(2_000_000 + seed % 1000);
            if (bytes.length % 50 == 7) synchronized (kept) {
                kept.add(bytes);
            }
        }
        return local.length;
    }

    /** Parks while it holds a monitor, and waits. Few threads: before JDK 24 these keep their carriers. */
    private static void locked(int seed) {
        Object own = new int[seed % 20];
        for (int i = 0; i < 5; i++) {
            synchronized (own) {
                byte[] bytes = new byte[seed % 100];
                LockSupport.parkNanos(1_000_000);
                try {
                    own.wait(1);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                if (bytes.length % 50 == 7) synchronized (kept) {
                    kept.add(own);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        for (int round = 0; round < 2; round++) {
            stop = false;
            CountDownLatch started = new CountDownLatch(THREADS), ended = new CountDownLatch(THREADS);
            for (int t = 0; t < THREADS; t++) {
                int seed = t;
                Runnable work = () -> {
                    started.countDown();
                    if (seed % 99 == 57) locked(seed);
                    else deep(seed % 40, seed);
                    ended.countDown();
                };
                start.invoke(null, work);
            }
            started.await();
            Judge.both();
            Thread.sleep(200);
            Judge.both();
            stop = true;
            ended.await();
            synchronized (kept) {
                kept.subList(0, kept.size() / 2).clear();
            }
            Judge.both();
        }
        System.out.println("done");
    }
}
