# SPDX-License-Identifier: Apache-2.0
"""anttracks leaks and summary: seeded leaks are found first, and nothing is found in programs without one."""

import os
import re
import shlex
import subprocess

import workloads
from judge.harness import prepare
from judge.rotated import data_files
from judge.world import (
    AGENT,
    ANALYZER,
    CLASSES,
    JDK,
    TIMEOUT,
    add,
    analyze,
    analyze_json,
    expect,
    java_command,
    run,
    run_traced,
    tail,
    test,
)

FLAGS = ("-XX:+UseParallelGC", "-Xmx24m", "-Xmn8m")
ROUNDS, BEGIN, FULL = 6000, 2000, 400
# After about 60 % of the collections, and after 75 %; with as many full ones since then as it takes.
LATE, LATER, LATE_FULL = 3900, 4500, 200


def leaking(t, kind, options="", flags=FLAGS, rounds=ROUNDS, begin=BEGIN, full=FULL, rest_ms=0):
    """The trace of that program, and the collection before which its growth begins."""
    arguments = (kind, rounds, begin, full, rest_ms)
    trace, done = run_traced(t, "Leaking", arguments, flags, options, judged=False)
    return trace, int(re.search(r"growth begins before GC (\d+)", done.stdout).group(1))


def leaking_when_attached(t, kind, rounds):
    """The trace of that program, attached to after half of its rounds. Growth begins with the first one."""
    trace = t.path("trace")
    arguments = (kind, rounds, 0, 400, 0, rounds // 2)
    command = java_command("Leaking", arguments, ("-XX:+UseParallelGC", "-Xmx96m", "-Xmn8m"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        begins, waits = program.stdout.readline(), program.stdout.readline()
        expect("growth begins" in begins and waits == "waits\n", f"the program said {begins!r} {waits!r}")
        done = run([ANALYZER, "attach", str(program.pid), f"file={trace}"])
        program.communicate("go on\n", timeout=TIMEOUT)
    expect(done.returncode == 0 and program.returncode == 0, f"{done.stderr} {program.returncode}")
    return trace


def leaks_of(trace, *arguments):
    report = analyze_json("leaks", trace, *arguments)
    expect(report["known"], f"no verdict: {report}")
    return report["leaks"]


def summary_names(trace, line, folder):
    """The first finding names the line, and the command that is printed shows it."""
    summary = analyze_json("summary", trace)
    found = summary["findings"][0] if summary["findings"] else None
    expect(found and found["kind"] == "leak" and found["application"] == line, f"findings: {found}")
    text = analyze("summary", trace)
    expect(len(text.splitlines()) <= 40, f"more than a screen:\n{text}")
    command = shlex.split(re.search(r"^Next: (.*)$", text, re.M).group(1))
    done = run(command, cwd=folder)
    expect(
        done.returncode == 0 and line in done.stdout,
        f"{command}: {done.returncode}\n{done.stdout}{done.stderr}",
    )


def line_of(where):
    """The label of the line in Leaking.java that has the words."""
    source = os.path.join(os.path.dirname(os.path.dirname(__file__)), "java", "Leaking.java")
    with open(source, encoding="utf-8") as file:
        found = [number for number, text in enumerate(file, 1) if where in text]
    return f"Leaking.java:{found[0]})"


SEEDED = {
    "cache": ("a cache that never evicts", "new byte[900 + key % 200]", "byte[]"),
    "listeners": ("listeners that stay subscribed", "new long[20]", "long[]"),
    "locals": ("a ThreadLocal in a pool of threads", "new Note(round, new byte[200", "byte[]"),
}


def is_found(kind, options="", flags=FLAGS, says=""):
    meaning, where, class_name = SEEDED[kind]

    def body(t):
        trace, began = leaking(t, kind, options, flags)
        leaks = leaks_of(trace)
        expect(
            leaks and leaks[0]["site"].endswith(line_of(where)) and leaks[0]["class"] == class_name,
            f"not found first: {leaks[:3]}",
        )
        first = leaks[0]
        expect(abs(first["since_gc"] - began) <= 2, f"began before GC {began}, found at {first['since_gc']}")
        expect(first["freed_objects"] == 0 and first["share_of_growth"] > 0.5, f"{first}")
        expect(first["then"]["bytes"] < first["now"]["bytes"] / 10 and first["bytes_per_gc"] > 0, f"{first}")
        chosen = leaks_of(trace, "--where", f"class={class_name}", "--where", "tier=native")
        expect(chosen == [], f"no native method leaks: {chosen}")
        chosen = leaks_of(trace, "--where", f"class={class_name}", "--where", f"site=*{line_of(where)}")
        expect(chosen == [first], f"{chosen} {first}")
        history = analyze_json("leaks", trace, "--history")["history"]
        mine = [row for row in history if row["site"] == first["site"] and row["class"] == class_name]
        gcs = len(analyze_json("gcs", trace)["gcs"])
        expect(len(mine) == gcs, f"{len(mine)} points, {gcs} collections")
        expect(mine[-1]["bytes"] == first["now"]["bytes"], f"{mine[-1]} {first}")
        summary_names(trace, first["application"], t.folder)

    add(f"A seeded leak is found first, and where it began: {meaning}{says}", body)


for each in SEEDED:
    is_found(each)
is_found("cache", flags=("-XX:+UseSerialGC", *FLAGS[1:]), says=", with Serial")
is_found("listeners", flags=("-XX:+UseG1GC", "-Xmx24m"), says=", with G1")


def is_found_late(kind, flags=FLAGS, says=""):
    meaning, where, class_name = SEEDED[kind]

    def body(t):
        trace, began = leaking(t, kind, flags=flags, begin=LATE, full=LATE_FULL)
        first = leaks_of(trace)[0]
        gcs = len(analyze_json("gcs", trace)["gcs"])
        expect(began > 0.58 * gcs, f"it begins before GC {began} of {gcs}")  # JDKs collect at other moments
        expect(first["site"].endswith(line_of(where)) and first["class"] == class_name, f"{first}")
        expect(abs(first["since_gc"] - began) <= 2, f"began before GC {began}, found at {first['since_gc']}")
        summary_names(trace, first["application"], t.folder)

    add(f"A leak that begins after 60 % of the collections is found, and where: {meaning}{says}", body)


for each in SEEDED:
    is_found_late(each)
is_found_late("cache", ("-XX:+UseSerialGC", *FLAGS[1:]), ", with Serial")


@test("What grows in the last quarter only is told, and not called a leak")
def grows_of_late(t):
    trace, began = leaking(t, "listeners", begin=LATER, full=LATE_FULL)
    expect(leaks_of(trace) == [], "a leak already")
    late = [row for row in leaks_of(trace, "--all") if row["verdict"] == "grows of late"]
    expect(late and late[0]["site"].endswith(line_of("new long[20]")), f"{late}")
    expect(abs(late[0]["since_gc"] - began) <= 2, f"began before GC {began}: {late[0]}")
    told = f"grows since GC {late[0]['since_gc']}, "
    summary = analyze_json("summary", trace)
    expect(not any(finding["kind"] == "leak" for finding in summary["findings"]), f"{summary}")
    expect(told in summary["growing_of_late"] and "too short" in summary["growing_of_late"], f"{summary}")
    expect(told in analyze("leaks", trace) and told in analyze("summary", trace), "the text")


@test("The leak of the harness is ranked first within twenty collections, and summary names its line")
def harness_leak(t):
    trace = traced_workload(t, "leak", millis=0, iterations=1, warmup=0, heap="24m")
    gcs = [gc["id"] for gc in analyze_json("gcs", trace)["gcs"]]
    at = gcs[min(20, len(gcs)) - 1]
    for arguments in (("--gc", str(at)), ()):
        leaks = leaks_of(trace, *arguments)
        expect(leaks and "Leak.open(Leak.java:" in (leaks[0]["application"] or ""), f"{arguments}: {leaks[:2]}")
    summary_names(trace, leaks[0]["application"], t.folder)


@test("A leak is found in what is left of a rotated trace")
def rotated(t):
    # A kind of few objects and a wide heap: sync points leave room for the collections of a verdict.
    flags = ("-XX:+UseParallelGC", "-Xmx96m", "-Xmn8m")
    trace, _ = leaking(t, "cache", ",maxsize=2M,dev=0.1", flags, rounds=40000)
    expect(min(data_files(trace)) > 0, f"nothing was deleted: {list(data_files(trace))}")
    leaks = leaks_of(trace)
    expect(leaks and leaks[0]["class"] == "byte[]" and "Leaking.java" in leaks[0]["site"], f"{leaks[:2]}")


@test("A leak is found in the trace of a program that was attached to")
def attached(t):
    trace = leaking_when_attached(t, "listeners", 20000)
    leaks = leaks_of(trace)
    expect(leaks and leaks[0]["class"] == "long[]" and "Leaking.java" in leaks[0]["site"], f"{leaks[:2]}")
    expect(leaks[0]["then"]["objects"] > 0, f"nothing was there when it was attached: {leaks[0]}")


def finds_none(kind, meaning, **when):
    def body(t):
        trace, _ = leaking(t, kind, **when)
        expect(not leaks_of(trace), f"found: {leaks_of(trace)}")
        findings = analyze_json("summary", trace)["findings"]
        expect(not any(finding["kind"] == "leak" for finding in findings), f"{findings}")

    add(f"No leak is found in {meaning}", body)


finds_none("fills", "a cache that fills and stops")
finds_none("lru", "a cache that replaces the eldest")
finds_none("phases", "a program that builds up and drops")
finds_none("classes", "a program that loads classes")
finds_none("fills", "a cache that is used late, fills and stops", begin=LATE, full=LATE_FULL)
finds_none("lru", "a cache that is used late and replaces the eldest", begin=LATE, full=LATE_FULL)
finds_none("phases", "a program that builds up late and drops", begin=LATE, full=LATE_FULL)
finds_none("phases", "a program that builds up in its last quarter", begin=LATER, full=LATE_FULL)
finds_none("classes", "a program that loads classes late", begin=LATE, full=LATE_FULL)


def traced_workload(t, name, millis=150, iterations=3, warmup=1, heap=None, options="", flags=()):
    """The trace of a workload of the harness during which a full collection is asked for every so many ms; with
    0 after each young collection."""
    prepare(name)
    trace = t.path("trace")
    agent = f"{AGENT}=file={trace}{options}"
    command = workloads.start(name, JDK, "small", iterations, warmup, heap, agent, flags)
    at = command.index(workloads.WORKLOADS[name].main)
    command[at - 1] += os.pathsep + CLASSES
    command[at:at] = ["Collects", str(millis)]
    done = run(command, cwd=t.folder)
    expect(done.returncode == 0, f"{name} ended with {done.returncode}\n{tail(done.stderr, 30)}")
    return trace


def judged_workload(t, name, millis, iterations, **how):
    """The same, of so many iterations that there is a verdict: a fast machine is done with few collections."""
    for times in (1, 2, 4, 8):
        t.clear()
        trace = traced_workload(t, name, millis, iterations * times, **how)
        if analyze_json("leaks", trace)["known"]:
            break
    return trace


# Workloads in which a full collection takes as long as ten of the others'.
LARGE_HEAPS = ("javac", "javac-xml", "scalac", "ecj")
# The others are run with Parallel.
WITH_G1 = ("derby", "batik", "xalan", "ecj", "luindex")
# Iterations of workloads whose own are too short for five full collections, or of which it takes so many until
# what the program keeps is there (batik).
SHORT = ("allocate", "identity-hash", "identity-hash-1m", "identity-maps", "identity-map-500k")
ITERATIONS = dict.fromkeys(SHORT, 20) | {"batik": 15}
QUICK = ("serial", "xml.transform")


def workload_has_none(name):
    def body(t):
        flags = ("-XX:+UseG1GC",) if name in WITH_G1 else ()
        millis = 50 if name in SHORT else 600 if name in LARGE_HEAPS else 150
        trace = judged_workload(t, name, millis, ITERATIONS.get(name, 3), flags=flags)
        leaks = leaks_of(trace)
        expect(not leaks, f"found: {[(row['site'], row['class'], row['grown_bytes']) for row in leaks]}")
        expect(not any(f["kind"] == "leak" for f in analyze_json("summary", trace)["findings"]), "summary")

    says = ", with G1" if name in WITH_G1 else ""
    add(f"No leak is found in the workload {name}{says}", body, slow=name not in QUICK)


for workload in workloads.WORKLOADS:
    if workload != "leak":
        workload_has_none(workload)
