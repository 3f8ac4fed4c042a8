// SPDX-License-Identifier: Apache-2.0

/**
 * C2 removes the points of one thread. Another one, which walks the heap by JVM TI, brings the last of them
 * back: while a walk looks at the heap, no object may be missing from it.
 */
public final class BroughtBack {
    static final class Point {
        final int x;
        final int y;

        Point(int x, int y) {
            this.x = x;
            this.y = y;
        }
    }

    private static volatile boolean waits;
    private static volatile boolean stands;

    private static int pause(int i) throws InterruptedException {
        if (i == 0 && waits) stands = true;
        while (i == 0 && waits) Thread.sleep(1);
        return 1;
    }

    private static int hold(int i) throws InterruptedException {
        Point point = new Point(i, i + 1);
        int one = pause(i); // brought back
        return point.x + one * point.y;
    }

    private static void holdAll() {
        try {
            long sum = 0;
            for (int i = 200_000; i >= 0; i--) sum += hold(i);
            System.out.println("sum " + sum);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.ask_sites"));
        if (!AskSites.open()) throw new AssertionError("the VM has no interface");
        holdAll();
        waits = true;
        Thread thread = new Thread(BroughtBack::holdAll);
        thread.start();
        while (!stands) Thread.sleep(1);
        if (!AskSites.walkFromRoots()) throw new AssertionError("there was no walk");
        waits = false;
        thread.join();
    }
}
