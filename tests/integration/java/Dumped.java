// SPDX-License-Identifier: Apache-2.0
import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Has the JVM write heap dumps between its collections: Dumped FOLDER.
 *
 * <p>live.hprof has reachable objects only, all.hprof all of them, later.hprof reachable ones after more
 * collections. A table holds entries that one thread made, and what was made behind the last collection is
 * reachable in all.hprof. With FOLDER SOURCE... the JDK's compiler works on these before, and stays in the
 * heap.
 */
public final class Dumped {
    private static final class Entry {
        final Object[] parts = new Object[3];
        Entry before;
    }

    private static final class Late {
        long number;
    }

    private static final int ENTRIES = 5000;
    private static final int LATE = 777;
    private static Map<Integer, Entry> table;
    private static List<Late> late;
    private static Object compiler;
    private static volatile long[] wasted;

    private Dumped() {}

    private static void fill() {
        table = new HashMap<>();
        Entry before = null;
        for (int i = 0; i < ENTRIES; i++) {
            Entry entry = new Entry();
            entry.parts[i % 3] = new byte[i % 50];
            entry.before = i % 10 == 0 ? null : before;
            table.put(i, entry);
            before = entry;
        }
    }

    private static List<Late> makeLate() {
        List<Late> all = new ArrayList<>();
        for (int i = 0; i < LATE; i++) all.add(new Late());
        return all;
    }

    /** Makes arrays that no compiler can leave out, so that young collections come in between. */
    private static long waste(int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            wasted = new long[100];
            sum += wasted.length;
        }
        wasted = null;
        return sum;
    }

    private static void dump(String folder, String name, boolean live) throws IOException {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                .dumpHeap(Path.of(folder, name).toString(), live);
    }

    private static Object compile(List<String> sources) {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = javac.getStandardFileManager(null, null, null);
        Iterable<? extends JavaFileObject> units = files.getJavaFileObjectsFromStrings(sources);
        JavaCompiler.CompilationTask task =
                javac.getTask(null, files, null, List.of("-proc:none", "-implicit:none"), null, units);
        try {
            ((com.sun.source.util.JavacTask) task).analyze();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return List.of(task, files);
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 1) compiler = compile(List.of(args).subList(1, args.length));
        Thread maker = new Thread(Dumped::fill, "maker");
        maker.start();
        maker.join();
        long sum = waste(20_000);
        AtomicReference<List<Late>> local = new AtomicReference<>();
        dump(args[0], "live.hprof", true);
        sum += waste(60_000);
        late = makeLate();
        dump(args[0], "all.hprof", false);
        local.set(late);
        sum += waste(200_000);
        System.gc();
        sum += waste(200_000);
        dump(args[0], "later.hprof", true);
        sum += waste(200_000);
        System.out.println(sum + table.size() + local.get().size() + (compiler == null ? 0 : 1));
    }
}
