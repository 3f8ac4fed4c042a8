// SPDX-License-Identifier: Apache-2.0
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Allocates known numbers of objects; a comment `@name` marks the line. Threads of its own do it: what a thread
 * that runs already when sampling begins allocates in the TLAB that it has then is not sampled.
 */
public final class Sampled {
    static final class Small { long a; }

    static final class Other { long a, b, c; }

    static final class Kept { final short[] data = new short[500]; } // @keptdata

    static final class Marker { }

    public static final class Loaded { final long[] data = new long[5]; }

    static Object sink;
    static List<Object> kept = new ArrayList<>();

    static void small(int count) {
        for (int i = 0; i < count; i++) sink = new Small(); // @small
    }

    static void smallElsewhere(int count) {
        for (int i = 0; i < count; i++) sink = new Small(); // @elsewhere
    }

    static void other(int count) {
        for (int i = 0; i < count; i++) sink = new Other(); // @other
    }

    static void arrays(int count, int length) {
        for (int i = 0; i < count; i++) sink = new Small[length]; // @arrays
    }

    private static void run(String name, Runnable work) throws InterruptedException {
        Thread thread = new Thread(work, name);
        thread.start();
        thread.join();
    }

    private static void known() {
        small(3_000_000);
        smallElsewhere(1_000_000);
        other(2_000_000);
        arrays(100_000, 250);
        for (int i = 0; i < 2000; i++) sink = new Marker[25_000]; // @large
    }

    /** Keeps every fifth; then only half of these. */
    private static void retained() {
        for (int i = 0; i < 100_000; i++) {
            Object made = new Kept(); // @kept
            if (i % 5 == 0) kept.add(made);
        }
    }

    private static void collect() throws InterruptedException {
        System.gc();
        Thread.sleep(300); // deaths are told a little later
    }

    private static void threads() throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (int t = 1; t <= 4; t++) {
            int count = 500_000 * t;
            all.add(new Thread(() -> small(count), "worker-" + t));
        }
        for (Thread thread : all) thread.start();
        for (int i = 0; i < 1000; i++) {
            Thread brief = new Thread(() -> other(10_000), "brief-" + i);
            brief.start();
            if (i % 10 == 0) brief.join();
        }
        for (Thread thread : all) thread.join();
    }

    /**
     * A thousand threads that have allocated wait while something else happens;
     * then they and a hundred new ones allocate.
     */
    private static void change() throws Exception {
        CountDownLatch ready = new CountDownLatch(1000), go = new CountDownLatch(1);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            all.add(new Thread(() -> {
                smallElsewhere(10_000);
                ready.countDown();
                await(go);
                other(800);
            }));
        }
        for (Thread thread : all) thread.start();
        ready.await();
        pause("waiting");
        for (int i = 0; i < 100; i++) all.add(new Thread(() -> other(800)));
        for (Thread thread : all.subList(1000, 1100)) thread.start();
        go.countDown();
        for (Thread thread : all) thread.join();
        pause("waiting again");
        run("allocator", () -> small(2_000_000));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void pause(String why) throws java.io.IOException {
        System.out.println(why);
        while (System.in.read() != '\n') { }
    }

    private static void every() {
        for (int i = 0; i < 5000; i++) sink = new Marker(); // @marker
        for (int i = 0; i < 300; i++) sink = new Other[i]; // @lengths
        StringBuilder.class.getName();
    }

    /** Loaders come and go; says how many are left when all should be gone. */
    private static void unload() throws Exception {
        byte[] bytes = OwnLoader.bytesOf(Loaded.class);
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            ClassLoader loader = new OwnLoader(bytes);
            loaders.add(new WeakReference<>(loader));
            java.lang.reflect.Constructor<?> make = loader.loadClass("Sampled$Loaded").getConstructor();
            for (int n = 0; n < 300; n++) sink = make.newInstance();
            if (i % 50 == 0) System.gc();
        }
        sink = null;
        for (int i = 0; i < 5; i++) collect();
        int left = 0;
        for (WeakReference<ClassLoader> loader : loaders) if (loader.get() != null) left++;
        System.out.println(left <= 2 ? "unloaded" : left + " loaders are left");
    }

    static int depth(int n) {
        sink = new Marker(); // @deep
        return n == 0 ? 0 : 1 + depth(n - 1);
    }

    static long endless(long n) {
        sink = new Object[] {n};
        return endless(n + 1) + 1;
    }

    private static void overflow() {
        int overflows = 0;
        for (int i = 0; i < 20; i++) {
            try {
                endless(0);
            } catch (StackOverflowError e) {
                overflows++;
            }
        }
        System.out.println(overflows + " overflows");
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "known" -> run("allocator", Sampled::known);
            case "retained" -> {
                run("allocator", Sampled::retained);
                collect();
                System.out.println("kept " + kept.size());
                kept.subList(0, kept.size() / 2).clear();
                collect();
                System.out.println("kept " + kept.size());
            }
            case "threads" -> threads();
            case "change" -> change();
            case "every" -> run("allocator", Sampled::every);
            case "unload" -> unload();
            case "deep" -> run("allocator", () -> System.out.println(depth(1000)));
            case "overflow" -> run("allocator", Sampled::overflow);
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.println("done");
    }
}
