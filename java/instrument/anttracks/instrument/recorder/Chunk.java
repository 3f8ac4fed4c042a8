// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.util.function.Consumer;

/**
 * Keeps the references of a thread's objects reachable until these have died. Filled by its thread without a
 * lock, and emptied by the reaper, which drops it when all of its objects are dead.
 */
final class Chunk {
    private static final int SIZE = 512;
    /** Chunks that no scan has seen yet; guarded by the class. */
    private static Chunk fresh;
    /** The others; the scan's own. */
    private static Chunk old;

    private final Tracked[] slots = new Tracked[SIZE];
    private int used;
    /** The scan's own. */
    private int dead;
    private volatile int limit = SIZE;
    private Chunk next;

    static void track(Object object, int context, long size, State state) {
        Chunk chunk = state.chunk;
        if (chunk == null || chunk.used == SIZE) {
            chunk = new Chunk();
            link(chunk);
            state.chunk = chunk;
        }
        chunk.slots[chunk.used] = new Tracked(object, context, size, state);
        chunk.used++;
    }

    private static synchronized void link(Chunk chunk) {
        chunk.next = fresh;
        fresh = chunk;
    }

    private static synchronized Chunk takeFresh() {
        Chunk taken = fresh;
        fresh = null;
        return taken;
    }

    /** Its thread has ended: what it holds is all that it will hold. */
    void end() {
        limit = used;
    }

    /** Removes what has died. One scan at a time. */
    static void scan(Consumer<Tracked> died) {
        Chunk kept = sift(old, null, died);
        old = sift(takeFresh(), kept, died);
    }

    /** Puts those of the chunks that still have objects ahead of KEPT. */
    private static Chunk sift(Chunk chunks, Chunk kept, Consumer<Tracked> died) {
        for (Chunk chunk = chunks; chunk != null; ) {
            Chunk following = chunk.next;
            if (!chunk.empty(died)) {
                chunk.next = kept;
                kept = chunk;
            }
            chunk = following;
        }
        return kept;
    }

    private boolean empty(Consumer<Tracked> died) {
        for (int i = 0; i < SIZE; i++) {
            Tracked tracked = slots[i];
            if (tracked == null || !tracked.isDead()) continue;
            slots[i] = null;
            dead++;
            died.accept(tracked);
        }
        return dead == limit;
    }
}
