# SPDX-License-Identifier: Apache-2.0
"""anttracks join: the JVM's own heap dumps, taken while it was traced, object by object."""

import csv
import os
import re

from judge import held, hprof
from judge.exact import FILLER_ARRAY
from judge.world import (
    ANALYZER,
    HERE,
    add,
    analyze,
    analyze_json,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
)

COLLECTORS = ("Parallel", "Serial", "G1")
FLAGS = ("-Xmx96m", "-Xmn24m")
ENTRIES, LATE = 5000, 777
SOURCE = os.path.join(HERE, "java", "Dumped.java")
COMPILED = ("Dumped.java", "Attached.java", "Baseline.java", "Chaos.java")


def line_of(where):
    with open(SOURCE, encoding="utf-8") as file:
        found = [number for number, text in enumerate(file, 1) if where in text]
    return f"(Dumped.java:{found[0]})"


def traced(t, flags=(), sources=()):
    """Runs Dumped, which dumps into the test's folder; returns the trace."""
    paths = [os.path.join(HERE, "java", name) for name in sources]
    trace, _ = run_traced(t, "Dumped", (t.folder, *paths), (*FLAGS, *flags), judged=False)
    return trace


def gcs_of(trace, cause):
    return [gc for gc in analyze_json("gcs", trace)["gcs"] if gc["cause"] == cause and gc["kind"] == "full"]


def objects_of(trace, dump, *arguments):
    """address -> row of `join --objects`"""
    text = analyze("join", trace, dump, "--objects", "--csv", *arguments)
    return {int(row["address"], 16): row for row in csv.DictReader(text.splitlines())}


def check_objects(trace, dump, of_all):
    """Each object has the class that the JVM wrote, and what the program did is seen."""
    rows, wrote = objects_of(trace, dump), hprof.read(dump)
    expect(
        set(rows) == set(wrote.objects) | wrote.mirrors,
        f"{len(rows)} objects, the dump has {len(wrote.objects)}",
    )
    wrong = [
        f"{address:#x}: {rows[address]['class']}, in the dump {name}"
        for address, (name, _) in wrote.objects.items()
        if rows[address]["class"] != name and (rows[address]["class"], name) != (FILLER_ARRAY, "int[]")
    ]
    expect(not wrong, f"{len(wrong)} classes differ: {wrong[:5]}")
    entries = [row for row in rows.values() if row["class"] == "Dumped$Entry"]
    expect(len(entries) == ENTRIES, f"{len(entries)} entries")
    expect(
        all(
            row["site"].endswith(line_of("= new Entry()")) and row["thread"].startswith("maker")
            for row in entries
        ),
        f"{entries[0]}",
    )
    expect(all(int(row["gcs"]) >= 1 for row in entries), "an entry that has seen no collection")
    late = [row for row in rows.values() if row["class"] == "Dumped$Late"]
    expect(len(late) == (LATE if of_all else 0), f"{len(late)} late objects")
    expect(
        all(row["gcs"] == "0" and row["site"].endswith(line_of("new Late()")) for row in late),
        f"{late[:1]}",
    )


def told(report):
    """A report without its table, for a failure's message."""
    return {key: value for key, value in report.items() if key != "rows"}


def check_joined(trace, name, report, of_all):
    """All but gaps that the VM filled are in the trace, and each of these has a site, or is older."""
    what = f"{name}: {told(report)}"
    found, every = report["agreeing"], report["dump_objects"]
    expect(report["exact"] and report["other_size"] == 0 and report["other_class"] == 0, what)
    expect(found + report["fillers"] + report["missing"] == every, what)
    expect(found >= 0.999 * (every - report["fillers"]) and report["missing"] == 0, what)
    # A full collection fills dead objects of the shared archive; how many there are depends on the archive.
    expect(of_all or report["fillers"] <= (200 if jdk_release() < 21 else 1000), what)
    expect(report["complete"] + report["before_trace"] + report["no_site"] + report["no_thread"] == found, what)
    expect(report["complete"] >= 0.999 * (found - report["before_trace"]), what)


