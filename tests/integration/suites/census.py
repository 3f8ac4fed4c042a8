# SPDX-License-Identifier: Apache-2.0
"""mode=census: what it counts is what the JVM counts, leaks are found in it, and it costs next to nothing."""

import os
import re

from judge import histogram
from judge.attached import Program, until
from judge.exact import FILLER_ARRAY, FILLER_OBJECT, class_differences, show, tells_fillers
from judge.host import SmallDisk
from judge.world import (
    add,
    analyze,
    analyze_json,
    expect,
    java_command,
    run,
    run_traced,
    stock_java,
    tail,
    test,
    verified,
)
from suites import leaks
from suites.faults import PARALLEL, refused
from suites.leaks import SEEDED, judged_workload, leaking, leaks_of, line_of, summary_names, traced_workload

COLLECTORS = ("Parallel", "Serial", "G1")
EACH = ",mode=census,every=gc"
# After a full collection, so that its census is not abandoned for the next one.
REST_MS = 50
# 0.5 % of one processor, for a census every five minutes.
MOST_CPU_S = 0.005 * 300


def censuses(trace):
    return {gc["id"]: gc for gc in analyze_json("gcs", trace)["gcs"]}


def agrees(collector):
    def body(t):
        flags = (f"-XX:+Use{collector}GC", "-Xmx96m", f"-Xlog:gc:file={t.path('gc.log')}")
        trace, _ = run_traced(t, "Counted", ("mix", 6), flags, EACH)
        verified(trace)
        with open(t.path("gc.log"), encoding="utf-8") as file:
            asked = [
                int(found[1])
                for found in re.finditer(
                    r"GC\((\d+)\) Pause Full \(Heap Inspection Initiated GC\) \d", file.read()
                )
            ]
        expect(len(asked) == 6, f"histograms after {asked}")
        counted = censuses(trace)
        missing = [gc for gc in asked if gc not in counted]
        expect(not missing, f"no census after {missing}: {list(counted)}")
        for number, gc in enumerate(asked):
            heap = analyze_json("heap", trace, "--gc", str(gc), "--top", "0")
            rebuilt = {row["class"]: (row["objects"], row["bytes"]) for row in heap["rows"]}
            with open(t.path(f"histogram-{number}.txt"), encoding="utf-8") as file:
                jvm = histogram.parse(file.read())
            if not tells_fillers(trace):
                for name in (FILLER_ARRAY, FILLER_OBJECT):
                    jvm.pop(name, None)
            lines = class_differences(rebuilt, jvm)
            expect(heap["old_space"] and not lines, f"GC {gc}: {len(lines)} differences\n{show(lines)}")
            expect(heap["objects"] > 50_000, f"only {heap['objects']} objects")
        by_site = analyze_json("heap", trace, "--by", "site", "--top", "0")["rows"]
        expect(any("Counted.make" in row["site"] for row in by_site), f"no site of the program: {by_site[:3]}")

    add(f"A census agrees with the JVM's own histogram, class for class, with {collector}", body)


for each in COLLECTORS:
    agrees(each)


def is_found(kind, flags=leaks.FLAGS, says=""):
    meaning, where, class_name = SEEDED[kind]

    def body(t):
        trace, began = leaking(t, kind, EACH, flags, rest_ms=REST_MS)
        verified(trace)
        found = leaks_of(trace)
        expect(
            found and found[0]["site"].endswith(line_of(where)) and found[0]["class"] == class_name,
            f"not found first: {found[:3]}",
        )
        first = found[0]
        ids = list(censuses(trace))
        # The census with which it is seen first is the one before `began`, or the next.
        expected = sum(gc < began for gc in ids)
        at = ids.index(first["since_gc"])
        expect(
            abs(at - expected) <= 2, f"began before GC {began}, found at {first['since_gc']}; censuses {ids}"
        )
        expect(first["share_of_growth"] > 0.5 and first["oldest_ns"] is None, f"{first}")
        history = analyze_json("leaks", trace, "--history")["history"]
        mine = [row for row in history if row["site"] == first["site"] and row["class"] == class_name]
        expect([row["gc"] for row in mine] == ids, f"{mine} {ids}")
        expect(mine[-1]["bytes"] == first["now"]["bytes"], f"{mine[-1]} {first}")
        summary_names(trace, first["application"], t.folder)

    add(f"A census shows a seeded leak first, and where it began: {meaning}{says}", body)


