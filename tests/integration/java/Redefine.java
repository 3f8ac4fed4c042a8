// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;

/**
 * A class whose methods are redefined over and over, also while they run: each version allocates in lines and
 * at bytecodes of its own. Prints `expect CLASS COUNT LINE` for each line that allocated. Arguments: versions,
 * and objects of the first one.
 */
public final class Redefine {
    static class Made { Object a; }

    static class Looped { long a; }

    static volatile Object sink;
    static int count;
    private static final int LINES = 10;

    /** The other side of a barrier redefines; called by the loop of every version when half is done. */
    static final CyclicBarrier half = new CyclicBarrier(2);

    /** Version v allocates in the lines v * LINES + 3 and + 5, behind v statements. */
    private static String text(int version) {
        return "final class Maker {" + "\n".repeat(version * LINES + 1)
            + "  static Object make() { " + "Redefine.count++; ".repeat(version) + "\n"
            + "    return new Redefine.Made(); }\n"
            + "  static void loop(int n) throws Exception { for (int i = 0; i < n; i++) { if (i == n / 2) "
            + "Redefine.await();\n"
            + "    Redefine.sink = new Redefine.Looped(); " + "Redefine.count++; ".repeat(version) + "} }\n}\n";
    }

    static void await() throws Exception {
        half.await();
        half.await();
    }

    public static void main(String[] args) throws Exception {
        int versions = Integer.parseInt(args[0]);
        int objects = Integer.parseInt(args[1]);
        List<byte[]> files = new ArrayList<>();
        for (int v = 0; v <= versions; v++) files.add(Versions.compile("Maker", text(v)));
        for (int v = 0; v < versions; v++) {
            int made = objects + 10 * v;
            Instrument.redefine(Maker.class, files.get(v));
            for (int i = 0; i < made; i++) sink = Maker.make();
            Thread running = new Thread(() -> {
                try {
                    Maker.loop(made);
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            running.start();
            half.await();
            Instrument.redefine(Maker.class, files.get(v + 1));  // the loop goes on in the old version
            if (v % 3 == 0) System.gc();
            half.await();
            running.join();
            if (v % 2 == 0) System.gc();  // frees old versions
            System.out.println("expect Redefine$Made " + made + " " + (v * LINES + 3));
            System.out.println("expect Redefine$Looped " + made + " " + (v * LINES + 5));
        }
    }
}

/** The version that there is before the first redefinition; it allocates nothing. */
final class Maker {
    static Object make() {
        return null;
    }

    static void loop(int n) throws Exception {
        Redefine.await();
    }
}
