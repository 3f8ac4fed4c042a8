// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * Something that runs again and again in one process with the same result each time. Prints one line an iteration:
 * `iteration NUMBER MS wall_ms GC gc_ms CHECKSUM`, after a number of iterations that are not printed.
 */
abstract class Workload {
    /** Does the work once; returns a checksum, which must be the same every time. */
    abstract long iterate() throws Exception;

    static String option(String[] args, String name, String otherwise) {
        for (int i = 0; i + 1 < args.length; i++) {
            if (args[i].equals(name)) return args[i + 1];
        }
        return otherwise;
    }

    final void measure(String[] args) throws Exception {
        int warmup = Integer.parseInt(option(args, "--warmup", "2"));
        int iterations = Integer.parseInt(option(args, "--iterations", "5"));
        Long checksum = null;
        for (int i = 0; i < warmup + iterations; i++) {
            long gc = gcMillis();
            long began = System.nanoTime();
            long result = iterate();
            double millis = (System.nanoTime() - began) / 1e6;
            if (checksum != null && checksum != result) throw new IllegalStateException("the checksum changed");
            checksum = result;
            if (i >= warmup) {
                System.out.printf("iteration %d %.3f wall_ms %d gc_ms %016x%n", i - warmup, millis, gcMillis() - gc, result);
            }
        }
    }

    private static long gcMillis() {
        long sum = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) sum += bean.getCollectionTime();
        return sum;
    }
}
