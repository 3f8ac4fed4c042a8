# SPDX-License-Identifier: Apache-2.0
"""What the JVM does only on JDKs after 17 (scripts/test --jdk 21 or 25)."""

import re

from judge.attached import Program
from judge.exact import judge
from judge.world import add, analyze, analyze_json, expect, jdk_release, run_traced, tail, verified
from suites import rotation
from suites.exactness import exact
from suites.faults import refused
from suites.schemes import without_archive
from suites.vm_interface import PLAIN_HEADERS, sites_of_headers

RELEASE = jdk_release()
CARRIES = "(carries virtual threads)"


def told_by_their_carriers(mode):
    def body(t):
        trace, _ = run_traced(
            t, "VirtualThreads", flags=("-Xmx256m",), options=f",mode={mode}", judged=False
        )
        verified(trace)
        threads = analyze_json("sites", trace, "--group-by", "thread", "--top", "0")["sites"]
        names = [row["thread"] for row in threads]
        # A carrier whose thread waits within a monitor gets a substitute (21).
        expect(len(names) < 300, f"{len(names)} threads are told, 6000 virtual ones ran: {names}")
        carried = sum(row["bytes"] for row in threads if CARRIES in row["thread"])
        total = sum(row["bytes"] for row in threads)
        expect(carried > total / 2, f"virtual threads have {carried} of {total} bytes: {names}")

    return body


def stacks_end_where_they_are_mounted(t):
    trace, _ = run_traced(t, "VirtualThreads", flags=("-Xmx256m",), options=",stacks=4K", judged=False)
    out = t.path("stacks.txt")
    analyze("export", "collapsed", trace, out)
    with open(out, encoding="utf-8") as file:
        stacks = [line.rpartition(" ")[0].split(";") for line in file]
    deep = [stack for stack in stacks if any(call.startswith("VirtualThreads.deep(") for call in stack)]
    whole = [stack for stack in deep if stack[0].startswith("jdk.internal.vm.Continuation.enter(")]
    expect(len(whole) > 20, f"{len(whole)} of {len(deep)} stacks begin in Continuation.enter: {deep[:1]}")
    # A thread that slept has the frames that it has not returned to in the heap.
    cut = [stack for stack in deep if stack[0] == "<frames that were not recorded>"]
    expect(cut, f"none of {len(deep)} stacks is cut where the frames lie in the heap")
    of_carriers = [stack for stack in deep if any("ForkJoin" in call for call in stack)]
    expect(not of_carriers, f"{len(of_carriers)} stacks have calls of the carrier: {of_carriers[:1]}")


