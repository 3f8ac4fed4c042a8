// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.instrument.Instrumentation;

/**
 * What instrumented code calls. Nothing is thrown into the application: an object that cannot be recorded is
 * counted as lost. Calls that the recorder itself or the weaver causes are ignored by the thread's `busy` flag.
 */
public final class Recorder {
    private static boolean tracking;
    private static boolean drag;

    private Recorder() {}

    public static void start(Settings settings, Instrumentation instrumentation) {
        tracking = settings.mode != Settings.Mode.COUNT;
        drag = settings.mode == Settings.Mode.DRAG;
        Contexts.start(settings.depth);
        Sites.start(instrumentation);
        if (tracking) {
            Reaper.begin(drag);
            Ticker.begin(settings.collectEvery);
        }
        Runtime.getRuntime().addShutdownHook(
                new Thread(null, () -> Report.write(settings), "anttracks-instrument report"));
    }

    /** Whether the thread was busy already; to be given to `leave`. */
    public static boolean enter() {
        State state = State.current();
        boolean before = state.busy;
        state.busy = true;
        return before;
    }

    public static void leave(boolean before) {
        State.current().busy = before;
    }

    /** mode=count: an instance is about to be constructed. The report knows its size. */
    public static void count(int site) {
        State state = State.current();
        if (!state.busy) record(state, site, 0);
    }

    /** mode=count: an array is about to be made. */
    public static void countArray(int length, int site) {
        if (length < 0) return;
        State state = State.current();
        if (!state.busy) record(state, site, Sites.arraySize(length, site));
    }

    /** mode=count: an object whose class the site does not know was made; it escapes only the first time. */
    public static void countObject(Object object, int site) {
        State state = State.current();
        if (!state.busy) record(state, site, Sites.size(object, site));
    }

    /** mode=count: a clone of an array. */
    public static void countClone(Object array, int site) {
        State state = State.current();
        if (!state.busy) record(state, site, Sites.arraySize(array, site));
    }

    /**
     * Any mode: an array of arrays was made, of which the first DIMENSIONS are filled;
     * their sites follow each other.
     */
    public static void multi(Object array, int dimensions, int site) {
        if (tracking) allocatedArray(array, site);
        else countClone(array, site);
        if (dimensions == 1) return;
        for (Object inner : (Object[]) array) multi(inner, dimensions - 1, site + 1);
    }

    private static void record(State state, int site, long bytes) {
        if (Contexts.areSites() && state.countKnown(site, bytes)) return;
        state.busy = true;
        try {
            state.count(Contexts.of(site), bytes);
        } catch (OutOfMemoryError | StackOverflowError e) {
            state.lost++;
        } finally {
            state.busy = false;
        }
    }

    /** mode=deaths, mode=drag: the object has been constructed. */
    public static void allocated(Object object, int site) {
        State state = State.current();
        if (!state.busy) track(state, object, site, false);
    }

    public static void allocatedArray(Object array, int site) {
        State state = State.current();
        if (!state.busy) track(state, array, site, true);
    }

    private static void track(State state, Object object, int site, boolean array) {
        state.busy = true;
        try {
            long size = array ? Sites.arraySize(object, site) : Sites.size(object, site);
            int context = Contexts.of(site);
            if (Clock.advance(state, size)) Reaper.waitIfBehind();
            if (drag) UseTable.add(new Used(object, context, size, state));
            else Chunk.track(object, context, size, state);
            state.count(context, size);
        } catch (OutOfMemoryError | StackOverflowError e) {
            state.lost++;
        } finally {
            state.busy = false;
        }
    }

    /** mode=drag: the object, which may be null, is about to be used. */
    public static void used(Object object) {
        if (object == null) return;
        State state = State.current();
        if (state.busy) return;
        state.busy = true;
        try {
            Used entry = UseTable.find(object);
            if (entry != null) entry.touch(state);
        } finally {
            state.busy = false;
        }
    }
}
