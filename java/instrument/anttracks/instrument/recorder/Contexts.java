// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import java.lang.StackWalker.StackFrame;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Numbers what allocations are told apart by: with depth=1 the site alone, else the site with its callers. */
final class Contexts {
    private static final String OWN = "anttracks.instrument.recorder.";
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final ConcurrentHashMap<Key, Integer> NUMBERS = new ConcurrentHashMap<>();
    private static final List<Context> CONTEXTS = new ArrayList<>();
    private static int depth;

    private static final class Context {
        final int site;
        final List<String> callers;

        Context(int site, List<String> callers) {
            this.site = site;
            this.callers = callers;
        }
    }

    /** Class, method and bci of each caller; a line may belong to several. */
    private static final class Key {
        final int site;
        final Object[] parts;
        final int hash;

        Key(int site, List<StackFrame> frames) {
            this.site = site;
            parts = new Object[3 * frames.size()];
            for (int i = 0; i < frames.size(); i++) {
                parts[3 * i] = frames.get(i).getClassName();
                parts[3 * i + 1] = frames.get(i).getMethodName();
                parts[3 * i + 2] = frames.get(i).getByteCodeIndex();
            }
            hash = Arrays.hashCode(parts) * 31 + site;
        }

        @Override public int hashCode() {
            return hash;
        }

        @Override public boolean equals(Object other) {
            return other instanceof Key && site == ((Key) other).site
                    && Arrays.equals(parts, ((Key) other).parts);
        }
    }

    private Contexts() {}

    static void start(int wanted) {
        depth = wanted;
    }

    static boolean areSites() {
        return depth == 1;
    }

    /** Of the allocation at SITE in the method that called the recorder. */
    static int of(int site) {
        if (depth == 1) return site;
        List<StackFrame> callers = WALKER.walk(
                frames -> frames.dropWhile(frame -> frame.getClassName().startsWith(OWN))
                .skip(1).limit(depth - 1).collect(Collectors.toList()));
        Key key = new Key(site, callers);
        Integer known = NUMBERS.get(key);
        return known != null ? known : add(key, callers);
    }

    private static synchronized int add(Key key, List<StackFrame> callers) {
        Integer known = NUMBERS.get(key);
        if (known != null) return known;
        List<String> lines = new ArrayList<>();
        for (StackFrame frame : callers) {
            lines.add(frame.getClassName() + "." + frame.getMethodName() + "(" + frame.getFileName() + ":"
                    + frame.getLineNumber() + ")");
        }
        CONTEXTS.add(new Context(key.site, lines));
        NUMBERS.put(key, CONTEXTS.size() - 1);
        return CONTEXTS.size() - 1;
    }

    static int site(int context) {
        if (depth == 1) return context;
        synchronized (Contexts.class) {
            return CONTEXTS.get(context).site;
        }
    }

    static List<String> callers(int context) {
        if (depth == 1) return Collections.emptyList();
        synchronized (Contexts.class) {
            return CONTEXTS.get(context).callers;
        }
    }
}