def listed_while_scrubbed(t):
    """Old regions are listed while G1 marks, and makes what is dead in them unreadable, region by region."""
    log, cycles = t.path("gc.log"), 8
    # Without mixed pauses one marking cycle follows the other.
    marking = (
        "-Xmn8m",
        "-XX:InitiatingHeapOccupancyPercent=1",
        "-XX:-G1UseAdaptiveIHOP",
        "-XX:G1HeapWastePercent=100",
    )
    flags = ("-XX:+UseG1GC", "-Xmx400m", *marking, f"-Xlog:gc+marking:file={log}")
    with Program(t, flags, threads=2, objects=700_000) as program:
        traces = [t.path(f"{cycle}.trace") for cycle in range(cycles)]
        for trace in traces:
            program.attach(f"file={trace}")
            if trace == traces[-1]:
                program.tell("both")
            program.ctl("stop")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    with open(log, encoding="utf-8") as file:
        scrubbed = len(re.findall(r"Scrub Regions \d", file.read()))
    expect(scrubbed >= cycles // 2, f"regions were scrubbed {scrubbed} times: the test tests nothing")
    for trace in traces:
        verified(trace)
    expect(judge(t.folder, traces[-1]) == 2, "not all was judged")


WARNED = (
    r"WARNING: A JVM TI agent has been loaded dynamically \(.*libanttracks\.so\)\n"
    r"WARNING: .* -XX:\+EnableDynamicAgentLoading to hide this warning\n"
    r"WARNING: Dynamic loading of agents will be disallowed by default in a future release\n"
)


def loaded_late(flag, code, said):
    """said: on the program's standard error."""

    def body(t):
        with Program(t, ("-XX:+UseParallelGC", "-Xmx64m", *flag)) as program:
            done = program.attach(f"file={t.path('trace')}", code=code)
            if code:
                expect("ynamic agent loading is not enabled" in done.stderr, f"{done.stderr!r}")
            program.end()
        with open(t.path("stderr"), encoding="utf-8") as file:
            text = file.read()
        expect(re.fullmatch(said, text), f"the program's standard error: {text!r}")
        if not code:
            verified(t.path("trace"))

    return body


def sampled(flags):
    def body(t):
        trace, _ = run_traced(t, "Mix", (150_000,), flags, ",mode=sample", judged=False)
        verified(trace)
        expect(analyze_json("info", trace)["counters"]["samples"] > 0, "nothing was sampled")

    return body


def locked_while_rotated(flags):
    """verify compares the site of each live object in a sync point with that of its allocation."""

    def body(t):
        bound = rotation.Bound(8 * rotation.MB)
        trace, _, _ = rotation.traced(
            t,
            bound,
            "Locks",
            (),
            ("-Xmx128m", "-Xmn8m", *without_archive(), *flags),
            rotation.UNCOMPRESSED,
            "-XX:+UseG1GC",
        )
        result = verified(trace)
        expect(result["sync_points"]["checked"] > 0, f"no sync point was compared: {result}")

    return body


def sites_of_stacks(t):
    """The frames of a virtual thread that is unmounted lie in an object, which has a site, too."""
    trace, _ = run_traced(t, "VirtualThreads", flags=("-Xmx256m",), judged=False)
    rows = analyze_json("sites", trace, "--where", "class=jdk.internal.vm.StackChunk", "--top", "0")["sites"]
    found = {row["site"]: row["objects"] for row in rows}
    parked = sum(count for site, count in found.items() if "Continuation.doYield(" in site)
    expect(parked > 3000, f"{parked} stacks of threads that parked: {found}")
    # Before 24 a thread that holds a monitor stays with its carrier. From then on a wait that finds no room in
    # the last stack of its thread makes another, as does a thread that waits for a monitor.
    waiting = sum(count for site, count in found.items() if "Object.wait0(" in site)
    expect((waiting > 0) == (RELEASE >= 24), f"{waiting} stacks of threads that waited: {found}")
    told = parked + waiting + sum(count for site, count in found.items() if site.startswith("VirtualThreads"))
    expect(told == sum(found.values()), f"other sites: {found}")


# Ways to lock an object that are not the release's default.
LOCKING = {
    21: (
        ("-XX:LockingMode=2", "with lightweight locking"),
        ("-XX:LockingMode=0", "with heavy monitors only"),
    ),
    25: (
        ("-XX:LockingMode=0", "with heavy monitors only"),
        ("-XX:+UseObjectMonitorTable", "with monitors in a table"),
    ),
}

if RELEASE >= 21:
    exact("for thousands of virtual threads whose stacks lie in the heap", "VirtualThreads")
    for each in ("full", "sample"):
        add(f"Virtual threads are told by their carriers, mode={each}", told_by_their_carriers(each))
    add("Stacks of virtual threads have no calls of their carriers", stacks_end_where_they_are_mounted)
    title = "The stack of a virtual thread that is unmounted has a site, also if it holds a monitor"
    add(title, sites_of_stacks)
    unlock = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", *PLAIN_HEADERS)
    if RELEASE not in LOCKING:
        raise SystemExit(f"LOCKING in suites/newer_jdks.py says nothing of JDK {RELEASE}")
    for flag, words in LOCKING[RELEASE]:
        locking = ("-Xmx64m", *unlock, flag)
        for each in ("Parallel", "Serial", "G1"):
            sites_of_headers(each, (flag,), (*unlock, "-Dheader.stays=true"))
        title = f"Sync points have the true sites of locked objects, {words}"
        add(title, locked_while_rotated((*unlock, flag)))
        exact(f"for objects locked and hashed while the collector runs, {words}", "Locks", flags=locking)
        exact(f"for clones of locked and hashed objects, {words}", "Clones", flags=locking)
    exact(
        "when a full collection moves humongous objects",
        "Humongous",
        (50,),
        ("-Xmx80m", "-XX:G1HeapRegionSize=1m"),
        log="gc+phases=debug",
        log_says="Prepare humongous compaction",
        collectors=("G1",),
    )
    exact(
        "with strings deduplicated",
        "Regions",
        (4,),
        ("-Xmx128m", "-XX:+UseStringDeduplication"),
        log="stringdedup*=debug",
        log_says=r"Deduplicated: +[1-9]",
        collectors=("Parallel", "Serial"),
    )
    add("A large heap is listed while G1 scrubs its old regions", listed_while_scrubbed)
    generational = ("-XX:+UseZGC", "-Xmx128m", *(("-XX:+ZGenerational",) if RELEASE == 21 else ()))
    refused(
        "Generational ZGC is refused, with the collectors to use",
        lambda t: f"file={t.path('trace')}",
        ("UseZGC", "-XX:+UseG1GC", "-XX:+UseParallelGC", "mode=sample"),
        generational,
    )
    add("Attached to, a program has three lines more on its standard error", loaded_late((), 0, WARNED))
    for sign, code, rest in (("+", 0, "without a word"), ("-", 12, "not at all, with the JVM's words")):
        flag = f"-XX:{sign}EnableDynamicAgentLoading"
        add(f"A program with {flag} is attached to {rest}", loaded_late((flag,), code, ""))
    add("Generational ZGC is sampled", sampled(generational))
    add("Shenandoah is sampled", sampled(("-XX:+UseShenandoahGC", "-Xmx128m")))
    if RELEASE < 24:  # later releases have the generational mode alone
        add("ZGC is sampled", sampled(("-XX:+UseZGC", "-Xmx128m")))

if RELEASE >= 25:
    generational = ("-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational", "-Xmx128m")
    refused(
        "Generational Shenandoah is refused, with the collectors to use",
        lambda t: f"file={t.path('trace')}",
        ("UseShenandoahGC", "-XX:+UseG1GC", "-XX:+UseParallelGC", "mode=sample"),
        generational,
    )
    add("Generational Shenandoah is sampled", sampled(generational))
    exact(
        "when native code holds young arrays in their place",
        "Pinned",
        flags=("-Xmx96m", "-XX:G1HeapRegionSize=1m"),
        log="gc",
        log_says=r"Evacuation Failure: Pinned",
        collectors=("G1",),
    )
    compact = ("-XX:+UseCompactObjectHeaders", "-XX:AntTracksSites=mark", "-Xmx64m")
    refused(
        "Compact headers are refused without scheme ash, by name",
        lambda t: f"file={t.path('trace')}",
        ("-XX:+UseCompactObjectHeaders", "-XX:AntTracksSites=ash", "leave it out", "mode=sample"),
        compact,
    )
    for each in ("Parallel", "Serial", "G1"):
        add(f"With compact headers and {each} a program is sampled", sampled((*compact, f"-XX:+Use{each}GC")))
