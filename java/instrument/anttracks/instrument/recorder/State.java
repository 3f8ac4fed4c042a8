// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.ref.WeakReference;
import java.util.Arrays;

/**
 * What one thread has recorded. Written by its thread only, without locks; folded into the totals by another
 * thread once that thread has ended. What is called before `busy` is known (ThreadLocal,
 * Reference) is never instrumented.
 */
final class State {
    private static final ThreadLocal<State> CURRENT = new ThreadLocal<>();
    private static final State ENDED = new State(null);
    private static State first;
    private static int registered;
    private static int sweepAt = 64;

    /** Set while the recorder or the weaver runs in this thread: what they allocate is theirs. */
    boolean busy;
    /** Bytes that Clock does not know yet. */
    long pending;
    /** Objects for which there was no memory or stack to record them. */
    long lost;
    Chunk chunk;
    /** Objects and bytes by context, in turns. */
    private long[] data = new long[256];
    private final WeakReference<Thread> thread;
    private State next;

    private State(Thread thread) {
        this.thread = thread == null ? null : new WeakReference<>(thread);
    }

    static State current() {
        State state = CURRENT.get();
        return state != null ? state : create();
    }

    private static State create() {
        State state = new State(Thread.currentThread());
        // What follows may run instrumented code, which must find the state.
        state.busy = true;
        CURRENT.set(state);
        register(state);
        state.busy = false;
        return state;
    }

    private static synchronized void register(State state) {
        if (registered == sweepAt) {
            sweep();
            sweepAt = Math.max(64, registered * 2);
        }
        state.next = first;
        first = state;
        registered++;
    }

    private static void sweep() {
        State kept = null;
        for (State state = first; state != null; ) {
            State following = state.next;
            Thread owner = state.thread.get();
            if (owner == null || !owner.isAlive()) {
                ENDED.take(state);
                registered--;
            } else {
                state.next = kept;
                kept = state;
            }
            state = following;
        }
        first = kept;
    }

    private void take(State other) {
        add(other.data);
        lost += other.lost;
        Clock.flush(other);
        if (other.chunk != null) other.chunk.end();
    }

    private void add(long[] more) {
        if (data.length < more.length) data = Arrays.copyOf(data, more.length);
        for (int i = 0; i < more.length; i++) data[i] += more[i];
    }

    /** The sum over all threads, those that run included. */
    static synchronized State sum() {
        State sum = new State(null);
        sum.add(ENDED.data);
        sum.lost = ENDED.lost;
        for (State state = first; state != null; state = state.next) {
            sum.add(state.data);
            sum.lost += state.lost;
            sum.pending += state.pending;
        }
        return sum;
    }

    void count(int context, long bytes) {
        if (2 * context >= data.length) data = Arrays.copyOf(data, Math.max(2 * context + 2, data.length * 2));
        countKnown(context, bytes);
    }

    /** Without the growth, which may run instrumented code. */
    boolean countKnown(int context, long bytes) {
        int at = 2 * context;
        if (at >= data.length) return false;
        data[at]++;
        data[at + 1] += bytes;
        return true;
    }

    int contexts() {
        return data.length / 2;
    }

    long objects(int context) {
        return 2 * context < data.length ? data[2 * context] : 0;
    }

    long bytes(int context) {
        return 2 * context < data.length ? data[2 * context + 1] : 0;
    }
}
