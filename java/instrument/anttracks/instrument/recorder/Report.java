// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import anttracks.common.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes the JSON file when the JVM ends. */
final class Report {
    private static final DeathTotals.Sum[] SUMS = DeathTotals.Sum.values();

    /** One class and stack: the same code may have several numbers when it was instrumented again. */
    private static final class Row {
        final String type;
        final List<String> stack;
        final int bci;
        long objects;
        long bytes;
        final long[] died = new long[SUMS.length];
        final long[] live = new long[SUMS.length];

        Row(String type, List<String> stack, int bci) {
            this.type = type;
            this.stack = stack;
            this.bci = bci;
        }

        void add(int context, State state, DeathTotals dead, DeathTotals alive) {
            long made = state.objects(context);
            long known = state.bytes(context);
            // mode=count does not see instances.
            if (known == 0) known = made * Sites.instanceSize(Contexts.site(context));
            objects += made;
            bytes += known;
            for (DeathTotals.Sum sum : SUMS) {
                died[sum.ordinal()] += dead.get(context, sum);
                live[sum.ordinal()] += alive.get(context, sum);
            }
        }
    }

    private final Settings settings;
    private final Json json;

    private Report(Settings settings, Json json) {
        this.settings = settings;
        this.json = json;
    }

    static void write(Settings settings) {
        boolean before = Recorder.enter();
        try (Json json = new Json(settings.out)) {
            new Report(settings, json).write();
        } catch (IOException e) {
            System.err.println("anttracks-instrument: no report: " + e);
        } catch (OutOfMemoryError e) {
            System.err.println("anttracks-instrument: the report is not complete: " + e);
        } finally {
            Recorder.leave(before);
        }
    }

    private void write() throws IOException {
        DeathTotals died = settings.mode == Settings.Mode.COUNT ? new DeathTotals() : Reaper.last();
        DeathTotals live = new DeathTotals();
        long bytes = Clock.bytes();
        // An object that is alive at the end drags until then; only drag knows the objects one by one.
        UseTable.forEach(entry -> live.add(entry, bytes, Clock.millis));
        State sum = State.sum();
        List<Row> rows = rows(sum, died, live);
        json.open(null, '{');
        json.put("mode", settings.mode.name().toLowerCase());
        json.put("depth", settings.depth);
        json.put("objects", rows.stream().mapToLong(row -> row.objects).sum());
        json.put("bytes", rows.stream().mapToLong(row -> row.bytes).sum());
        if (settings.mode != Settings.Mode.COUNT) json.put("deaths", died.objects());
        json.put("lost", sum.lost);
        Coverage.write(json);
        json.open("sites", '[');
        for (Row row : rows) write(row);
        json.close(']');
        json.close('}');
    }

    private static List<Row> rows(State sum, DeathTotals died, DeathTotals live) {
        Map<List<Object>, Row> rows = new LinkedHashMap<>();
        for (int context = 0; context < sum.contexts(); context++) {
            if (sum.objects(context) == 0) continue;
            Sites.Site site = Sites.get(Contexts.site(context));
            List<String> stack = new ArrayList<>();
            stack.add(site.frame);
            stack.addAll(Contexts.callers(context));
            rows.computeIfAbsent(List.of(site.type, stack, site.bci),
                    key -> new Row(site.type, stack, site.bci))
                    .add(context, sum, died, live);
        }
        List<Row> sorted = new ArrayList<>(rows.values());
        sorted.sort(Comparator.comparingLong(row -> -row.bytes));
        return sorted;
    }

    private void write(Row row) throws IOException {
        json.open(null, '{');
        json.put("class", row.type);
        json.open("stack", '[');
        for (String frame : row.stack) json.put(null, frame);
        json.close(']');
        json.put("bci", row.bci);
        json.put("objects", row.objects);
        json.put("bytes", row.bytes);
        if (settings.mode != Settings.Mode.COUNT) writeSums("died", row.died);
        if (settings.mode == Settings.Mode.DRAG) writeSums("live", row.live);
        json.close('}');
    }

    /** Lives and drags as means over the objects. */
    private void writeSums(String name, long[] sums) throws IOException {
        long objects = sums[DeathTotals.Sum.OBJECTS.ordinal()];
        json.open(name, '{');
        for (DeathTotals.Sum sum : SUMS) {
            boolean time = sum.name().startsWith("LIFE") || sum.name().startsWith("DRAG");
            boolean ofUse = sum.name().startsWith("DRAG") || sum == DeathTotals.Sum.NEVER_USED;
            if (ofUse && settings.mode != Settings.Mode.DRAG) continue;
            String key = sum.name().toLowerCase();
            if (time) json.put("mean_" + key, objects == 0 ? 0 : (double) sums[sum.ordinal()] / objects);
            else json.put(key, sums[sum.ordinal()]);
        }
        json.close('}');
    }
}
