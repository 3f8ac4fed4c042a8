// SPDX-License-Identifier: Apache-2.0

/**
 * C2 removes the arrays of a recursion. The same thread walks the heap by JVM TI at its bottom, which brings
 * them back: each in a frame that lies deeper in the thread's stack than where it left Java code.
 */
public final class BroughtBackBelow {
    private static final int DEPTH = 1_000;

    private static boolean walks;

    private static long bottom() {
        if (walks && !AskSites.walkFromRoots()) throw new AssertionError("there was no walk");
        return 1;
    }

    private static long descend(int depth) {
        long[] numbers = new long[60];
        numbers[7] = depth;
        long below = depth == 0 ? bottom() : descend(depth - 1); // brought back
        return numbers[7] + below;
    }

    public static void main(String[] args) {
        System.load(System.getProperty("native.ask_sites"));
        if (!AskSites.open()) throw new AssertionError("the VM has no interface");
        long sum = 0;
        for (int i = 0; i < 20_000; i++) sum += descend(2);
        walks = true;
        sum += descend(DEPTH);
        System.out.println("sum " + sum);
    }
}
