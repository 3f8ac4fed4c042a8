# SPDX-License-Identifier: Apache-2.0
"""Rotated traces: the bound holds at every moment, and what is left of the trace is as exact as a whole one."""

import json
import os
import re

from judge.exact import judge_rotated
from judge.host import SmallDisk
from judge.rotated import (
    SizeWatch,
    check_known_stays_known,
    check_quality,
    data_files,
    emergencies,
    young_collections,
)
from judge.world import (
    ANALYZER,
    add,
    analyze_json,
    conclusive,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
    tail,
    test,
    verified,
)

PARALLEL = "-XX:+UseParallelGC"
KB, MB = 1 << 10, 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
LOSS_KINDS = ("events lost by the agent", "event that cannot be checked after a loss")


class Bound:
    """What the agent is asked for. size: bytes, dev: a fraction such as 0.1."""

    def __init__(self, size, dev=0.1):
        self.size, self.dev = size, dev
        self.limit = size + int(size * dev)
        self.files = round(1 / dev)
        self.options = f",maxsize={size // KB}K" + (f",dev={dev}" if dev != 0.1 else "")  # 0.1 is the default


def traced(test, bound, main, arguments, flags, options="", collector=PARALLEL):
    """Runs a program with a bound and a watch on it; returns (trace, the finished process, the GC log)."""
    log = test.path("gc.log")
    with SizeWatch(test.path("trace"), bound.limit) as watch:
        trace, done = run_traced(
            test, main, arguments, [collector, f"-Xlog:gc:file={log}", *flags], bound.options + options
        )
    files = data_files(trace)
    expect(
        watch.most_files <= bound.files, f"{watch.most_files} data files at a time, not at most {bound.files}"
    )
    expect(list(files) == list(range(min(files), max(files) + 1)), f"data files {list(files)}")
    return trace, done, log


