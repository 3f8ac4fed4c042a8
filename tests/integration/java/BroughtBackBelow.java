// SPDX-License-Identifier: Apache-2.0

/**
 * C2 removes the objects of a recursion. The same thread walks the heap by JVM TI at its bottom, which brings
 * them back: each in a frame that lies deeper in the thread's stack than where it left Java code.
 */
public final class BroughtBackBelow {
    private static final int DEPTH = 1_000;

    /** 496 bytes. */
    static final class Numbers {
        long n00, n01, n02, n03, n04, n05, n06, n07, n08, n09, n10, n11;
        long n12, n13, n14, n15, n16, n17, n18, n19, n20, n21, n22, n23;
        long n24, n25, n26, n27, n28, n29, n30, n31, n32, n33, n34, n35;
        long n36, n37, n38, n39, n40, n41, n42, n43, n44, n45, n46, n47;
        long n48, n49, n50, n51, n52, n53, n54, n55, n56, n57, n58, n59;
    }

    private static boolean walks;

    private static long bottom() {
        if (walks && !AskSites.walkFromRoots()) throw new AssertionError("there was no walk");
        return 1;
    }

    private static long descend(int depth) {
        Numbers numbers = new Numbers();
        numbers.n07 = depth;
        long below = depth == 0 ? bottom() : descend(depth - 1); // brought back
        return numbers.n07 + below;
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
