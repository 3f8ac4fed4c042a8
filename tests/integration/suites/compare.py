# SPDX-License-Identifier: Apache-2.0
"""`anttracks diff` and `anttracks assert` on real runs: what two runs of one program differ in is noise, what a
change of the program allocates is not, and expectations hold in every run alike."""

import json
import os

from judge.world import AGENT, ANALYZER, JDK, analyze, analyze_json, conclusive, expect, run, tail, test

# Objects and arrays of a loop that all compilers reach, some of which live on, and some that C2 may leave out.
_PROGRAM = """
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public final class Steady {
    static final class Point { int x, y; Point(int x, int y) { this.x = x; this.y = y; } }
    static final class Record {
        long id;
        Object payload;
        Record(long id, Object payload) { this.id = id; this.payload = payload; }
    }
    static final class Extra { long a, b, c; }
    static final class Dropped { long a; }
    static final Map<Integer, Record> kept = new HashMap<>();
    static Object sink;
    static final Object[] last = new Object[16];  // what is stored here is not left out by any compiler

    static int length(int i) {
        Point point = new Point(i, i + 1);
        return point.x + point.y;
    }

    static void step(int i) {
//EXTRA
        byte[] bytes = new byte[100 + i % 50];
        List<String> list = new ArrayList<>();
        for (int j = 0; j < 4; j++) list.add("item " + (i + j));
//DROPPED
        sink = list;
        if (i % 50 == 0) kept.put(i % 5000, new Record(i, bytes));
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 300_000; i++) {
            step(i);
            sum += length(i);
        }
        System.gc();
        System.out.println(sum);
    }
}
"""
_EXTRA = "        last[i % 8] = new Extra();"
_DROPPED = "        last[8 + i % 8] = new Dropped();"


def _compiled(test_, name, extra="", dropped=_DROPPED):
    """The program with these lines; the folder of its classes."""
    folder = test_.path(name)
    os.makedirs(folder)
    source = os.path.join(folder, "Steady.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write(
            _PROGRAM.replace("//EXTRA\n", extra and extra + "\n").replace(
                "//DROPPED\n", dropped and dropped + "\n"
            )
        )
    done = run([JDK + "/bin/javac", "-g", "-d", folder, source])
    expect(done.returncode == 0, tail(done.stderr))
    return folder


def _traced(test_, classes, name, *flags):
    trace = test_.path(name)
    flags = flags or ("-XX:+UseParallelGC", "-Xmx64m")
    done = run([JDK + "/bin/java", *flags, f"-agentpath:{AGENT}=file={trace}", "-cp", classes, "Steady"])
    expect(done.returncode == 0, f"java ended with {done.returncode}\n{tail(done.stderr)}")
    return trace


# When the compilers come, and so what C2 leaves out, depends on how busy the machine is: hence conclusive.
@test("Diff: two runs of one program differ in nothing above noise")
def _same(test_):
    classes = _compiled(test_, "classes")
    traces = [_traced(test_, classes, f"{i}.trace") for i in range(3)]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        text = analyze("diff", traces[a], traces[b])
        conclusive("nothing above noise" in text, text)
        for by in ("class", "thread"):
            report = analyze_json("diff", traces[a], traces[b], "--by", by)
            conclusive(report["above_noise"] == 0, json.dumps(report["rows"], indent=1))
    everything = analyze_json("diff", traces[0], traces[1], "--all")
    expect(len(everything["rows"]) == everything["all_rows"] > 100, f"{len(everything['rows'])} rows")


@test("Diff: one new that was added is the top row, although all lines below it have moved")
def _added(test_):
    before = _traced(test_, _compiled(test_, "before"), "a.trace")
    after = _traced(test_, _compiled(test_, "after", extra=_EXTRA), "b.trace")
    report = analyze_json("diff", before, after)
    rows = [row for row in report["rows"] if row["above_noise"] in ("allocated", "live")]
    conclusive(len(rows) == 1, json.dumps(rows, indent=1))
    row = rows[0]
    expect(row["class"] == "Steady$Extra" and row["site"].startswith("Steady.step("), f"{row}")
    expect(row["objects"] == {"a": 0, "b": 300_000, "difference": 300_000, "ratio": None}, f"{row}")
    text = analyze("diff", before, after)
    first = text[text.index("Site\n") + 5 :].splitlines()[0]
    expect("Steady$Extra" in first and "new" in first, text)
    back = analyze_json("diff", after, before)["rows"][0]
    expect(back["class"] == "Steady$Extra" and back["objects"]["b"] == 0, f"{back}")


