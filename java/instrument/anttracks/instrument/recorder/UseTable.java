// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Consumer;

/**
 * Finds the entry of an object: a hash table by identity hash code, which is not unique, so that the reference
 * itself decides. Changed under one lock a segment, searched without; a search that finds nothing while the
 * segment grows is repeated under the lock.
 */
final class UseTable {
    private static final VarHandle BUCKETS = MethodHandles.arrayElementVarHandle(Used[].class);
    private static final int SEGMENT_BITS = 6;
    private static final UseTable[] SEGMENTS = new UseTable[1 << SEGMENT_BITS];

    static {
        for (int i = 0; i < SEGMENTS.length; i++) SEGMENTS[i] = new UseTable();
    }

    private volatile Used[] buckets = new Used[1 << 8];
    /** Odd while entries move to larger buckets. */
    private volatile int moves;
    private int count;

    private static UseTable segment(int hash) {
        return SEGMENTS[hash & SEGMENTS.length - 1];
    }

    private static int bucket(int hash, Used[] buckets) {
        return hash >>> SEGMENT_BITS & buckets.length - 1;
    }

    static Used find(Object object) {
        int hash = System.identityHashCode(object);
        UseTable segment = segment(hash);
        int before = segment.moves;
        Used found = segment.search(object, hash);
        if (found != null || (before & 1) == 0 && before == segment.moves) return found;
        synchronized (segment) {
            return segment.search(object, hash);
        }
    }

    private Used search(Object object, int hash) {
        Used[] in = buckets;
        Used entry = (Used) BUCKETS.getAcquire(in, bucket(hash, in));
        while (entry != null && !(entry.hash == hash && entry.refersTo(object))) entry = entry.next;
        return entry;
    }

    static void add(Used entry) {
        segment(entry.hash).insert(entry);
    }

    private synchronized void insert(Used entry) {
        if (count >= buckets.length) grow();
        Used[] in = buckets;
        int at = bucket(entry.hash, in);
        entry.next = in[at];
        BUCKETS.setRelease(in, at, entry);
        count++;
    }

    private void grow() {
        Used[] larger = new Used[buckets.length * 2];
        moves++;
        for (Used head : buckets) {
            for (Used entry = head; entry != null; ) {
                Used following = entry.next;
                int at = bucket(entry.hash, larger);
                entry.next = larger[at];
                larger[at] = entry;
                entry = following;
            }
        }
        buckets = larger;
        moves++;
    }

    /** Removes what has died. */
    static void scan(Consumer<Tracked> died) {
        for (UseTable segment : SEGMENTS) segment.sweep(died);
    }

    private synchronized void sweep(Consumer<Tracked> died) {
        Used[] in = buckets;
        for (int at = 0; at < in.length; at++) {
            Used before = null;
            for (Used entry = in[at]; entry != null; entry = entry.next) {
                if (!entry.isDead()) {
                    before = entry;
                    continue;
                }
                if (before == null) BUCKETS.setRelease(in, at, entry.next);
                else before.next = entry.next;
                count--;
                died.accept(entry);
            }
        }
    }

    static void forEach(Consumer<Used> action) {
        for (UseTable segment : SEGMENTS) {
            synchronized (segment) {
                for (Used head : segment.buckets) {
                    for (Used entry = head; entry != null; entry = entry.next) action.accept(entry);
                }
            }
        }
    }
}
