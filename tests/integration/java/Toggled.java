// SPDX-License-Identifier: Apache-2.0

/**
 * Another agent has sampled allocation events now and then: small objects are made while it has, and a large
 * one, outside of TLABs, right after. Argument: how often.
 */
public final class Toggled {
    private static Object sink;

    /** Of an environment of JVM TI of its own. */
    static native boolean sample(boolean on);

    private static void small() {
        sink = new byte[1000];
    }

    private static void large() {
        sink = new byte[80_000];
    }

    public static void main(String[] args) {
        System.load(System.getProperty("native.ask_sites"));
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            if (!sample(true)) throw new AssertionError("no sampled allocation events");
            for (int j = 0; j < 30; j++) small();
            if (!sample(false)) throw new AssertionError("sampled allocation events do not end");
            large();
        }
        System.out.println(sink != null);
    }
}
