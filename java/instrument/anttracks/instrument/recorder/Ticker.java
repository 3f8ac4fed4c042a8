// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

/** Moves the clock's milliseconds, and asks for a collection whenever gc= bytes were allocated. */
final class Ticker {
    private Ticker() {}

    static void begin(long collectEvery) {
        long started = System.nanoTime();
        Threads.start("anttracks-instrument ticker", Thread.MAX_PRIORITY, () -> {
            long collected = 0;
            while (true) {
                Thread.sleep(1);
                Clock.millis = (int) ((System.nanoTime() - started) / 1_000_000);
                if (collectEvery > 0 && Clock.bytes() - collected >= collectEvery) {
                    collected = Clock.bytes();
                    System.gc();
                }
            }
        });
    }
}