@test("Diff: a site that vanished keeps its row, and the totals of each side are those of sites")
def _vanished(test_):
    before = _traced(test_, _compiled(test_, "before"), "a.trace")
    after = _traced(test_, _compiled(test_, "after", dropped=""), "b.trace")
    report = analyze_json("diff", before, after, "--all")
    gone = [row for row in report["rows"] if row["class"] == "Steady$Dropped"]
    expect(len(gone) == 1 and gone[0] == report["rows"][0], f"{gone}")
    expect(gone[0]["objects"]["a"] == 300_000 and gone[0]["objects"]["b"] == 0, f"{gone}")
    for side, trace in (("a", before), ("b", after)):
        sites = analyze_json("sites", trace)
        for key in ("objects", "bytes"):
            expect(report[side][key] == sites[key], f"{key} of {side}: {report[side][key]}, sites {sites[key]}")
            total = sum(row[key][side] for row in report["rows"])
            expect(total == sites[key], f"{key} of {side} in rows: {total}, sites {sites[key]}")


_EXPECTED = (
    "objects(site=Steady.step, class=Steady$Dropped) == 300000",
    "objects(class=Steady$Record) == 6000",
    "bytes(site=Steady.step, class=byte[]) < 60MB after 1 gcs",
    "live(class=Steady$Record) == 100",
    "live(class=Steady$Extra) == 0 at end",
)


@test("Assert: ten runs of one program agree, with each collector and without compilers")
def _agree(test_):
    classes = _compiled(test_, "classes")
    kinds = [("-XX:+UseParallelGC",)] * 7 + [
        ("-XX:+UseSerialGC",),
        ("-XX:+UseG1GC",),
        ("-XX:+UseParallelGC", "-Xint"),
    ]
    for i, flags in enumerate(kinds):
        trace = _traced(test_, classes, f"{i}.trace", "-Xmx64m", *flags)
        report = analyze_json("assert", trace, *_EXPECTED)
        expect(report["failing"] == 0, f"{flags}: {json.dumps(report, indent=1)}")
        os.remove(trace)


@test("Assert: exit codes say what holds, what fails, what is not known, and what cannot be read")
def _codes(test_):
    trace = _traced(test_, _compiled(test_, "classes"), "trace")
    for code, *words in (
        (0, "live(class=Steady$Extra) == 0"),
        (0, "live(class=NoSuchClass) == 0"),
        (1, "objects(class=Steady$Dropped) < 300000"),
        (1, "objects(class=Steady$Dropped) < 300000", "objects() > 0"),
        (1, "objects() > 0 after 100000 gcs"),
        (2, "objects(class=Steady$Droped) < 300000"),
        (2, "objects(clas=Steady$Dropped) < 300000"),
        (2,),
    ):
        text = analyze("assert", trace, *words, code=code)
        expect(len(text.splitlines()) <= 20, text)
    analyze("assert", trace + ".not", "objects() > 0", code=3)
    done = run([ANALYZER, "assert", trace, "objects(class=Steady$Droped) < 300000"])
    expect("did you mean 'Steady$Dropped'?" in done.stderr, done.stderr)
    expected = test_.path("expected.txt")
    with open(expected, "w", encoding="utf-8") as file:
        file.write("# what a run may allocate\n\n" + "\n".join(_EXPECTED) + "\n")
    expect(
        "5 of 5 expectations hold" in analyze("assert", trace, "--file", expected), "the file's were not read"
    )


@test("Diff and assert: samples are compared as estimates, and not by site with every object")
def _samples(test_):
    classes = _compiled(test_, "classes")
    sampled = []
    for i in range(2):
        trace = test_.path(f"{i}.trace")
        options = f"file={trace},mode=sample,interval=16K"
        # Without C2: samples do not tell what it left out, nor when it began to (docs/analyzer.md).
        flags = ["-Xmx64m", "-XX:TieredStopAtLevel=1", f"-agentpath:{AGENT}={options}"]
        done = run([JDK + "/bin/java", *flags, "-cp", classes, "Steady"])
        expect(done.returncode == 0, tail(done.stderr))
        sampled.append(trace)
    expect("nothing above noise" in analyze("diff", *sampled), analyze("diff", *sampled))
    full = _traced(test_, classes, "full.trace")
    analyze("diff", full, sampled[0], code=2)
    analyze("diff", full, sampled[0], "--by", "class")
    analyze(
        "assert", sampled[0], "objects(class=Steady$Dropped) > 200000", "objects(class=Steady$Dropped) < 400000"
    )
    # There are 300,000. That limit itself would be held by one run in forty, whose whole interval is below it.
    text = analyze("assert", sampled[0], "objects(class=Steady$Dropped) <= 240000", code=1)
    expect("FAILS" in text or "not known" in text, text)
