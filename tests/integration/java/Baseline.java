// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * Known numbers of allocations at known places, for the baselines.
 * The tests find the lines by their last comment.
 */
public final class Baseline implements Cloneable {
    static class Point {
        long x = 1;
        long y;
    }

    static class Throwing {
        Throwing() {
            throw new IllegalStateException();
        }
    }

    static class Other {
        static Object make() {
            return new Point();  // other
        }
    }

    static class Early {
        int value;
    }

    static class Late {
        int value;
    }

    static class Unused {
        int value;
    }

    private static final int[] DIMENSIONS = {3, 4};
    static Object sink;

    static void allocate() throws CloneNotSupportedException {
        long sum = 0;
        for (int i = 0; i < 1000; i++) sum += new Point().x;  // instance
        for (int i = 0; i < 100; i++) sum += new int[i].length;  // ints
        for (int i = 0; i < 10; i++) sink = new String[i];  // strings
        for (int i = 0; i < 5; i++) sink = new long[3][4][];  // multi
        for (int i = 0; i < 7; i++) sink = DIMENSIONS.clone();  // array clone
        for (int i = 0; i < 8; i++) sink = new Baseline().copy();
        for (int i = 0; i < 9; i++) sink = supplier(i);
        for (int i = 0; i < 6; i++) {
            sink = i > 2 ? new Object[] {new Point(), i > 3 ? new Point() : null} : null;  // nested
        }
        for (int i = 0; i < 4; i++) {
            try {
                sink = new Throwing();  // throwing
            } catch (IllegalStateException e) {
                sum++;
            }
            try {
                sink = new byte[-1 - i];  // negative
            } catch (NegativeArraySizeException e) {
                sum += e.getMessage().length();
            }
        }
        for (int i = 0; i < 20; i++) sink = Other.make();
        System.out.println("sum " + sum);
    }

    private Object copy() throws CloneNotSupportedException {
        return super.clone();  // clone
    }

    private static Object supplier(int i) {
        Runnable runnable = () -> System.out.println(i);  // lambda
        return runnable;
    }

    static void deaths() {
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            Object made = new Point();  // deaths
            if (i % 5 == 0) kept.add(made);
        }
        System.gc();
        sink = kept;
        System.out.println("kept " + kept.size());
    }

    /** More threads than the recorder keeps without looking which of them have ended. */
    static void threads() throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            Thread first = new Thread(Baseline::work);
            Thread second = new Thread(Baseline::work);
            first.start();
            second.start();
            first.join();
            second.join();
        }
    }

    private static void work() {
        Object[] made = new Object[50];
        for (int i = 0; i < made.length; i++) made[i] = new Point();  // threads
        if (made[49] == null) throw new IllegalStateException();
    }

    private static long local(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += new Point().x + new int[] {i}[0];  // escape
        return sum;
    }

    /** Whether the compiler removes objects that do not leave their method. */
    static void escape() {
        com.sun.management.ThreadMXBean bean =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long allocated = -1;
        for (int round = 0; round < 100 && allocated != 0; round++) {
            long before = bean.getCurrentThreadAllocatedBytes();
            if (local(300_000) < 0) throw new IllegalStateException();
            allocated = bean.getCurrentThreadAllocatedBytes() - before;
        }
        System.out.println(allocated == 0 ? "removed" : "allocated");
    }

    /** Keeps objects over a collection and a while longer. */
    static void keep() throws InterruptedException {
        Object[] kept = new Object[1234];
        for (int i = 0; i < kept.length; i++) kept[i] = new Point();
        sink = kept;
        System.gc();
        Thread.sleep(1500);
        System.out.println("kept " + ((Object[]) sink).length);
    }

    /** All live for the whole of it; one is used at its start only, one at its end, one never. */
    static void drag() {
        Early early = new Early();  // early
        Late late = new Late();  // late
        Object unused = new Unused();  // unused
        late.value = early.value = 1;
        for (int i = 0; i < 1000; i++) sink = new byte[1000];  // between
        late.value++;
        int result = late.value;
        sink = new Object[] {early, late, unused};
        sink = null;
        early = null;
        late = null;
        unused = null;
        System.gc();
        System.out.println("late " + result);
    }

    /** What a program prints of null pointers depends on its bytecode. */
    static void messages() {
        Late nothing = null;
        int[] none = null;
        Runnable[] causes = {() -> sink = nothing.value, () -> none[0] = 1, () -> sink = none.length,
            () -> nothing.value = 5, () -> sink = ((String) sink).substring(1, 2)};
        for (Runnable cause : causes) {
            try {
                sink = null;
                cause.run();
            } catch (NullPointerException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "allocate": allocate(); break;
            case "deaths": deaths(); break;
            case "threads": threads(); break;
            case "escape": escape(); break;
            case "keep": keep(); break;
            case "drag": drag(); break;
            case "messages": messages(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }
}
