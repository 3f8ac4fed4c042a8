# SPDX-License-Identifier: Apache-2.0
"""The rebuilt heap equals the JVM's own histograms and dumps, object by object."""

import re

from judge.exact import judge
from judge.world import (
    IN_THE_HASH,
    JDK,
    SITES,
    Skip,
    add,
    conclusive,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
    stock_java,
)
from judge.world import test as named

# Of what is tested with each collector; the first one is that of a test's plain name.
COLLECTORS = ("Parallel", "Serial", "G1")


# What the log of G1 says of a collection that had no room for a survivor; the second is that of JDK 21 on.
NO_ROOM = r"To-space exhausted|\(Evacuation Failure"
# When a collection's outcome depends on the timing of its workers, the program runs until the log shows it.
ATTEMPTS = 8


def says(log, words):
    with open(log, encoding="utf-8") as file:
        return re.search(words, file.read())


def reserved_huge_pages(_):
    with open("/proc/meminfo", encoding="utf-8") as file:
        free = int(re.search(r"HugePages_Free: +(\d+)", file.read())[1])
    if free < 80:
        raise Skip(f"the machine has {free} reserved huge pages free, 80 are needed (sysctl vm.nr_hugepages)")


def more_than_16_gb(collector):
    if SITES in IN_THE_HASH and collector != "Parallel":
        raise Skip(f"with {collector} and sites in the hash the heap may have 16 GB at most")


def exact(
    name,
    main,
    arguments=(),
    flags=("-Xmx64m",),
    slow=False,
    log_says=None,
    log="gc*",
    collectors=COLLECTORS,
    needs=None,
    varied=((),),
):
    """log_says: what the GC log, of the tags in log, must say for the test to have tested something.
    needs, which is given the collector, raises Skip. varied: more flags, others at each attempt, where those
    that do depend on how fast the machine is."""
    for collector in collectors:
        _exact(
            name if collector == COLLECTORS[0] else f"with {collector} {name}",
            collector,
            main,
            arguments,
            flags,
            slow,
            log_says,
            log,
            needs,
            varied,
        )


def _exact(name, collector, main, arguments, flags, slow, log_says, tags, needs, varied):
    def body(test):
        if needs:
            needs(collector)
        log = test.path("gc.log")
        all_flags = [f"-XX:+Use{collector}GC", *flags, *([f"-Xlog:{tags}:file={log}"] if log_says else [])]
        for attempt in range(ATTEMPTS):
            test.clear()
            trace, _ = run_traced(test, main, arguments, [*all_flags, *varied[attempt % len(varied)]])
            expect(judge(test.folder, trace) > 0, "nothing was judged")
            if not log_says or says(log, log_says):
                return
        conclusive(False, f"in {ATTEMPTS} runs the GC log does not say {log_says!r}: the test tests nothing")

    add("The rebuilt heap is exact " + name, body, slow)


exact("for one thread that makes a bit of everything", "Mix")
exact("for eight allocating threads with short ones beside them", "Threads")
exact("for arrays of all types and lengths, large ones too", "Arrays2", flags=("-Xmx160m",))
exact("for thousands of class mirrors", "Mirrors")
exact("for clones of locked and hashed objects and of arrays", "Clones")
exact("for objects made by reflection", "Reflection")
exact("for objects made by native code, and with critical sections", "Native")
exact("for lambdas, string concatenation, records and streams", "Lambdas")
exact("when classes are unloaded by the hundred", "Unloading")
exact("for Unsafe.allocateInstance", "UnsafeAllocate")
exact("for objects locked and hashed while the collector runs", "Locks")
exact("when survivors overflow", "Survivors", flags=("-Xmx64m", "-Xmn6m", "-XX:SurvivorRatio=8"))
exact(
    "when survivors overflow at the first copy",
    "Survivors",
    flags=(
        "-Xmx64m",
        "-Xmn12m",
        "-XX:SurvivorRatio=4",
        "-XX:MaxTenuringThreshold=1",
        "-XX:-UseAdaptiveSizePolicy",
    ),
)
exact(
    "when promotion fails",
    "PromotionFailure",
    (4, 700_000),
    ("-Xms64m", "-Xmx64m", "-Xmn24m"),
    log_says="Promotion failed",
    collectors=("Parallel", "Serial"),
)
exact(
    "when objects cannot be evacuated",
    "PromotionFailure",
    (20, 700_000),
    ("-Xms64m", "-Xmx64m", "-Xmn24m"),
    log_says=NO_ROOM,
    collectors=("G1",),
)


