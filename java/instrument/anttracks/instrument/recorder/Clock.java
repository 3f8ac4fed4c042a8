// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Time in bytes allocated and in milliseconds. A thread tells the others its bytes in portions, so that they do
 * not fight for one counter: a program of one thread sees exact bytes,
 * others lag by at most UNIT for each other thread.
 */
final class Clock {
    private static final int UNIT = 4096;
    private static final AtomicLong BYTES = new AtomicLong();
    /** Set by Ticker: asking the system at every use would cost more than the rest of it. */
    static volatile int millis;

    private Clock() {}

    /** True now and then, when the others were told. */
    static boolean advance(State state, long bytes) {
        state.pending += bytes;
        if (state.pending < UNIT) return false;
        flush(state);
        return true;
    }

    static void flush(State state) {
        BYTES.addAndGet(state.pending);
        state.pending = 0;
    }

    static long bytes(State state) {
        return BYTES.get() + state.pending;
    }

    static long told() {
        return BYTES.get();
    }

    /** With what all threads have not told yet. */
    static long bytes() {
        return BYTES.get() + State.sum().pending;
    }
}
