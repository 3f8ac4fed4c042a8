# SPDX-License-Identifier: Apache-2.0
"""The baselines that tracing is compared with, on the stock JDK: instrumentation and heap dumps."""

import collections
import json
import os
import re
import threading
import zipfile

from judge import hprof
from judge.world import BUILD, HERE, ROOT, expect, java_command, run, stock_java, tail, test

INSTRUMENT = os.path.join(BUILD, "java", "instrument.jar")
DUMPS = os.path.join(BUILD, "java", "dumps.jar")
_building = threading.Lock()
_built = []


def stock():
    """The stock JDK 17, for which the agents are built by the first test that wants them."""
    home = stock_java(17)
    with _building:
        if not _built:
            for script in ("harness", "instrument"):
                done = run([os.path.join(ROOT, "scripts", "lib", script), home])
                expect(done.returncode == 0, f"scripts/lib/{script}: {tail(done.stderr)}")
            _built.append(home)
    return home


def java(agent, options, arguments, flags=("-XX:+UseParallelGC", "-Xmx256m"), main="Baseline", **more):
    extra = [] if agent is None else [f"-javaagent:{agent}" + ("=" + options if options else "")]
    return run(java_command(main, arguments, [*flags, *extra], jdk=stock()), **more)


def instrumented(t, options, arguments, name="out.json", **more):
    """Runs a program with and without the agent; both must print the same. Returns the report."""
    plain = java(None, "", arguments, **more)
    done = java(INSTRUMENT, f"out={t.path(name)},{options}", arguments, **more)
    expect(
        plain.returncode == 0 and done.returncode == 0, f"ended with {done.returncode}\n{tail(done.stderr, 30)}"
    )
    expect(
        (done.stdout, done.stderr) == (plain.stdout, plain.stderr),
        f"the program printed {done.stdout!r} {done.stderr!r} instead of {plain.stdout!r} {plain.stderr!r}",
    )
    with open(t.path(name), encoding="utf-8") as file:
        report = json.load(file)
    expect(
        report["lost"] == 0 and not report["classes_failed"] and not report["sites_untracked"],
        f"lost {report['lost']}, failed {report['classes_failed']}, untracked {report['sites_untracked']}",
    )
    return report


def marked():
    with open(os.path.join(HERE, "java", "Baseline.java"), encoding="utf-8") as file:
        return {
            m[1]: number for number, line in enumerate(file, 1) if (m := re.search(r";  // ([a-z ]+)$", line))
        }


def at(report, mark, depth=0):
    """{class: rows' sum of objects} of the line that is marked."""
    line = f"(Baseline.java:{marked()[mark]})"
    found = collections.Counter()
    for site in report["sites"]:
        if len(site["stack"]) > depth and site["stack"][depth].endswith(line):
            found[site["class"]] += site["objects"]
    return dict(found)


def row(report, name):
    found = [site for site in report["sites"] if site["class"] == name]
    expect(len(found) == 1, f"{len(found)} rows of {name}")
    return found[0]