def most_memory(test, jdk):
    """KB of a process in which millions of objects could not be evacuated."""
    log = test.path("gc.log")
    flags = ("-XX:+UseG1GC", "-Xms400m", "-Xmx400m", "-Xmn266m", "-XX:+AlwaysPreTouch", f"-Xlog:gc:file={log}")
    done = run(java_command("Staying", (15_300_000,), flags, jdk=jdk))
    expect(done.returncode == 0, f"java ended with {done.returncode}: {done.stderr}")
    conclusive(says(log, NO_ROOM), "all objects could be evacuated: the test tests nothing")
    return int(done.stdout)


@named("Objects that cannot be evacuated take no more memory than in the JVM without the patch", slow=True)
def staying(test):
    # Almost every mark has a site. To preserve them all takes 90 MB here, when there is no memory.
    stock, patched = most_memory(test, stock_java()), most_memory(test, JDK)
    expect(patched < stock + (30 << 10), f"{patched >> 10} MB, without the patch {stock >> 10} MB")


exact("after many full collections of a dense old generation", "DenseOld")
exact(
    "after many full collections with a large dead wood allowance",
    "DenseOld",
    flags=("-Xmx96m", "-XX:MarkSweepDeadRatio=20", "-XX:MarkSweepAlwaysCompactCount=100"),
)
exact("for finalizers and weak, soft and phantom references", "References")
exact("for objects that deoptimization recreates", "Deopt")
exact("after OutOfMemoryErrors that were caught", "Oom", flags=("-Xmx48m",))

for flag, words in (
    ("-Xint", "in the interpreter"),
    ("-XX:TieredStopAtLevel=1", "with C1 only"),
    ("-XX:-TieredCompilation", "with C2 only"),
    ("-Xcomp", "with everything compiled"),
    ("-XX:-UseCompressedOops", "with uncompressed references"),
    ("-XX:-UseCompressedClassPointers", "with uncompressed class pointers"),
    ("-XX:ObjectAlignmentInBytes=16", "with objects aligned to 16 bytes"),
    ("-Xshare:off", "without the archive of shared classes"),
    ("-XX:TLABSize=2k -XX:-ResizeTLAB -XX:MinTLABSize=2k", "with tiny TLABs"),
    ("-XX:-ZeroTLAB -XX:TLABWasteTargetPercent=10", "with wasteful TLABs"),
    ("-XX:ParallelGCThreads=1", "with one GC worker"),
    ("-XX:ParallelGCThreads=8", "with eight GC workers"),
    ("-XX:-DoEscapeAnalysis", "without escape analysis"),
    ("-XX:-ReduceInitialCardMarks", "with card marks on new objects"),
    ("-XX:+UseNUMA", "with NUMA spaces asked for"),
    ("-XX:+AlwaysPreTouch -Xms64m", "with a heap of fixed size"),
    ("-XX:-UsePerfData -Xss512k", "without performance counters"),
):
    steps = 20_000 if flag in ("-Xint", "-Xcomp") else 150_000
    heap = "-Xmx96m" if "Compressed" in flag or "Alignment" in flag else "-Xmx64m"
    exact(words, "Mix", (steps,), (heap, *flag.split()), slow="card" in words or "performance" in words)

