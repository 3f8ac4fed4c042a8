# SPDX-License-Identifier: Apache-2.0
"""What each technique can tell and what it cannot, as docs/benchmarks.md says (scripts/lib/capabilities.py)."""

import json
import os
import re

import capabilities
from judge import hprof
from judge.world import JDK, TESTS, analyze, analyze_json, expect, java_command, run, run_traced, tail, test
from suites.baselines import DUMPS, INSTRUMENT, sampled, stock

PARALLEL = "-XX:+UseParallelGC"


@test("Every cell of the table of capabilities names a test that there is")
def named(t):
    missing = set(capabilities.tests()) - {test_.name for test_ in TESTS}
    expect(not missing, f"no such test: {missing}")
    for information, (cells, _) in capabilities.ROWS.items():
        expect(len(cells) == len(capabilities.COLUMNS), f"{information}: {len(cells)} cells")


@test(capabilities.DUMPS)
def dumps(t):
    report = sampled(t, "every=2gc,keep=yes")
    fields = {"start_ms", "dump_ms", "read_ms", "file", "file_bytes", "objects", "classes"}
    expect(set(report["samples"][0]) == fields, f"a sample has {set(report['samples'][0]) ^ fields}")
    # Sizes are those of fields: 16 of the 32 bytes of an object of two longs.
    expect(report["samples"][0]["classes"]["Baseline$Point"]["field_bytes"] == 1234 * 16, "the size of fields")
    dump = hprof.read(report["samples"][0]["file"], references=True)
    points = {address for address, (name, _) in dump.objects.items() if name == "Baseline$Point"}
    expect(len(points) == 1234, f"{len(points)} points")
    holders = [a for a, elements in dump.elements.items() if points <= set(elements)]
    expect(len(holders) == 1, f"{len(holders)} arrays have references to all points")
    expect(len(dump.stacks) == 1, f"objects have {len(dump.stacks)} stacks: allocation sites")


def report_of(t, mode):
    out = t.path(mode + ".json")
    flags = (PARALLEL, "-Xmx256m", f"-javaagent:{INSTRUMENT}=mode={mode},out={out}")
    done = run(java_command("Baseline", ("deaths",), flags, jdk=stock()))
    expect(done.returncode == 0, tail(done.stderr))
    with open(out, encoding="utf-8") as file:
        return json.load(file)


@test(capabilities.INSTRUMENTED)
def instrumented(t):
    count = {"class", "stack", "bci", "objects", "bytes"}
    died = {"objects", "bytes", "mean_life_bytes", "mean_life_millis"}
    dragged = died | {"mean_drag_bytes", "mean_drag_millis", "never_used"}
    for mode, live, fields in (("count", False, None), ("deaths", False, died), ("drag", True, dragged)):
        for site in report_of(t, mode)["sites"]:
            rest = set(site) - count
            expect(
                rest <= ({"died", "live"} if live else {"died"}) and (fields is None) == ("died" not in rest),
                f"{mode}: {set(site)}",
            )
            for part in rest:
                expect(set(site[part]) == fields, f"{mode}, {part}: {set(site[part])}")


TELLS = {  # what `heap --by` has rows of, and a row that shows it
    "class": r"Baseline\$Point",
    "site": r"Baseline\.[a-z]+\(Baseline\.java:\d+\)",
    "thread": r"main",
    "space": r"old|eden|from|to",
    "age": r"\d+ GCs?",
}


@test(capabilities.TRACED)
def traced(t):
    trace, _ = run_traced(t, "Baseline", ("deaths",), (PARALLEL, "-Xmx64m"), judged=False)
    for by, row in TELLS.items():
        text = analyze("heap", trace, "--by", by, "--top", "0")
        expect(re.search(row, text), f"heap --by {by} has no {row}:\n{tail(text)}")
    line = re.compile(r"^0x[0-9a-f]+\t[^\t]+\t\d+\t[^\t]*$")
    objects = analyze("heap", trace, "--objects").splitlines()
    expect(len(objects) > 1000 and all(line.match(o) for o in objects), f"an object's line is {objects[:1]}")
    gcs = analyze_json("gcs", trace)["gcs"]
    expect(
        all(gc["start_ns"] > 0 for gc in gcs) and any(gc["moved"]["objects"] > 1000 for gc in gcs),
        f"no collection moved objects: {gcs}",
    )
    expect(any(gc["died"]["objects"] > 1000 for gc in gcs), f"no object died: {gcs}")
    # Call stacks are sampled. Nothing in a trace is about references or uses.
    segments = set(analyze_json("info", trace)["segments"])
    expect(
        segments
        <= {
            "ALLOC",
            "MOVES",
            "SLIDES",
            "FILLERS",
            "GC_BEGIN",
            "GC_END",
            "SYNC_BEGIN",
            "SYNC_OBJECTS",
            "SYNC_END",
            "CLASS_UNLOAD",
            "THREAD_END",
            "DEFINITIONS",
            "STACKS",
            "LOSS",
            "END",
        },
        f"{segments}",
    )


