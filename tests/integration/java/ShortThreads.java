// SPDX-License-Identifier: Apache-2.0
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * So many threads as the argument says, eight at a time, each of which allocates a little. Prints what the JVM
 * says that each has allocated: `thread ID BYTES NAME`.
 */
public final class ShortThreads {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        ThreadMXBean bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        bean.getCurrentThreadAllocatedBytes();
        long[] ids = new long[count];
        long[] bytes = new long[count];
        Thread[] running = new Thread[8];
        for (int t = 0; t < count; t++) {
            int number = t;
            if (t >= running.length) running[t % running.length].join();
            running[t % running.length] = new Thread(() -> {
                for (int i = 0; i < number % 50; i++) sink = new int[number % 100];
                if (number % 100 == 0) sink = new long[100_000];
                ids[number] = Thread.currentThread().getId();
                bytes[number] = bean.getCurrentThreadAllocatedBytes();
            }, "short-" + t);
            running[t % running.length].start();
        }
        for (Thread thread : running) thread.join();
        for (int t = 0; t < count; t++) System.out.println("thread " + ids[t] + " " + bytes[t] + " short-" + t);
    }
}