exact(
    "for eight threads without compressed references",
    "Threads",
    flags=("-Xmx96m", "-XX:-UseCompressedOops"),
    slow=True,
)
exact(
    "for eight threads with tiny TLABs",
    "Threads",
    flags=("-Xmx64m", "-XX:TLABSize=2k", "-XX:-ResizeTLAB"),
    slow=True,
)
exact("for eight threads in the interpreter", "Threads", flags=("-Xmx64m", "-Xint"), slow=True)
exact(
    "for locked objects without compressed references",
    "Locks",
    flags=("-Xmx96m", "-XX:-UseCompressedOops"),
    slow=True,
)
exact(
    "for a heap above 32 GB of addresses",
    "Mix",
    flags=("-Xmx33g", "-Xmn16m"),
    slow=True,
    needs=more_than_16_gb,
)
exact(
    "for a heap above 32 GB with references compressed by alignment",
    "Mix",
    flags=("-Xmx40g", "-Xmn16m", "-XX:ObjectAlignmentInBytes=16"),
    slow=True,
    needs=more_than_16_gb,
)
exact(
    "with transparent huge pages",
    "Mix",
    flags=("-Xmx64m", "-XX:+UseTransparentHugePages"),
    log="gc+init",
    log_says=r"Large Page Support: Enabled \(Transparent\)",
)
exact(
    "with reserved huge pages",
    "Mix",
    flags=("-Xmx64m", "-XX:+UseLargePages"),
    log="gc+init",
    log_says=r"Large Page Support: Enabled \(Explicit\)",
    needs=reserved_huge_pages,
)
SHRINKS = ("-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=10")
exact(
    "with an old generation that grows and shrinks",
    "Regions",
    (3,),
    ("-Xms8m", "-Xmx256m", "-XX:+UseAdaptiveSizePolicyWithSystemGC", *SHRINKS),
    log="gc=debug,gc+heap=trace",
    log_says=r"(?s)Expanding .*Shrinking ",
    collectors=("Parallel", "Serial"),
    slow=True,
)

# What only G1 does. Its log shows that it was done.
REGIONS = (
    "-Xmx128m",
    "-XX:G1HeapRegionSize=1m",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:G1MixedGCLiveThresholdPercent=95",
    "-XX:G1HeapWastePercent=1",
)
# Of the pause that is aimed at some time must remain after the young regions, but not enough for all old ones:
# milliseconds that may do, the likely ones first. 25 takes old regions in groups.
OF_RELEASES = {
    17: (("-XX:G1MixedGCCountTarget=100",), (8, 4, 15, 30, 2, 60)),
    21: (
        ("-XX:G1MixedGCCountTarget=100", "-XX:G1NewSizePercent=1", "-XX:G1MaxNewSizePercent=5"),
        (60, 30, 120, 90, 15, 240),
    ),
    25: (("-XX:G1MixedGCCountTarget=4",), (25, 50, 12, 100, 6, 200)),
}
TIME_REMAINS, PAUSES = OF_RELEASES.get(jdk_release(), OF_RELEASES[max(OF_RELEASES)])
for name, flags, tags, words in (
    ("when mixed pauses take old regions", (), "gc", r"Pause Young \(Mixed\)"),
    (
        "when remark frees regions and unloads classes",
        (),
        "gc=trace",
        r"Reclaimed (?:empty old gen region|[1-9]\d* empty regions)",
    ),
    ("when humongous objects die in young pauses", (), "gc+humongous=debug", r"Reclaimed humongous region"),
    (
        "with strings deduplicated",
        ("-XX:+UseStringDeduplication",),
        "stringdedup",
        r"Deduplication .*, [1-9]\d*/\S+ \(deduped\)",
    ),
    (
        "with a heap that grows and shrinks",
        ("-Xms8m", "-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=10"),
        "gc+ergo+heap=debug",
        r"(?s)Expand the heap.*Shrink the heap",
    ),
    ("with one GC worker and mixed pauses", ("-XX:ParallelGCThreads=1",), "gc", r"Pause Young \(Mixed\)"),
):
    exact(name, "Regions", (4,), (*REGIONS, *flags), log_says=words, log=tags, collectors=("G1",))
exact(
    "when old regions are left for the time that remains",
    "Regions",
    (4,),
    (
        *REGIONS,
        "-Xmx256m",
        *TIME_REMAINS,
        "-XX:G1MixedGCLiveThresholdPercent=100",
        "-XX:G1HeapWastePercent=0",
    ),
    log_says=r"Prepared [1-9]\d* regions out of \d+ for optional evacuation",
    log="gc+ergo+cset=trace",
    collectors=("G1",),
    varied=tuple((f"-XX:MaxGCPauseMillis={pause}",) for pause in PAUSES),
)