@test(capabilities.SAMPLED)
def sampled_trace(t):
    trace = t.path("trace")
    done = run(
        java_command(
            "Baseline",
            ("deaths",),
            (PARALLEL, "-Xmx64m"),
            agent=f"file={trace},mode=sample,interval=0",
            jdk=stock(),
        )
    )
    expect(done.returncode == 0, tail(done.stderr))
    # Time, thread, kind and size of each; nothing else is in the file.
    segments = set(analyze_json("info", trace)["segments"])
    expect(segments == {"SAMPLES", "SAMPLE_DEATHS", "GC_BEGIN", "GC_END", "DEFINITIONS", "END"}, f"{segments}")
    for by in ("class", "site", "thread", "age"):
        text = analyze("heap", trace, "--by", by, "--top", "0")
        expect(re.search(TELLS[by], text), f"heap --by {by} has no {by}:\n{tail(text)}")
    for arguments in (
        ["heap", "--by", "space"],
        ["heap", "--objects"],
        ["sites", "--tiers"],
        ["classes", "--layout"],
    ):
        analyze(*arguments, trace, code=2)
    stacks = [site["callers"] for site in analyze_json("sites", trace, "--callers")["sites"]]
    expect(any("Baseline.main" in callers[-1] for callers in stacks if callers), "no stack reaches main")
    gcs = analyze_json("gcs", trace)["gcs"]
    expect(any(gc["died"]["objects"] > 1000 for gc in gcs), f"no object died: {gcs}")
    expect(all(gc["kind"] is None and gc["cause"] is None for gc in gcs), f"{gcs}")
    row = next(c for c in analyze_json("classes", trace)["classes"] if c["class"] == "Baseline$Point")
    expect(row["least_bytes"] == row["most_bytes"] == 32, f"size of a point: {row}")


def collections(t, flags, jdk, agent=None):
    """The causes of the collections of a program that asks for one."""
    done = run(
        java_command("Baseline", ("keep",), (PARALLEL, "-Xmx256m", "-Xlog:gc", *flags), agent=agent, jdk=jdk)
    )
    expect(done.returncode == 0, tail(done.stderr))
    return re.findall(r"Pause (?:Young|Full) \((.*?)\) \d", done.stdout)


@test(capabilities.COLLECTS)
def collects(t):
    plain = collections(t, (), stock())
    expect(plain.count("System.gc()") == 2, f"{plain}")
    out = t.path("out.json")
    for name, flags, agent in (
        ("count", [f"-javaagent:{INSTRUMENT}=mode=count,out={out}"], None),
        ("deaths", [f"-javaagent:{INSTRUMENT}=mode=deaths,out={out}"], None),
        ("drag", [f"-javaagent:{INSTRUMENT}=mode=drag,out={out}"], None),
        ("sampling", [], f"file={t.path('sampled')},mode=sample"),
    ):
        found = collections(t, flags, stock(), agent)
        expect(found == plain, f"{name}: {found} instead of {plain}")
    # In 25 System.gc() is a full collection only.
    patched, traced = collections(t, (), JDK), collections(t, (), JDK, f"file={t.path('trace')}")
    expect(traced == patched and "System.gc()" in traced, f"tracing: {traced} instead of {patched}")
    found = collections(t, [f"-javaagent:{INSTRUMENT}=mode=deaths,gc=16K,out={out}"], stock())
    expect(found.count("System.gc()") > 2, f"gc=16K: {found}")
    found = collections(t, [f"-javaagent:{DUMPS}=every=2gc,out={t.path('d.json')},dir={t.folder}"], stock())
    expect(found.count("Heap Dump Initiated GC") == 2, f"a dump of live objects: {found}")


@test(capabilities.STOCK)
def on_stock(t):
    sampled(t, "every=2gc")
    report_of(t, "deaths")
    for mode, code in (("sample", 0), ("full", 1)):
        done = run(
            java_command(
                "Baseline",
                ("keep",),
                (PARALLEL, "-Xmx64m"),
                agent=f"file={t.path(mode)},mode={mode}",
                jdk=stock(),
            )
        )
        expect(done.returncode == code, f"mode={mode}: ended with {done.returncode}: {tail(done.stderr)}")
        expect(os.path.exists(t.path(mode)) == (code == 0), f"mode={mode}: {os.listdir(t.folder)}")