for each in SEEDED:
    is_found(each)
is_found("cache", ("-XX:+UseSerialGC", *leaks.FLAGS[1:]), ", with Serial")
is_found("listeners", ("-XX:+UseG1GC", "-Xmx24m"), ", with G1")


@test("A census shows the leak of the harness first, and summary names its line")
def harness_leak(t):
    trace = traced_workload(t, "leak", millis=0, iterations=1, warmup=0, heap="24m", options=EACH)
    found = leaks_of(trace)
    expect(found and "Leak.open(Leak.java:" in (found[0]["application"] or ""), f"{found[:2]}")
    summary_names(trace, found[0]["application"], t.folder)


def finds_none(kind, meaning):
    def body(t):
        trace, _ = leaking(t, kind, EACH, rest_ms=REST_MS)
        expect(not leaks_of(trace), f"found: {leaks_of(trace)}")
        findings = analyze_json("summary", trace)["findings"]
        expect(findings == [], f"{findings}")

    add(f"A census shows no leak in {meaning}", body)


finds_none("fills", "a cache that fills and stops")
finds_none("lru", "a cache that replaces the eldest")
finds_none("phases", "a program that builds up and drops")
finds_none("classes", "a program that loads classes")


def workload_has_none(name, slow):
    def body(t):
        # What waits for its finalizer in tomcat becomes more as long as the program becomes faster, on a slow
        # machine for all of 12 iterations.
        millis, iterations = {"javac": (600, 4), "tomcat": (150, 40)}.get(name, (150, 12))
        trace = judged_workload(t, name, millis, iterations, options=EACH)
        verified(trace)
        found = leaks_of(trace)
        expect(not found, f"found: {[(row['site'], row['class'], row['grown_bytes']) for row in found]}")

    add(f"A census shows no leak in the workload {name}", body, slow)


for workload in ("serial", "xml.transform", "h2", "lusearch", "longlived", "javac", "tomcat", "scala-actors"):
    workload_has_none(workload, slow=workload not in ("serial", "xml.transform"))


@test("A census of G1's old space follows a marking, without what the marking found dead")
def after_marking(t):
    flags = ("-XX:+UseG1GC", "-Xmx200m", "-Xmn20m", "-XX:InitiatingHeapOccupancyPercent=5")
    trace, _ = run_traced(t, "Repeat", ("40", "LargeOld", 300_000, 40_000), flags, EACH, judged=False)
    verified(trace)
    counted = censuses(trace).values()
    expect(any(gc["kind"] in ("young", "mixed") and gc["old_space"] for gc in counted), f"{counted}")


def attached(collector):
    def body(t):
        trace = t.path("trace")
        with Program(t, (f"-XX:+Use{collector}GC", "-Xmx128m")) as program:
            said = program.attach(f"mode=census,every=1h,file={trace}").stdout
            expect("counted" in said and trace in said, f"it says {said!r}")
            completed = lambda: program.status()["trace"]["counters"]["censuses"]
            until(lambda: completed() == 1, "no census of what was there before")
            before = completed()
            said = program.ctl("census").stdout
            expect(f"{before + 1} censuses" in said, f"it says {said!r}")
            said = program.ctl("set", "every=gc").stdout
            expect("after each collection of the old space" in said, f"it says {said!r}")
            program.tell("gc")
            until(lambda: completed() > before + 1, "no census after a full collection")
            for option in ("budget=3%", "interval=64K"):
                program.ctl("set", option, code=12)
            program.ctl("rotate", code=12)
            program.ctl("stop")
            until(lambda: not program.agent_threads(), f"threads of the agent: {program.agent_threads()}")
            program.attach(f"mode=full,file={t.path('full')}")
            program.ctl("census", code=12)
            program.end()
        verified(trace)
        by_site = analyze_json("heap", trace, "--by", "site", "--top", "0")["rows"]
        early = [row for row in by_site if "Attached$Early.<init>" in row["site"]]
        expect(early and early[0]["objects"] == 20_000, f"objects from before the attach: {early}")
        unknown = [row for row in by_site if row["site"] == "<unknown>"]
        expect(not unknown, f"objects without a site: {unknown}")

    add(f"Attached to a program with {collector}: a census now, at intervals, and no more after a stop", body)


