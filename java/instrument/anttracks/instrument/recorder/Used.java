// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

/** An object with its last use; an entry of UseTable, which keeps it reachable. */
final class Used extends Tracked {
    final int hash;
    /** The next entry of the bucket; guarded by the segment's lock, read without. */
    volatile Used next;
    /** Threads may overwrite each other's last use: either was one just now. */
    private long lastBytes;
    private int lastMillis;
    private boolean used;

    Used(Object object, int context, long size, State state) {
        super(object, context, size, state);
        hash = System.identityHashCode(object);
        lastBytes = bornBytes;
        lastMillis = bornMillis;
    }

    void touch(State state) {
        lastBytes = Clock.bytes(state);
        lastMillis = Clock.millis;
        used = true;
    }

    @Override long lastUseBytes() {
        return lastBytes;
    }

    @Override int lastUseMillis() {
        return lastMillis;
    }

    @Override boolean wasUsed() {
        return used;
    }
}