def check_undisturbed(done, log, trace):
    """The bound was wide enough: nothing was lost, hardly a collection was asked for, nothing said."""
    counters = analyze_json("info", trace)["counters"]
    # Not none: with bounds of a few MB a machine that is busy with other things may be late once or twice.
    asked, most = emergencies(log), max(2, counters["sync_points"] // 10)
    requested = counters["requested_collections"]
    expect(asked <= requested, f"{asked} collections were asked for; counters {counters}")
    conclusive(requested <= most, f"{requested} collections were asked for, not at most {most}")
    for name in ("lost_segments", "lost_bytes", "dropped_chunks", "dropped_bytes"):
        expect(counters[name] == 0, f"{name} is {counters[name]}")
    expect(done.stderr == "", f"stderr: {tail(done.stderr)}")


def check_whole(test, trace, judged, keep):
    """No error, all sync points that have a heap to be compared with are, and the JVM agrees."""
    result = verified(trace)
    syncs = analyze_json("info", trace)
    complete = syncs["sync_points"] - syncs["abandoned_sync_points"] - syncs["incomplete_sync_points"]
    checked = result["sync_points"]
    expect(
        checked["taken"] >= 1 and checked["checked"] + checked["taken"] >= complete,
        f"{complete} sync points, but {checked}",
    )
    expect(check_known_stays_known(trace) > 0, "the heap is known after no collection")
    check_quality(trace)
    compared = judge_rotated(test.folder, trace, keep)
    expect(compared >= judged, f"only {compared} heaps of the JVM were compared, not {judged}")


def without_oldest(trace):
    """Deletes the older half of the data files by hand."""
    files = list(data_files(trace).values())
    for path in files[: len(files) // 2]:
        os.remove(path)


def exact(
    name, main, arguments, flags, bound, options="", judged=2, cut_judged=0, slow=False, collector=PARALLEL
):
    """judged, cut_judged: how many heaps of the JVM must be compared,
    before and after the older half is deleted."""

    def body(test):
        trace, done, log = traced(test, bound, main, arguments, flags, options, collector)
        conclusive(
            min(data_files(trace)) > 0,
            f"data files {list(data_files(trace))}: nothing was deleted, the test tests nothing",
        )
        check_whole(test, trace, judged, keep=True)
        check_undisturbed(done, log, trace)
        without_oldest(trace)
        check_whole(test, trace, cut_judged, keep=False)

    add("The heap of a rotated trace is exact " + name, body, slow)


# Undisturbed is a bound whose deviation has room for what the program makes between two collections, and while
# a sync point is written: hence the small young generations. UNCOMPRESSED: for programs that make little that
# is new.
UNCOMPRESSED = ",compress=off"
FAST = "for four threads that allocate as fast as they can, in "
exact(
    FAST + "8 MB", "FastAllocation", (8_000_000,), ("-Xmx32m", "-Xmn8m"), Bound(8 * MB), judged=4, cut_judged=4
)
exact(
    FAST + "64 MB",
    "FastAllocation",
    (30_000_000,),
    ("-Xmx128m", "-Xmn48m"),
    Bound(64 * MB),
    judged=4,
    cut_judged=4,
    slow=True,
)
# How many of the JVM's heaps lie behind the last sync points depends on when the files fill up.
exact(
    "in two files",
    "FastAllocation",
    (3_000_000,),
    ("-Xmx24m", "-Xmn4m"),
    Bound(3 * MB, 0.5),
    judged=1,
    cut_judged=1,
)
exact(
    "in fifty files",
    "FastAllocation",
    (30_000_000,),
    ("-Xmx24m", "-Xmn2m"),
    Bound(64 * MB, 0.02),
    judged=4,
    cut_judged=4,
    slow=True,
)
exact(
    "for a large old generation",
    "LargeOld",
    (200_000, 4_000_000),
    ("-Xmx96m", "-Xmn8m"),
    Bound(24 * MB),
    judged=4,
)
exact(
    "when full collections interrupt sync points",
    "LargeOld",
    (200_000, 2_000_000, 60),
    ("-Xmx96m", "-Xmn8m"),
    Bound(24 * MB),
    judged=4,
)
exact(
    "for one thread that makes a bit of everything",
    "Repeat",
    (12, "Mix"),
    ("-Xmx128m", "-Xmn4m"),
    Bound(4 * MB),
)
exact(
    "for eight allocating threads with short ones beside them",
    "Repeat",
    (6, "Threads"),
    ("-Xmx64m", "-Xmn8m"),
    Bound(8 * MB),
)
exact("for large arrays", "Repeat", (15, "Arrays2"), ("-Xmx256m",), Bound(10 * MB, 0.25), UNCOMPRESSED)
exact(
    "for locked and hashed objects",
    "Repeat",
    (40, "Locks"),
    ("-Xmx64m",),
    Bound(4 * MB, 0.25),
    UNCOMPRESSED,
    judged=1,
)
exact(
    "when classes are unloaded by the hundred",
    "Repeat",
    ({17: 6, 21: 12}.get(jdk_release(), 14), "Unloading"),  # 21 and 25 make fewer objects of their own
    ("-Xmx64m", "-Xmn8m"),
    Bound(2 * MB),
)
exact(
    "when survivors overflow",
    "Repeat",
    (8, "Survivors"),
    ("-Xmx64m", "-Xmn6m", "-XX:SurvivorRatio=8"),
    Bound(6 * MB),
)
exact(
    "for clones of locked and hashed objects and of arrays",
    "Repeat",
    (30, "Clones"),
    ("-Xmx128m",),
    Bound(14 * MB, 0.25),
    UNCOMPRESSED,
    slow=True,
)
exact(
    "for finalizers and weak, soft and phantom references",
    "Repeat",
    (10, "References"),
    ("-Xmx64m",),
    Bound(20 * MB, 0.25),
    UNCOMPRESSED,
    judged=1,
    slow=True,
)
exact(
    "for objects that deoptimization recreates",
    "Repeat",
    (30, "Deopt"),
    ("-Xmx128m",),
    Bound(48 * MB, 0.25),
    UNCOMPRESSED,
    judged=1,
    slow=True,
)
for name in ("Serial", "G1"):
    flag = f"-XX:+Use{name}GC"
    exact(
        f"with {name} {FAST}16 MB",
        "FastAllocation",
        (8_000_000,),
        ("-Xmx48m", "-Xmn8m"),
        Bound(16 * MB),
        judged=4,
        cut_judged=4,
        collector=flag,
    )
    exact(
        f"with {name} for a large old generation",
        "LargeOld",
        (150_000, 3_000_000),
        ("-Xmx128m", "-Xmn8m"),
        Bound(36 * MB),
        judged=4,
        collector=flag,
    )
    exact(
        f"with {name} when classes are unloaded by the hundred",
        "Repeat",
        (10 if jdk_release() == 17 else 18, "Unloading"),
        ("-Xmx64m", "-Xmn8m"),
        Bound(3 * MB),  # definitions alone are two thirds of it
        collector=flag,
    )
exact(
    "with G1 when mixed pauses take old regions",
    "Regions",
    (12,),
    (
        "-Xmx128m",
        "-XX:G1HeapRegionSize=1m",
        "-XX:+ExplicitGCInvokesConcurrent",
        "-XX:+UnlockExperimentalVMOptions",
        "-XX:G1MixedGCLiveThresholdPercent=95",
        "-XX:G1HeapWastePercent=1",
    ),
    Bound(4 * MB),
    collector="-XX:+UseG1GC",
)


def tight(bound):
    """The bound holds although it is far too small for the program; what is lost, the trace says."""

    def body(test):
        program = ("LargeOld", (200_000, 1_500_000), ("-Xmx64m",))
        trace, done, _ = traced(test, bound, *program)
        expect(done.stderr.count("too small") == 1 and "error" not in done.stderr, f"stderr: {done.stderr!r}")
        check_only_losses(trace)
        # The heap grows after the first time that it is told.
        for _ in range(3):
            wide = re.search(r"at least maxsize=(\d+)M\b", done.stderr)
            expect(wide, f"no size that would do in {done.stderr!r}")
            test.clear()
            trace, done, _ = traced(test, Bound(int(wide[1]) * MB), *program)
            if done.stderr == "":
                break
        expect(done.stderr == "", f"even with the size that it said: {done.stderr!r}")
        check_quality(trace)

    add(
        f"A bound of {bound.size // KB} KB that no sync point fits holds all the same, "
        "and the size that would do is told",
        body,
    )


def lossy(name, bound, rotations):
    """The bound holds although collections and sync points come too late in it; where the heap is known,
    it is exact."""

    def body(test):
        trace, _, _ = traced(test, bound, "FastAllocation", (3_000_000,), ("-Xmx24m", "-Xmn2m"))
        conclusive(
            min(data_files(trace)) >= rotations,
            f"data files {list(data_files(trace))}: too few rotations",
        )
        check_only_losses(trace)

    add(f"A bound of {bound.size // KB} KB holds for threads that fill it many times a second{name}", body)


def check_only_losses(trace):
    """verify finds nothing but what the agent said it dropped."""
    report = run([ANALYZER, "verify", trace, "--json"])
    expect(report.returncode in (0, 1), f"verify ended with {report.returncode}: {tail(report.stderr)}")
    result = json.loads(report.stdout)
    other = {kind: count for kind, count in result["by_kind"].items() if kind not in LOSS_KINDS}
    expect(not other, f"errors that are no loss: {other}\n{tail(report.stdout, 40)}")
    expect(result["ended_cleanly"], "the trace has no end record")
    return result


tight(Bound(512 * KB))
tight(Bound(1 * MB, 0.05))
lossy("", Bound(2 * MB), rotations=3)
lossy(", and of which symbols leave little", Bound(256 * KB), rotations=1)


@test("The bound holds on a disk that has no byte more")
def disk_of_the_bound(test):
    bound = Bound(2 * MB)  # the program goes to its end
    # Each file takes whole pages; the folder none.
    pages = (bound.limit + (bound.files + 1) * (PAGE - 1)) // PAGE
    with SmallDisk(test, pages * PAGE) as folder:
        trace = os.path.join(folder, "trace")
        done = run(
            java_command(
                "FastAllocation", (6_000_000,), (PARALLEL, "-Xmx24m", "-Xmn2m"), f"file={trace}{bound.options}"
            )
        )
        expect(
            done.returncode == 0 and "error" not in done.stderr,
            f"ended with {done.returncode}: {tail(done.stderr)}",
        )
        conclusive(
            min(data_files(trace)) > bound.files,
            f"data files {list(data_files(trace))}: too few rotations",
        )
        check_only_losses(trace)


@test("Where no collection comes by itself the agent asks for one, and nothing is lost")
def emergency(test):
    # Wide, since nothing bounds how long a loaded machine takes to begin a collection.
    trace, done, log = traced(test, Bound(48 * MB), "FastAllocation", (40_000_000,), ("-Xmx3g", "-Xmn2500m"))
    asked, all_young = emergencies(log), young_collections(log)
    conclusive(
        asked > all_young // 3 > 0,
        f"{asked} collections were asked for in {all_young} young ones: the test tests nothing",
    )
    expect(done.stderr == "", f"stderr: {done.stderr!r}")
    check_whole(test, trace, judged=4, keep=False)


@test("Where no collection can come, events are dropped and counted, and the next sync point repairs the heap")
def uncollectable(test):
    trace, done, _ = traced(
        test,
        Bound((2 if jdk_release() == 17 else 5) * MB),  # a sync point has the objects of the archive
        "Uncollectable",
        (4_000_000,),
        ("-Xmx1g", "-Xmn800m"),
        UNCOMPRESSED,
    )
    conclusive(done.stdout == "seen 1\n", f"the critical section ended too early: {done.stdout!r}")
    counters = analyze_json("info", trace)["counters"]
    conclusive(counters["dropped_chunks"] > 0, f"nothing was dropped: the test tests nothing; {counters}")
    # Where the processors are busy, events may fill the next file, too, before its sync point is complete;
    # that is told before it.
    *others, last = done.stderr.splitlines()
    expect(
        "dropped" in last and all("before the sync point" in line for line in others) and len(others) <= 1,
        f"stderr: {done.stderr!r}",
    )
    check_only_losses(trace)
    # Not after the last collection: the sync point that follows it may be the first that is complete.
    expect(analyze_json("heap", trace, "--end")["exact"], "the heap is not known at the end")
    check_quality(trace)


@test("An old rotated trace is refused, unless overwrite=yes removes all of it")
def overwrite(test):
    trace, _, _ = traced(test, Bound(2 * MB), "FastAllocation", (2_000_000,), ("-Xmx24m", "-Xmn2m"))
    os.remove(trace)
    before = {path: os.path.getsize(path) for path in data_files(trace).values()}
    flags, options = (PARALLEL, "-Xmx24m", "-Xmn2m"), f"file={trace},maxsize=2M"
    done = run(java_command("FastAllocation", (100_000,), flags, options))
    said = done.stdout + done.stderr
    expect(
        done.returncode == 1 and any(path in said for path in before),
        f"ended with {done.returncode}: {tail(said)}",
    )
    expect(
        {path: os.path.getsize(path) for path in data_files(trace).values()} == before, "the old files changed"
    )
    done = run(java_command("FastAllocation", (100_000,), flags, options + ",overwrite=yes"))
    expect((done.returncode, done.stderr) == (0, ""), f"ended with {done.returncode}: {tail(done.stderr)}")
    expect(list(data_files(trace))[0] == 0, f"left: {data_files(trace)}")
    read = run([ANALYZER, "info", trace])
    expect((read.returncode, read.stderr) == (0, ""), f"files of another trace: {tail(read.stderr)}")
    verified(trace)
