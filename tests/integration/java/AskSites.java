// SPDX-License-Identifier: Apache-2.0

/**
 * Asks the patched VM for the allocation sites of objects whose headers are in different states, also from a
 * thread that the VM does not know. Prints "ok" when every answer is the right one.
 */
public final class AskSites {
    private static final int CANNOT_TELL = -1;

    static native boolean open();

    static native int known(Object object);

    static native int unknown(Object object);

    static native int[] duringWalk(Object visited, Object other);

    static native boolean walkFromRoots();

    private static Object make() {
        return new Object[1];
    }

    private static void expect(String what, int expected, int found) {
        if (expected != found) throw new AssertionError(what + ": site " + found + " instead of " + expected);
    }

    private static void same(String state, int site, Object object) {
        same(state, site, site, object);
    }

    private static void same(String state, int site, int siteForUnknownThread, Object object) {
        expect(state + ", asked by a thread of the VM", site, known(object));
        expect(state + ", asked by another thread", siteForUnknownThread, unknown(object));
        int[] answers = duringWalk(make(), object);
        expect(state + ", asked during a heap walk", siteForUnknownThread, answers[1]);
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.ask_sites"));
        if (!open()) throw new AssertionError("the VM has no interface");
        final Object plain = make();
        final int site = known(plain);
        if (site < 16) throw new AssertionError("site " + site + " is none of Java code");
        // From 23 on a locked object keeps its header, which was on the thread's stack before, or with another
        // LockingMode is where every thread finds it; from 21 on a heap walk marks objects beside the heap.
        final int release = Runtime.version().feature();
        final int ofLocked = release >= 23 || Boolean.getBoolean("header.stays") ? site : CANNOT_TELL;
        final int ofVisited = release >= 21 ? site : CANNOT_TELL;
        same("unlocked", site, plain);

        final Object locked = make();
        synchronized (locked) {
            same("locked", site, ofLocked, locked);
        }
        final Object hashed = make();
        System.identityHashCode(hashed);
        synchronized (hashed) {
            same("hashed and locked", site, ofLocked, hashed);
        }
        final Object inflated = make();
        synchronized (inflated) {
            inflated.wait(1);
            same("inflated", site, inflated);
        }

        for (Object visited : new Object[] {plain, hashed, make()}) {
            expect("visited by a heap walk", ofVisited, duringWalk(visited, plain)[0]);
            expect("after the walk", site, unknown(visited));
        }
        synchronized (locked) {
            expect("locked and visited by a heap walk", ofLocked, duringWalk(locked, plain)[0]);
            expect("locked, after the walk", site, known(locked));
        }
        System.out.println("ok");
    }
}
