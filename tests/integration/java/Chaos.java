// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.management.ObjectName;

/**
 * Many actors at once, each in a thread of its own with its own random numbers: what they compute depends on
 * the seed alone. Prints one line an actor, in the order of their names. The JVM writes down its heap now and
 * then, and at the end. Needs -javaagent (Instrument) and a recording of JFR. Arguments: seed,
 * and steps of each actor.
 */
public final class Chaos {
    interface Actor {
        long step(Random random, int number) throws Throwable;
    }

    public static final class Loaded implements IntUnaryOperator {
        final long[] data = new long[3];
        Object other;

        @Override public int applyAsInt(int value) {
            other = new int[value % 10];
            return value * 31 + data.length;
        }
    }

    static final class Cell {
        int value;
        Object next;
    }

    private static final Map<String, Actor> actors = new TreeMap<>();
    private static final Cleaner cleaner = Cleaner.create();
    private static final int KEPT = 200;

    /** What an actor keeps: the newest ones. */
    static final class Ring {
        private final ArrayDeque<Object> kept = new ArrayDeque<>();

        <T> T keep(T object) {
            kept.add(object);
            if (kept.size() > KEPT) kept.remove();
            return object;
        }
    }

    // ---- threads

    static long shortThreads(Random random, int number) throws InterruptedException {
        long[] results = new long[8];
        Thread[] threads = new Thread[results.length];
        for (int t = 0; t < threads.length; t++) {
            int mine = t;
            int size = random.nextInt(300);
            threads[t] = new Thread(() -> {
                List<Object> made = new ArrayList<>();
                for (int i = 0; i < size; i++) made.add(new int[i % 17]);
                results[mine] = made.size();
            }, "short-" + number + "-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        return Arrays.stream(results).sum();
    }

    private static final Cell[] cells = IntStream.range(0, 64).mapToObj(i -> new Cell()).toArray(Cell[]::new);

    /** Two actors contend for the cells; each adds what it adds. */
    static long locks(Random random, int number) throws InterruptedException {
        Cell cell = cells[random.nextInt(cells.length)];
        int before = cell.hashCode();
        synchronized (cell) {
            cell.value++;
            cell.next = new Cell();
            if (number % 50 == 0) cell.wait(1);
            cell.notifyAll();
        }
        Cell fresh = new Cell();
        synchronized (fresh) {
            fresh.next = cell;
            synchronized (fresh) {
                fresh.value = fresh.hashCode();
            }
        }
        return fresh.value == fresh.hashCode() && before == cell.hashCode() ? 1 : 1000;
    }

    static int recurse(int depth) {
        Object[] frame = {depth, new int[depth % 5]};
        return depth == 0 ? 0 : recurse(depth - 1) + ((int[]) frame[1]).length;
    }

    static int endless(int depth) {
        return endless(depth + 1) + new int[1].length;
    }

    static long recursion(Random random, int number) {
        long sum = recurse(random.nextInt(300));
        if (number % 100 != 0) return sum;
        try {
            return endless(0);
        } catch (StackOverflowError e) {
            return sum + 7;
        }
    }

    // ---- classes

    static Actor loaders(byte[] bytes) {
        Ring ring = new Ring();
        return (random, number) -> {
            Class<?> type = number % 3 == 0
                    ? MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass()
                    : new OwnLoader(bytes).loadClass(Loaded.class.getName());
            IntUnaryOperator[] made = (IntUnaryOperator[]) Array.newInstance(IntUnaryOperator.class, 20);
            long sum = 0;
            for (int i = 0; i < made.length; i++) {
                made[i] = (IntUnaryOperator) type.getConstructor().newInstance();
                sum += made[i].applyAsInt(random.nextInt(100));
            }
            if (random.nextInt(10) == 0) ring.keep(made);
            return sum;
        };
    }

    static Actor redefinition() {
        List<byte[]> versions = new ArrayList<>();
        for (int v = 0; v < 5; v++) {
            versions.add(Versions.compile("Changing", "final class Changing {" + "\n".repeat(v)
                    + " static Object[] make(int n) { int k = " + v
                    + "; for (int i = 0; i < n; i++) k += " + (v + 1)
                    + "; return new Object[] {k, new int[k % 100]}; } }"));
        }
        Ring ring = new Ring();
        return (random, number) -> {
            if (number % 40 == 0) {
                Instrument.redefine(Changing.class, versions.get(random.nextInt(versions.size())));
            }
            if (number % 40 == 20) Instrument.retransform(Cell.class, HashMap.class, ArrayList.class);
            return (Integer) ring.keep(Changing.make(random.nextInt(100)))[0];
        };
    }

    interface Shape {
        int area(int a);
    }

    static Actor reflection() {
        Ring ring = new Ring();
        return (random, number) -> {
            Loaded made = (Loaded) ring.keep(Loaded.class.getConstructor().newInstance());
            int side = random.nextInt(50);
            Shape shape = (Shape) Proxy.newProxyInstance(Chaos.class.getClassLoader(),
                    new Class<?>[] {Shape.class},
                    (proxy, method, arguments) -> (Integer) arguments[0] * side);
            long found = (Integer) Loaded.class.getMethod("applyAsInt", int.class).invoke(made, side);
            return found + shape.area(3)
                    + ((int[][]) ring.keep(Array.newInstance(int.class, side, 3))).clone().length;
        };
    }

    static Actor lambdas() {
        Ring ring = new Ring();
        return (random, number) -> {
            int captured = random.nextInt(40);
            IntUnaryOperator one = (IntUnaryOperator) ring.keep((IntUnaryOperator) i -> i + captured);
            Map<Integer, List<Integer>> groups = IntStream.range(0, captured).map(one).boxed()
                    .collect(Collectors.groupingBy(i -> i % 7));
            ring.keep(groups);
            return groups.values().stream().mapToInt(List::size).sum() + one.applyAsInt(1);
        };
    }

    // ---- objects

    static Actor arrays() {
        Ring ring = new Ring();
        Object[] large = new Object[4];
        return (random, number) -> {
            int length = random.nextInt(number % 20 == 0 ? 400_000 : 500);
            Object made;
            switch (random.nextInt(6)) {
                case 0: made = new byte[length]; break;
                case 1: made = new long[length]; break;
                case 2: made = new Object[length]; break;
                case 3: made = new char[length].clone(); break;
                case 4: made = Arrays.copyOf(new double[length / 2], length); break;
                default: made = new int[length % 30][length % 40]; break;
            }
            if (length < 500) ring.keep(made);
            else large[number / 20 % large.length] = made;
            if (number % 500 == 0) {
                try {
                    made = new long[Integer.MAX_VALUE];
                } catch (OutOfMemoryError e) {
                    length++;
                }
            }
            return Array.getLength(made) + length;
        };
    }

    static Actor collections() {
        Map<Integer, Object> hashed = new HashMap<>();
        TreeMap<Integer, Object> sorted = new TreeMap<>();
        Map<Object, Object> linked = new LinkedHashMap<>();
        return (random, number) -> {
            for (int i = 0; i < 50; i++) {
                int key = random.nextInt(20_000);
                hashed.put(key, new Cell());
                sorted.put(key, new Object[] {key, i});
                if (sorted.size() > 5000) sorted.pollFirstEntry();
                linked.put("k" + key % 1000, List.of(key, i));
            }
            return hashed.size() + sorted.firstKey() + linked.size();
        };
    }

    static Actor references() {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Ring ring = new Ring();
        return (random, number) -> {
            int size = random.nextInt(64);
            WeakReference<byte[]> weak = ring.keep(new WeakReference<>(new byte[size], queue));
            SoftReference<int[]> soft = ring.keep(new SoftReference<>(new int[size], queue));
            ring.keep(new PhantomReference<>(new Object(), queue));
            cleaner.register(new Object(), () -> { });
            while (queue.poll() != null) size += 0;
            byte[] bytes = weak.get();
            int[] ints = soft.get();
            return (bytes == null || bytes.length == size) && (ints == null || ints.length == size) ? size : -1;
        };
    }

    static Actor strings() {
        Ring ring = new Ring();
        return (random, number) -> {
            String text = "s" + random.nextInt(3000) + (char) ('a' + number % 26) + "\u03b1";
            String same = new StringBuilder(text).reverse().reverse().toString().intern();
            return ring.keep(text + same).hashCode() + (text.intern() == same ? 1 : 0);
        };
    }

    static long fail(int depth) {
        if (depth == 0) throw new IllegalStateException("on purpose " + depth);
        return fail(depth - 1) + 1;
    }

    static Actor exceptions() {
        Ring ring = new Ring();
        return (random, number) -> {
            int depth = random.nextInt(60);
            try {
                return fail(depth);
            } catch (IllegalStateException e) {
                long frames = Arrays.stream(e.getStackTrace()).filter(f -> f.getMethodName().equals("fail"))
                        .count();
                ring.keep(e);
                // Without a trace: the VM may leave it out,
                // and compiled code may throw one that was made before.
                try {
                    Object[] none = new Object[depth];
                    none[depth] = e;
                } catch (ArrayIndexOutOfBoundsException expected) {
                    frames++;
                }
                return frames;
            }
        };
    }

    static Actor direct() {
        Ring ring = new Ring();
        return (random, number) -> {
            ByteBuffer buffer = ByteBuffer.allocateDirect(random.nextInt(20_000) + 8);
            buffer.putInt(0, number);
            if (number % 20 == 0) ring.keep(buffer);
            return buffer.getInt(0) + buffer.slice().capacity();
        };
    }

    static long collect(Random random, int number) throws InterruptedException {
        Thread.sleep(random.nextInt(10));
        if (number % 40 == 0) System.gc();
        return 1;
    }

    /** With paths from the roots: JFR goes through the heap in a pause, and marks objects in their headers. */
    static long record(Random random, int number) throws Exception {
        Thread.sleep(random.nextInt(10));
        if (number % 200 != 100) return 1;
        String[] arguments = {"filename=recorded.jfr", "path-to-gc-roots=true"};
        ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "jfrDump",
                new Object[] {arguments}, new String[] {String[].class.getName()});
        return 1;
    }

    // ---- all of it

    private static void declare() throws Exception {
        actors.put("arrays", arrays());
        actors.put("collections", collections());
        actors.put("collector", Chaos::collect);
        actors.put("direct", direct());
        actors.put("exceptions", exceptions());
        actors.put("lambdas", lambdas());
        actors.put("loaders", loaders(OwnLoader.bytesOf(Loaded.class)));
        actors.put("locks 1", Chaos::locks);
        actors.put("locks 2", Chaos::locks);
        actors.put("recorder", Chaos::record);
        actors.put("recursion", Chaos::recursion);
        actors.put("redefinition", redefinition());
        actors.put("references", references());
        actors.put("reflection", reflection());
        actors.put("short threads", Chaos::shortThreads);
        actors.put("strings", strings());
    }

    public static void main(String[] args) throws Exception {
        long seed = Long.parseLong(args[0]);
        int steps = Integer.parseInt(args[1]);
        declare();
        Map<String, Long> sums = new ConcurrentHashMap<>();
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, Actor> actor : actors.entrySet()) {
            Random random = new Random(seed + actor.getKey().hashCode());
            threads.add(new Thread(() -> {
                long sum = 0;
                try {
                    for (int i = 0; i < steps; i++) sum = sum * 31 + actor.getValue().step(random, i);
                    sums.put(actor.getKey(), sum);
                } catch (Throwable e) {
                    e.printStackTrace();
                }
            }, actor.getKey()));
        }
        for (Thread thread : threads) thread.start();
        int taken = 0;
        for (Thread thread : threads) {
            thread.join(1000);
            if (thread.isAlive() && taken++ < 2) Judge.both();
            thread.join();
        }
        Judge.both();
        new TreeMap<>(sums).forEach((name, sum) -> System.out.println(name + ": " + sum));
        System.out.println("cells " + Arrays.stream(cells).mapToInt(c -> c.value).sum());
    }
}

/** The version that there is before the first redefinition. */
final class Changing {
    static Object[] make(int n) {
        return null;
    }
}