def joins(collector, flags=(), what=""):
    def body(t):
        trace = traced(t, (f"-XX:+Use{collector}GC", *flags))
        asked = gcs_of(trace, "Heap Dump Initiated GC")
        expect(len(asked) == 2, f"collections for dumps: {asked}")
        reports = {
            name: analyze_json("join", trace, t.path(name + ".hprof")) for name in ("live", "all", "later")
        }
        for name, gc in (("live", asked[0]), ("later", asked[1])):
            expect(reports[name]["gc"] == gc["id"], f"{name}: after GC {reports[name]['gc']}, not {gc['id']}")
        expect(asked[0]["id"] < reports["all"]["gc"] < asked[1]["id"], f"all: after GC {reports['all']['gc']}")
        for name, report in reports.items():
            check_joined(trace, name, report, name == "all")
        check_objects(trace, t.path("live.hprof"), False)
        check_objects(trace, t.path("all.hprof"), True)
        given = analyze_json("join", trace, t.path("live.hprof"), "--gc", str(asked[0]["id"]))
        expect(given["agreeing"] == reports["live"]["agreeing"] and given["gc_given"], f"{given}")
        wrong = run([ANALYZER, "join", trace, t.path("live.hprof"), "--gc", "999999"])
        expect(wrong.returncode == 2 and "there is no collection 999999" in wrong.stderr, f"{wrong}")

    add(f"Dumps that the JVM wrote with {collector}{what} are joined with the trace, object by object", body)


for collector_ in COLLECTORS:
    joins(collector_)
    if jdk_release() >= 25:
        compact = ("-XX:+UseCompactObjectHeaders", "-XX:AntTracksSites=ash")
        joins(collector_, compact, " and compact headers")


def of_a_share(t):
    trace, _ = run_traced(t, "Dumped", (t.folder,), (*FLAGS, "-XX:+UseG1GC"), ",share=0.3", judged=False)
    asked = gcs_of(trace, "Heap Dump Initiated GC")
    live, every = (analyze_json("join", trace, t.path(name + ".hprof")) for name in ("live", "all"))
    known = live["agreeing"] + (live["fillers"] if jdk_release() >= 21 else 0)
    expect(live["gc"] == asked[0]["id"] and known == live["dump_objects"], f"{told(live)}")
    times = {
        gc["id"]: (gc["start_ns"] + gc["duration_ns"], gc["start_ns"])
        for gc in analyze_json("gcs", trace)["gcs"]
    }
    began, ended = times[every["gc"]][0], times[every["gc"] + 1][1]
    expect(began - 2e6 <= every["dump_ns"] <= ended, f"made at {every['dump_ns']}, not from {began} to {ended}")
    expect(not every["exact"] and 0 < every["missing"] < 0.3 * every["dump_objects"], f"{told(every)}")


add("Dumps are joined with a trace of which a share was read", of_a_share)


def other_process(t):
    traced(t)
    other = t.path("other")
    os.makedirs(other)
    flags = ("-XX:+UseG1GC", "-Xmx512m")
    done = run(java_command("Dumped", (other,), flags, f"file={other}/trace"))
    expect(done.returncode == 0, f"java ended with {done.returncode}: {done.stderr}")
    trace, dump = os.path.join(other, "trace"), os.path.join(other, "live.hprof")
    first = t.path("live.hprof")
    done = run([ANALYZER, "join", trace, first])
    expect(
        done.returncode == 2 and "live.hprof is no dump of the traced JVM" in done.stderr and done.stdout == "",
        f"{done.returncode}: {done.stdout}{done.stderr}",
    )
    expect(analyze_json("join", trace, dump)["agreeing"] > 0, "its own dump is not joined")