# What Baseline.allocate makes, by the line's mark, and how many bytes of it with compressed references.
KNOWN = {
    "instance": ({"Baseline$Point": 1000}, 32_000),
    "ints": ({"int[]": 100}, sum(16 + (4 * i + 7) // 8 * 8 for i in range(100))),
    "strings": ({"java.lang.String[]": 10}, sum(16 + (4 * i + 7) // 8 * 8 for i in range(10))),
    "multi": ({"long[][][]": 5, "long[][]": 15}, 5 * 32 + 15 * 32),
    "array clone": ({"int[]": 7}, 7 * 24),
    "clone": ({"clone": 8}, 8 * 16),
    "lambda": ({"java.lang.Runnable$$Lambda": 9}, 9 * 16),
    "nested": ({"java.lang.Object[]": 3, "Baseline$Point": 5}, 3 * 24 + 5 * 32),
    "other": ({"Baseline$Point": 20}, 20 * 32),
}


def check_known(report, leave_out=()):
    for mark, (objects, size) in KNOWN.items():
        if mark in leave_out:
            continue
        found = at(report, mark)
        expect(found == objects, f"{mark}: {found}, expected {objects}")
        line = f"(Baseline.java:{marked()[mark]})"
        found = sum(site["bytes"] for site in report["sites"] if site["stack"][0].endswith(line))
        expect(found == size, f"{mark}: {found} bytes, expected {size}")


@test("Instrumentation counts every allocation of every line, with its bytes")
def counts(t):
    report = instrumented(t, "mode=count", ["allocate"])
    check_known(report)
    expect(at(report, "throwing") == {"Baseline$Throwing": 4}, f"throwing: {at(report, 'throwing')}")
    expect(at(report, "negative") == {}, f"arrays of negative length were counted: {at(report, 'negative')}")
    expect(report["objects"] == sum(site["objects"] for site in report["sites"]), "the sum is wrong")
    bcis = [site["bci"] for site in report["sites"] if "Baseline.allocate" in site["stack"][0]]
    expect(
        len(set(bcis)) == len([b for b in bcis if b > 0]) - 1,
        f"only the dimensions of one array share a bci, and none is unknown: {bcis}",
    )


@test("Instrumentation finds the same allocations when it awaits deaths or follows uses")
def modes(t):
    for mode in ("deaths", "drag"):
        report = instrumented(t, f"mode={mode}", ["allocate"], mode + ".json")
        check_known(report)
        expect(at(report, "throwing") == {}, "an object whose constructor threw is not known")


@test("Instrumentation of boot classes changes no count of the application's")
def boot(t):
    for mode in ("count", "drag"):
        report = instrumented(
            t,
            f"mode={mode},boot=yes",
            ["allocate"],
            mode + ".json",
            flags=(
                "-XX:+UseParallelGC",
                "-Xmx256m",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:+BytecodeVerificationLocal",
            ),
        )
        check_known(report)
        inside = [site for site in report["sites"] if site["stack"][0].startswith("java.")]
        expect(len(inside) > 10, f"{len(inside)} sites in the JDK")


@test("Instrumentation that only counts leaves escape analysis at work, and counts what it removes")
def escape(t):
    report = instrumented(t, "mode=count", ["escape"])
    found = at(report, "escape")
    rounds = found["Baseline$Point"]
    expect(rounds % 300_000 == 0 and found == {"Baseline$Point": rounds, "int[]": rounds}, f"{found}")
    expect("removed" in java(None, "", ["escape"]).stdout, "the compiler removes nothing here")


@test("Instrumentation adds up threads that have ended")
def threads(t):
    for mode in ("count", "deaths", "drag"):
        report = instrumented(t, f"mode={mode}", ["threads"], mode + ".json")
        found = at(report, "threads")
        expect(found == {"Baseline$Point": 20_000}, f"{mode}: {found}")


@test("Instrumentation tells callers apart to the depth that is asked for")
def depth(t):
    report = instrumented(t, "mode=count,depth=3", ["allocate"])
    check_known(report)
    stacks = [site["stack"] for site in report["sites"] if "Other.make" in site["stack"][0]]
    expect(
        [[re.sub(r"\(.*", "", frame) for frame in stack] for stack in stacks]
        == [["Baseline$Other.make", "Baseline.allocate", "Baseline.main"]],
        f"stacks {stacks}",
    )
    expect(max(len(site["stack"]) for site in report["sites"]) == 3, "deeper than asked for")


@test("Instrumentation sees the objects that a collection freed, and no others")
def deaths(t):
    for mode in ("deaths", "drag"):
        report = instrumented(t, f"mode={mode}", ["deaths"], mode + ".json")
        points = row(report, "Baseline$Point")
        expect(points["objects"] == 5000 and points["bytes"] == 160_000, f"{mode}: {points}")
        expect(points["died"]["objects"] == 4000 and points["died"]["bytes"] == 128_000, f"{mode}: {points}")
        # The garbage lived 80,000 bytes on average: half of what was made, until the collection.
        life = points["died"]["mean_life_bytes"]
        expect(78_000 < life < 110_000, f"{mode}: mean life {life} bytes")


@test("Instrumentation's drag is that from the last use")
def drag(t):
    report = instrumented(t, "mode=drag", ["drag"], flags=("-XX:+UseParallelGC", "-Xmx256m", "-Xint"))
    dragged = {name: row(report, "Baseline$" + name)["died"] for name in ("Early", "Late", "Unused")}
    between = 1000 * 1016
    for name, found in dragged.items():
        expect(
            found["objects"] == 1 and between < found["mean_life_bytes"] < between + 2000, f"{name}: {found}"
        )
    expect(between <= dragged["Early"]["mean_drag_bytes"] < between + 2000, f"early: {dragged['Early']}")
    expect(dragged["Late"]["mean_drag_bytes"] < 2000, f"late: {dragged['Late']}")
    expect(dragged["Early"]["mean_drag_millis"] >= dragged["Late"]["mean_drag_millis"], f"{dragged}")
    unused = dragged["Unused"]
    expect(
        unused["never_used"] == 1 and unused["mean_drag_bytes"] == unused["mean_life_bytes"],
        f"unused: {unused}",
    )
    expect(dragged["Early"]["never_used"] == dragged["Late"]["never_used"] == 0, f"{dragged}")


@test("Instrumentation collects on its own when asked to")
def collects(t):
    # The program allocates 44 KB, and collects once itself.
    # How often 16 KB are seen to be full depends on the moment.
    for options, least, most in (("", 1, 1), (",gc=16K", 2, 3)):
        done = java(
            INSTRUMENT,
            f"out={t.path('out.json')},mode=deaths{options}",
            ["keep"],
            flags=("-XX:+UseParallelGC", "-Xmx256m", "-Xlog:gc"),
        )
        found = done.stdout.count("Pause Full (System.gc())")
        expect(
            least <= found <= most,
            f"{options}: {found} full collections, {least} to {most} expected\n{done.stdout}",
        )


@test("Instrumentation is limited to the classes that are asked for")
def filters(t):
    everything = {
        site["stack"][0].split("(")[0] for site in instrumented(t, "mode=count", ["allocate"])["sites"]
    }
    only = instrumented(t, "include=Baseline$Oth:Nothing", ["allocate"])
    expect(
        [site["stack"][0].split("(")[0] for site in only["sites"]] == ["Baseline$Other.make"],
        f"{only['sites']}",
    )
    expect(only["classes_instrumented"] == 1, f"{only['classes_instrumented']} classes")
    without = instrumented(t, "include=Baseline,exclude=Baseline$Oth", ["allocate"])
    found = {site["stack"][0].split("(")[0] for site in without["sites"]}
    expect(found == everything - {"Baseline$Other.make"}, f"{found}")


@test("Instrumentation leaves messages of null pointers and arrays as they are")
def messages(t):
    for mode in ("count", "deaths", "drag"):
        instrumented(t, f"mode={mode}", ["messages"])
    done = java(None, "", ["messages"])
    expect(done.stdout.count("because") == 5, f"the program does not test this: {done.stdout}")


@test("javac compiles the same when it is instrumented")
def javac(t):
    sources = t.path("sources.zip")
    with zipfile.ZipFile(sources, "w") as archive:
        for name in ("Judge", "Mix", "Sites", "Baseline"):
            archive.write(os.path.join(HERE, "java", name + ".java"), f"jdk.compiler/{name}.java")
    harness = [
        "-cp",
        os.path.join(BUILD, "java", "harness"),
        "anttracks.harness.Javac",
        "--sources",
        sources,
        "--warmup",
        "0",
        "--iterations",
        "1",
    ]
    command = [stock() + "/bin/java", "-XX:+UseParallelGC", "-Xmx512m"]
    plain = run([*command, *harness])
    expect(plain.returncode == 0, tail(plain.stderr))
    for mode in ("count", "count,depth=4", "deaths", "drag"):
        out = t.path("javac.json")
        done = run([*command, f"-javaagent:{INSTRUMENT}=mode={mode},out={out}", *harness])
        expect(
            done.returncode == 0 and done.stderr == plain.stderr,
            f"{mode}: {done.returncode} {tail(done.stderr, 30)}",
        )
        expect(
            done.stdout.split()[-1] == plain.stdout.split()[-1],
            f"{mode}: {done.stdout} instead of {plain.stdout}",
        )
        with open(out, encoding="utf-8") as file:
            report = json.load(file)
        expect(
            report["objects"] > 100_000 and report["classes_instrumented"] > 500,
            f"{mode}: {report['objects']} objects",
        )
        expect(not report["classes_failed"], f"{mode}: {report['classes_failed']}")


@test("Building the baselines without ASM names the package that is missing")
def no_asm(t):
    done = run(
        ["env", f"ANTTRACKS_ASM={t.folder}", os.path.join(ROOT, "scripts", "lib", "instrument"), stock_java(17)]
    )
    expect(done.returncode == 1 and "libasm-java" in done.stderr and t.folder in done.stderr, done.stderr)


WRONG = {
    "frobnicate=1": ("frobnicate", "mode, out, include, exclude, boot, depth, gc"),
    "mode": ("mode=",),
    "mode=": ("mode=",),
    "mode=all": ("mode=all", "count, deaths, drag"),
    "mode=count,mode=drag": ("mode=", "twice"),
    "depth=0": ("depth=0", "1 to 256"),
    "depth=x": ("depth=x", "1 to 256"),
    "boot=maybe": ("boot=maybe", "no, yes"),
    "mode=drag,gc=1T": ("gc=1T", "K, M or G"),
    "gc=1M": ("gc=", "mode=deaths"),
    "out=/nonexistent/x.json": ("out=", "/nonexistent"),
    "": None,
}


def refused(t, jar, wrong):
    for options, words in wrong.items():
        done = java(jar, options, ["threads"], cwd=t.folder)
        if words is None:
            expect(done.returncode == 0, f"{options!r}: {done.stderr}")
            continue
        expect(done.returncode == 1 and done.stdout == "", f"{options}: {done.returncode} {done.stdout}")
        expect(
            done.stderr.count("\n") == 1 and all(word in done.stderr for word in words),
            f"{options}: {done.stderr!r}",
        )


@test("Instrumentation refuses wrong options and names the valid ones")
def wrong_instrument(t):
    refused(t, INSTRUMENT, WRONG)


@test("The heap dump sampler refuses wrong options and names the valid ones")
def wrong_dumps(t):
    refused(
        t,
        DUMPS,
        {
            "frobnicate=1": ("frobnicate", "every, count, out, dir, keep, histogram, live"),
            "every=5": ("every=5", "1gc", "500ms"),
            "every=0gc": ("every=0gc", "1gc"),
            "count=0": ("count=0",),
            "keep=yes": ("keep=yes", "dir="),
            "dir=/nonexistent": ("dir=", "/nonexistent"),
            "": None,
        },
    )


def sampled(t, options, arguments=("keep",), prefix=()):
    out = t.path("dumps.json")
    flags = ("-XX:+UseParallelGC", "-Xmx256m", f"-javaagent:{DUMPS}=out={out},dir={t.folder},{options}")
    done = run([*prefix, *java_command("Baseline", arguments, flags, jdk=stock())])
    expect(
        done.returncode == 0 and done.stdout == "kept 1234\n" and done.stderr == "",
        f"{done.returncode} {done.stdout} {tail(done.stderr)}",
    )
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def dump_files(t):
    return [name for name in os.listdir(t.folder) if name.endswith(".hprof")]


@test("The heap dump sampler dumps after a collection, but not after its own")
def dump_after_collection(t):
    # System.gc() is a young and a full collection.
    report = sampled(t, "every=2gc")
    expect(report["dumps"] == 1 and report["failure"] is None, f"{report['dumps']} dumps, {report['failure']}")
    expect(
        report["samples"][0]["classes"]["Baseline$Point"] == {"objects": 1234, "field_bytes": 1234 * 16},
        "points",
    )
    expect(
        0 < report["dump_ms"] < report["run_ms"] and report["samples"][0]["file_bytes"] > 100_000,
        f"{report['dump_ms']}",
    )
    expect(dump_files(t) == [], f"left: {dump_files(t)}")


@test("The heap dump sampler's histogram is that of the dump it keeps")
def dump_histogram(t):
    report = sampled(t, "every=2gc,keep=yes")
    (name,) = dump_files(t)
    sample = report["samples"][0]
    expect(sample["file"] == t.path(name) and sample["file_bytes"] == os.path.getsize(t.path(name)), f"{name}")
    dump = hprof.read(t.path(name))
    expected = collections.Counter(found for found, _ in dump.objects.values())
    # Those of the primitive types are instances like any other.
    expected["java.lang.Class"] += len(dump.mirrors)
    found = {class_: entry["objects"] for class_, entry in sample["classes"].items()}
    # Hidden classes are written with a slash or a plus sign before their address.
    different = {c for c in {*found, *expected} if "Lambda" not in c and found.get(c, 0) != expected[c]}
    expect(not different, f"{[(c, found.get(c), expected[c]) for c in sorted(different)[:5]]}")


@test("The heap dump sampler takes no more dumps than it may")
def dump_count(t):
    report = sampled(t, "every=20ms,count=3,histogram=no")
    expect(report["dumps"] == 3 and report["samples"][2]["start_ms"] >= 60, f"{report}")
    expect(
        all(sample["objects"] == 0 and sample["file_bytes"] > 0 for sample in report["samples"]), f"{report}"
    )


@test("The heap dump sampler that cannot write leaves the program alone and says why")
def dump_failure(t):
    report = sampled(t, "every=1gc", prefix=("prlimit", "--fsize=500000"))
    expect(report["dumps"] == 0 and "Exception" in report["failure"], f"{report}")
    expect(dump_files(t) == [], f"left: {dump_files(t)}")
