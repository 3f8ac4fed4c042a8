// SPDX-License-Identifier: Apache-2.0

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * Runs another program and asks for a full collection again and again meanwhile, so that a short run has as
 * many old-space collections as a long one: Collects MILLIS MAIN ARGUMENT... With MILLIS 0 it does so after
 * each young collection of the program's, however fast the machine is. It does not once the program has ended:
 * what that has kept would be seen to die.
 */
public final class Collects {
    private static final Object GATE = new Object();
    private static boolean ended; // guarded by GATE

    /** False: the program has ended. */
    private static boolean collect() {
        synchronized (GATE) {
            if (!ended) System.gc();
            return !ended;
        }
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
            .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    private static void awaitCollection() throws InterruptedException {
        long before = collections();
        while (collections() == before) {
            Thread.sleep(1);
        }
    }

    public static void main(String[] args) throws Throwable {
        long millis = Long.parseLong(args[0]);
        Thread thread = new Thread(() -> {
            try {
                do {
                    if (millis == 0) {
                        awaitCollection();
                    } else {
                        Thread.sleep(millis);
                    }
                } while (collect());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "collects");
        thread.setDaemon(true);
        thread.start();
        var main = Class.forName(args[1]).getMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) java.util.Arrays.copyOfRange(args, 2, args.length));
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause();
        } finally {
            synchronized (GATE) {
                ended = true;
            }
        }
    }
}
