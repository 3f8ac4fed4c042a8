// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.ref.PhantomReference;

/**
 * One object whose death is awaited. Without a queue: the collector clears the reference, and the reaper sees
 * that when it looks through all of them after a collection,
 * which costs a fraction of a locked queue's work an object.
 */
class Tracked extends PhantomReference<Object> {
    // The final fields also make a reference safe to read that another thread found without a lock.
    final int context;
    final int bornMillis;
    final long bornBytes;
    private final int words;

    Tracked(Object object, int context, long size, State state) {
        super(object, null);
        this.context = context;
        words = (int) (size >>> 3);
        bornBytes = Clock.bytes(state);
        bornMillis = Clock.millis;
    }

    final boolean isDead() {
        return refersTo(null);
    }

    final long size() {
        return (long) words << 3;
    }

    long lastUseBytes() {
        return bornBytes;
    }

    int lastUseMillis() {
        return bornMillis;
    }

    boolean wasUsed() {
        return false;
    }
}
