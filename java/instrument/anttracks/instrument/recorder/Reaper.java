// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/** Looks for dead objects after each collection, in a thread of its own, and sums up their lives by context. */
final class Reaper {
    private static final DeathTotals DIED = new DeathTotals();
    /** How far the application may run ahead of a scan, in bytes allocated. */
    private static final long AHEAD = Runtime.getRuntime().maxMemory() / 16;
    private static final long PATIENCE_NANOS = 1_000_000_000;
    private static boolean drag;
    /** The clock when the running scan began, or -1. */
    private static volatile long scanning = -1;

    private Reaper() {}

    static void begin(boolean wantsDrag) {
        drag = wantsDrag;
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Threads.start("anttracks-instrument reaper", Thread.MAX_PRIORITY, () -> {
            // An object that nobody refers to is gone after the next collection, whatever that collects.
            PhantomReference<Object> canary = new PhantomReference<>(new Object(), queue);
            while (true) {
                if (queue.remove() != canary) continue;
                canary = new PhantomReference<>(new Object(), queue);
                scan();
            }
        });
    }

    private static synchronized void scan() {
        long bytes = Clock.bytes();
        int millis = Clock.millis;
        scanning = Clock.told();
        try {
            if (drag) UseTable.scan(dead -> DIED.add(dead, bytes, millis));
            else Chunk.scan(dead -> DIED.add(dead, bytes, millis));
        } finally {
            scanning = -1;
        }
    }

    /**
     * Holds the application back while a scan takes long: else references pile up faster than they can be
     * freed. Yields instead of waiting, because the latter would use up interrupts or permits that belong to
     * the application.
     */
    static void waitIfBehind() {
        long since = scanning;
        if (since < 0 || Clock.told() - since < AHEAD) return;
        long began = System.nanoTime();
        while (scanning == since && System.nanoTime() - began < PATIENCE_NANOS) Thread.yield();
    }

    /** The totals, with all that the collector has found dead until now. */
    static DeathTotals last() {
        scan();
        return DIED;
    }
}