for each in COLLECTORS:
    attached(each)


@test("What a census cannot tell is refused in one sentence")
def not_told(t):
    trace, _ = run_traced(t, "Counted", ("mix", 1), PARALLEL, EACH)
    for words in (
        ("sites",),
        ("sites", "--live"),
        ("classes",),
        ("threads",),
        ("tree",),
        ("lifetimes",),
        ("quality",),
        ("heap", "--objects"),
        ("heap", "--by", "thread"),
        ("heap", "--end"),
        ("heap", "--gc", "1000"),
    ):
        text = analyze(*words, trace, code=2)
        expect(text == "", f"{words}: {text}")


@test("A census of a program that was killed is read as far as it goes")
def killed(t):
    trace = t.path("trace")
    with Program(t, PARALLEL, agent=f"mode=census,every=gc,file={trace}") as program:
        program.tell("gc")
        until(lambda: program.status()["trace"]["counters"]["censuses"] >= 1, "no census")
        until(lambda: os.path.getsize(trace) > 4096, "nothing was written")
        # Definitions are written before it.
        until(lambda: len(censuses(trace)) >= 1, "no census was written")
        program.process.kill()
    expect(len(censuses(trace)) >= 1, "no census is left")
    verified(trace, clean_end=False)


@test("A full disk ends censuses, not the program")
def full_disk(t):
    with SmallDisk(t, "64k") as folder:
        trace = os.path.join(folder, "trace")
        arguments = ("mix", 4)
        done = run(java_command("Counted", arguments, PARALLEL, f"file={trace},compress=off{EACH}"))
        expect(done.returncode == 0 and "kept" in done.stdout, f"{done.returncode}: {tail(done.stderr)}")
        expect("space" in done.stderr.lower(), f"it does not say that the disk is full: {done.stderr!r}")
        verified(trace, clean_end=False)


@test("A census of a gigabyte costs less than 0.5 % of a processor at every=5m, and hardly a pause", slow=True)
def cost(t):
    for collector in COLLECTORS:
        flags = (f"-XX:+Use{collector}GC", "-Xmx3g", "-Xms3g", "-Xmn600m")
        trace, _ = run_traced(t, "Counted", ("large", 35_000_000, 3), flags, f"{EACH},overwrite=yes")
        counters = analyze_json("info", trace)["counters"]
        count = counters["censuses"]
        cpu, pause = counters["census_ns"] / count / 1e9, counters["census_pause_ns"] / count / 1e6
        objects = counters["census_objects"] / count
        live = list(censuses(trace).values())[-1]["live"]
        print(
            f"{collector}: {count} censuses of {objects:,.0f} objects, {live['bytes'] / 1e9:.2f} GB: "
            f"CPU {cpu:.2f} s, {cpu / 3:.2f} % of a processor at every=5m; pause {pause:.2f} ms",
            flush=True,
        )
        expect(count == 3 and objects > 35_000_000, f"{counters}")
        expect(cpu <= MOST_CPU_S, f"{collector}: {cpu:.2f} s of CPU")
        expect(pause < 20, f"{collector}: {pause:.1f} ms in pauses")


refused(
    "mode=census refuses a stock JVM, with what to do",
    lambda t: f"mode=census,file={t.path('trace')}",
    ("not patched", "jdk", "quickstart", "leave out mode=census"),
    jdk=stock_java,
)
refused(
    "mode=census refuses a collector that is not supported",
    lambda t: f"mode=census,file={t.path('trace')}",
    ("UseZGC", "-XX:+UseG1GC", "mode=sample"),
    ("-XX:+UseZGC", "-Xmx64m"),
)
refused("mode=census refuses a bound by name", "mode=census,maxsize=1M", ("maxsize", "mode=census"))
refused("every= is refused without mode=census", "every=5m", ("every", "mode=census"))
refused("A time that is none is refused", "mode=census,every=often", ("every", "often", "1s to 24h", "gc"))
