// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Something that runs again and again in one process with the same result each time. Prints one line an
 * iteration: `iteration NUMBER MS wall_ms GC gc_ms CPU cpu_ms CHECKSUM`, after a number of iterations that are
 * not printed. CPU: of all threads of the process, in steps of 10 ms.
 */
abstract class Workload {
    private static final OperatingSystemMXBean OS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Does the work once; returns a checksum, which must be the same every time. */
    abstract long iterate() throws Exception;

    static String option(String[] args, String name, String otherwise) {
        for (int i = 0; i + 1 < args.length; i++) {
            if (args[i].equals(name)) return args[i + 1];
        }
        return otherwise;
    }

    /**
     * Whether the size asked for is the small one, for tests;
     * otherwise it is the one that figures are taken with.
     */
    static boolean small(String[] args) {
        String size = option(args, "--size", "large");
        if (!size.equals("small") && !size.equals("large")) {
            throw new IllegalArgumentException("--size is small or large");
        }
        return size.equals("small");
    }

    interface Part {
        long run(int number) throws Exception;
    }

    /** Runs the parts in a thread each; the result depends on what they return, not on who was first. */
    static long inParallel(int threads, Part part) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Long>> results = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int number = i;
                results.add(pool.submit(() -> part.run(number)));
            }
            long sum = 0;
            for (Future<Long> result : results) sum = sum * 31 + result.get();
            return sum;
        } finally {
            pool.shutdown();
        }
    }

    /** Called once after the last iteration, also if it failed. */
    void close() throws Exception {}

    final void measure(String[] args) throws Exception {
        int warmup = Integer.parseInt(option(args, "--warmup", "2"));
        int iterations = Integer.parseInt(option(args, "--iterations", "5"));
        String command = option(args, "--after-warmup", "");
        try {
            repeat(warmup, iterations, command.replace("{pid}", Long.toString(ProcessHandle.current().pid())));
        } finally {
            close();
        }
    }

    /**
     * command: run between warm-up and the first iteration that counts, words separated by blanks; empty: none.
     */
    private void repeat(int warmup, int iterations, String command) throws Exception {
        Long checksum = null;
        for (int i = 0; i < warmup + iterations; i++) {
            if (i == warmup && !command.isEmpty()) run(command);
            long gc = gcMillis();
            long cpu = OS.getProcessCpuTime();
            long began = System.nanoTime();
            long result = iterate();
            double millis = (System.nanoTime() - began) / 1e6;
            if (checksum != null && checksum != result) throw new IllegalStateException("the checksum changed");
            cpu = OS.getProcessCpuTime() - cpu;
            checksum = result;
            if (i >= warmup) {
                System.out.printf("iteration %d %.3f wall_ms %d gc_ms %d cpu_ms %016x%n", i - warmup,
                        millis, gcMillis() - gc, cpu / 1_000_000, result);
            }
        }
    }

    private static void run(String command) throws Exception {
        Process process = new ProcessBuilder(command.split(" ")).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.INHERIT).start();
        if (process.waitFor() != 0) {
            throw new IllegalStateException(command + " ended with " + process.exitValue());
        }
    }

    private static long gcMillis() {
        long sum = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            sum += bean.getCollectionTime();
        }
        return sum;
    }
}
