// SPDX-License-Identifier: Apache-2.0

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Programs that leak slowly, about 1 % of what they allocate, and programs that only look like it:
 * Leaking KIND ROUNDS BEGIN FULL [REST [WAIT]]. A round handles some requests whose objects die; from BEGIN on
 * each leaks. After every FULL rounds: a full collection, and REST ms without work. Before round WAIT it reads
 * a line. Prints `growth begins before GC NUMBER` when the leak begins, and `waits` before it reads.
 */
public final class Leaking {
    static volatile Object sink;

    interface Work {
        void round(int round) throws Exception;
    }

    /** About 100 KB that die at once, and 4 KB of which the collector sees some alive. */
    static final class Requests {
        private final byte[][] recent = new byte[40][];

        void handle(int round) {
            for (int i = 0; i < 50; i++) {
                byte[] request = new byte[1500 + (round * 31 + i) % 1000];
                recent[(round + i) % recent.length] = new byte[100];
                sink = request;
            }
        }
    }

    /** A cache that never evicts. */
    static final class Cache implements Work {
        private final Map<Integer, byte[]> pages = new HashMap<>();

        byte[] load(int key) {
            return new byte[900 + key % 200];
        }

        @Override public void round(int round) {
            pages.computeIfAbsent(round, this::load);
        }
    }

    /** Views that subscribe and never unsubscribe. */
    static final class Listeners implements Work {
        interface Listener {
            void changed(int value);
        }

        static final class View implements Listener {
            final long[] pixels = new long[20];
            int last;

            @Override public void changed(int value) {
                last = value;
            }
        }

        private final List<Listener> listeners = new ArrayList<>();

        void open() {
            View view = new View();
            listeners.add(view);
            view.changed(listeners.size());
        }

        @Override public void round(int round) {
            for (int i = 0; i < 5; i++) open();
        }
    }

    /** What each thread of a pool notes in a ThreadLocal is never cleared. */
    static final class Locals implements Work, AutoCloseable {
        record Note(int round, byte[] text) {}

        private final ThreadLocal<List<Note>> notes = ThreadLocal.withInitial(ArrayList::new);
        private final ExecutorService pool = Executors.newFixedThreadPool(4);

        void note(int round, int part) {
            notes.get().add(new Note(round, new byte[200 + part]));
        }

        @Override public void round(int round) throws Exception {
            List<Runnable> tasks = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int part = i;
                tasks.add(() -> note(round, part));
            }
            for (Runnable task : tasks) pool.submit(task).get();
        }

        @Override public void close() throws InterruptedException {
            pool.shutdown();
            pool.awaitTermination(10, TimeUnit.SECONDS);
        }
    }

    /** No leak: a cache that fills, each miss rarer than the one before, and stops. */
    static final class Fills implements Work {
        private final byte[][] pages = new byte[2000][];
        private final java.util.SplittableRandom random = new java.util.SplittableRandom(5);

        @Override public void round(int round) {
            for (int i = 0; i < 4; i++) {
                int key = random.nextInt(pages.length);
                if (pages[key] == null) pages[key] = new byte[1000];
            }
        }
    }

    /** No leak: a cache that fills at an even pace, and then replaces the eldest. */
    static final class Lru implements Work {
        private final Map<Integer, byte[]> pages = new LinkedHashMap<>(16, 0.75f, true) {
            @Override protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
                return size() > 1000;
            }
        };

        @Override public void round(int round) {
            pages.put(round, new byte[1000]);
        }
    }

    /** No leak: builds something for many collections, and drops it. */
    static final class Phases implements Work {
        private List<byte[]> built = new ArrayList<>();

        @Override public void round(int round) {
            if (round % 1500 == 0) built = new ArrayList<>();
            built.add(new byte[1000]);
        }
    }

    /** No leak: loads the classes of the JDK, one after the other. */
    static final class Classes implements Work {
        private final List<String> names = new ArrayList<>();

        Classes() throws Exception {
            Path folder = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base/java");
            try (var files = Files.walk(folder)) {
                files.map(Path::toString).filter(name -> name.endsWith(".class") && !name.contains("-info"))
                        .map(name -> name.substring("/modules/java.base/".length(), name.length() - 6))
                        .sorted().forEach(names::add);
            }
        }

        @Override public void round(int round) throws Exception {
            if (round < names.size()) Class.forName(names.get(round).replace('/', '.'), false, null);
        }
    }

    static Work of(String kind) throws Exception {
        switch (kind) {
            case "cache": return new Cache();
            case "listeners": return new Listeners();
            case "locals": return new Locals();
            case "fills": return new Fills();
            case "lru": return new Lru();
            case "phases": return new Phases();
            case "classes": return new Classes();
            default: throw new IllegalArgumentException(kind);
        }
    }

    private static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            sum += bean.getCollectionCount();
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[1]);
        int begin = Integer.parseInt(args[2]);
        int full = Integer.parseInt(args[3]);
        int rest = args.length > 4 ? Integer.parseInt(args[4]) : 0;
        int wait = args.length > 5 ? Integer.parseInt(args[5]) : -1;
        Work work = of(args[0]);
        Requests requests = new Requests();
        for (int round = 0; round < rounds; round++) {
            if (round == begin) System.out.println("growth begins before GC " + collections());
            if (round == wait) {
                System.out.println("waits");
                System.in.read();
            }
            requests.handle(round);
            if (round >= begin) work.round(round - begin);
            if (round % full == full - 1) {
                System.gc();
                Thread.sleep(rest);
            }
        }
        if (work instanceof AutoCloseable closeable) closeable.close();
        sink = work;
    }
}