add("A dump of another process is refused", other_process)


def holders(t):
    trace, dump = traced(t), t.path("live.hprof")
    sites = analyze_json("join", trace, dump, "--app", "Dumped")
    table = next(row for row in sites["rows"] if row["site"].endswith(line_of("table = new HashMap")))
    entries = next(row for row in sites["rows"] if row["site"].endswith(line_of("= new Entry()")))
    expect(table["retained_bytes"] > entries["retained_bytes"], f"{table}, {entries}")
    expect(
        ENTRIES <= entries["objects"] <= ENTRIES + 20 and entries["retained_bytes"] > entries["bytes"],
        f"{entries}",
    )
    path = analyze_json("join", trace, dump, "--path", "--where", "class=Dumped$Entry")
    steps = [(step["field"], step["class"]) for step in path["path"]]
    expect(
        re.fullmatch(r"\[\d+\]", steps[2][0])
        and (steps[3][0], steps[3][1]) == ("table", "java.util.HashMap")
        and steps[4] == ("static table", "class Dumped"),
        f"{steps}",
    )
    expect(path["path"][0]["site"].endswith(line_of("= new Entry()")), f"{path['path'][0]}")
    address = path["path"][3]["address"]
    again = analyze_json("join", trace, dump, "--object", address)
    expect(
        [step["address"] for step in again["path"]] == [step["address"] for step in path["path"][3:]],
        f"{again}",
    )
    classes = analyze_json("join", trace, dump, "--by", "class", "--where", "thread=maker")
    found = next(row for row in classes["rows"] if row["class"] == "Dumped$Entry")
    expect(
        found["objects"] == ENTRIES and found["bytes"] < found["retained_bytes"] <= entries["retained_bytes"],
        f"{found}",
    )


add("join says who holds what a program keeps, and the path to its root", holders)


def as_visualvm(t):
    trace = traced(t, ("-XX:+UseParallelGC", "-Xmx256m"), COMPILED)
    for name, least in (("live", 0.98), ("all", 0.5)):
        dump = t.path(name + ".hprof")
        library = held.Library(held.library_lines(t, dump, name + ".txt"))
        dominators = held.read_joined(analyze("join", trace, dump, "--objects", "--csv"))
        compared, equal, excused, same, differences = held.compare(dominators, library)
        expect(not differences, f"{len(differences)} of {compared} differ: {differences[:5]}")
        expect(
            compared >= least * (compared + excused), f"only {compared} of {compared + excused} can be compared"
        )


add("Dominators and retained sizes are those of VisualVM's heap library", as_visualvm, slow=True)


def exported(t):
    trace = traced(t)
    dump, out = t.path("all.hprof"), t.path("annotated.hprof")
    said = analyze("join", trace, dump, "--export", out)
    expect("with their allocation stacks" in said, said)
    refused = run([ANALYZER, "join", trace, dump, "--export", out])
    expect(refused.returncode == 1 and "exists already; -f replaces it" in refused.stderr, f"{refused}")
    analyze("join", trace, dump, "--export", out, "-f")
    rows, frames = objects_of(trace, dump), hprof.read_stacks(out)
    before, after = hprof.read(dump), hprof.read(out)
    expect(before.objects == after.objects and before.mirrors == after.mirrors, "other objects than before")
    wrong = []
    for address, row in rows.items():
        frame = frames.of(address)
        if row["site"] != "<not in the trace>" and (not frame or frame[0] != row["site"]):
            wrong.append(f"{address:#x}: {frame[:1]}, not {row['site']}")
    expect(not wrong, f"{len(wrong)} of {len(rows)} stacks differ: {wrong[:5]}")
    expect(
        held.library_lines(t, dump, "before.txt") == held.library_lines(t, out, "after.txt"),
        "VisualVM's library finds other objects or retained sizes than in the dump before",
    )


add("A dump with allocation stacks has the same objects, and each one's site", exported)
