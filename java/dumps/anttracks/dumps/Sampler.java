// SPDX-License-Identifier: Apache-2.0
package anttracks.dumps;

import anttracks.common.Json;
import anttracks.common.Options;
import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Takes the dumps, reads and deletes them, and reports what that took. */
final class Sampler {
    private static final class Sample {
        long startMillis;
        double dumpMillis;
        double readMillis;
        long fileBytes;
        File kept;
        Map<String, long[]> histogram = new TreeMap<>();
    }

    private final long started = System.nanoTime();
    private final HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(
            HotSpotDiagnosticMXBean.class);
    private final Trigger trigger;
    private final int count;
    private final File out;
    private final File folder;
    private final boolean keep;
    private final boolean wantsHistogram;
    private final boolean live;
    private final List<Sample> samples = new ArrayList<>();
    private long missed;
    private String failure;
    private boolean ended;

    Sampler(Options options) throws IOException {
        count = options.number("count", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
        out = options.file("out", "dumps.json");
        keep = options.yes("keep", false);
        wantsHistogram = options.yes("histogram", true);
        live = options.yes("live", true);
        if (keep && !options.given("dir")) {
            throw new IllegalArgumentException("keep=yes wants dir=, a folder for the dumps");
        }
        folder = new File(options.text("dir", System.getProperty("java.io.tmpdir"))).getAbsoluteFile();
        if (!folder.isDirectory()) throw new IllegalArgumentException("dir=" + folder + " is not a directory");
        trigger = new Trigger(options.text("every", "1gc"));
    }

    void run() {
        try {
            for (int i = 0; i < count; i++) {
                long passed = trigger.await();
                synchronized (this) {
                    if (ended) return;
                    missed += passed - 1;
                    samples.add(take(i));
                }
            }
        } catch (IOException | RuntimeException | OutOfMemoryError | InterruptedException e) {
            fail(e);
        }
    }

    private synchronized void fail(Throwable reason) {
        failure = reason.toString();
    }

    private Sample take(int number) throws IOException {
        Sample sample = new Sample();
        File file = new File(folder, "anttracks-" + ProcessHandle.current().pid() + "-" + number + ".hprof");
        long began = System.nanoTime();
        sample.startMillis = (began - started) / 1_000_000;
        try {
            bean.dumpHeap(file.getPath(), live);
            long dumped = System.nanoTime();
            sample.dumpMillis = (dumped - began) / 1e6;
            sample.fileBytes = file.length();
            if (wantsHistogram) sample.histogram = new Histogram(file).read();
            sample.readMillis = (System.nanoTime() - dumped) / 1e6;
        } finally {
            if (keep) sample.kept = file;
            else Files.deleteIfExists(file.toPath());
        }
        return sample;
    }

    /** When the JVM ends; waits for a dump that is being taken. */
    synchronized void report() {
        ended = true;
        try (Json json = new Json(out)) {
            json.open(null, '{');
            json.put("dumps", samples.size());
            json.put("missed", missed);
            json.put("failure", failure);
            json.put("dump_ms", samples.stream().mapToDouble(sample -> sample.dumpMillis).sum());
            json.put("read_ms", samples.stream().mapToDouble(sample -> sample.readMillis).sum());
            json.put("run_ms", (System.nanoTime() - started) / 1e6);
            json.open("samples", '[');
            for (Sample sample : samples) write(json, sample);
            json.close(']');
            json.close('}');
        } catch (IOException e) {
            System.err.println("anttracks-dumps: no report: " + e);
        }
    }

    private static void write(Json json, Sample sample) throws IOException {
        json.open(null, '{');
        json.put("start_ms", sample.startMillis);
        json.put("dump_ms", sample.dumpMillis);
        json.put("read_ms", sample.readMillis);
        json.put("file_bytes", sample.fileBytes);
        if (sample.kept != null) json.put("file", sample.kept.getPath());
        json.put("objects", sample.histogram.values().stream().mapToLong(row -> row[0]).sum());
        json.open("classes", '{');
        for (Map.Entry<String, long[]> entry : sample.histogram.entrySet()) {
            json.open(entry.getKey(), '{');
            json.put("objects", entry.getValue()[0]);
            json.put("field_bytes", entry.getValue()[1]);
            json.close('}');
        }
        json.close('}');
        json.close('}');
    }
}
