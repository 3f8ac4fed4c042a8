// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ends by force in the way that the first argument names, while four threads allocate and, with a second
 * argument, a fifth one asks for collections all the time; `alone`: before any other thread runs. Prints the
 * same lines with and without an agent.
 */
public final class Ends {
    static final class Filled {
        final Filled next;
        final byte[] data;

        Filled(Filled next, int size) {
            this.next = next;
            this.data = new byte[size];
        }
    }

    static volatile Object sink;
    private static Filled kept;
    private static final AtomicInteger thousands = new AtomicInteger();

    private static native void end(String how);

    private static void churn() {
        List<Object> some = new ArrayList<>();
        for (int i = 0; ; i++) {
            if (i % 5000 == 0) {
                some.clear();
                thousands.addAndGet(5);
            }
            some.add(new Object[] {"churn" + i, new int[i % 100]});
            sink = some;
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    /** Until nothing more fits. */
    private static void fill() {
        while (true) kept = new Filled(kept, 500);
    }

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("native.library"));
        System.out.println("begin");
        if (args[0].equals("alone")) fill();
        for (int i = 0; i < 4; i++) start(Ends::churn);
        if (args.length > 1) {
            start(() -> {
                while (true) System.gc();
            });
        }
        while (thousands.get() < 600) Thread.sleep(1);  // enough for some collections
        switch (args[0]) {
            case "exit": System.exit(7); break;
            case "halt": Runtime.getRuntime().halt(9); break;
            case "fill": fill(); break;
            case "forever":
                System.out.println("running");
                Thread.sleep(1_000_000);
                break;
            default: end(args[0]);
        }
        System.out.println("end");
    }
}
