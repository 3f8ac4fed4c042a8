# SPDX-License-Identifier: Apache-2.0
"""Which of HotSpot's own tests scripts/jtreg runs, with which collector, and what is known of those that fail.

A test is a file or a folder below test/hotspot/jtreg of the JDK's source. Tests with native code are left out,
as their libraries would have to be built; so are those with jtreg's keyword `stress` and those in upstream's
ProblemList.txt."""

import dataclasses

# "own": the test's own flags, or the JVM's choice, which is G1 on a machine of two processors and 2 GB.
COLLECTORS = {"own": "", "parallel": "-XX:+UseParallelGC", "serial": "-XX:+UseSerialGC", "g1": "-XX:+UseG1GC"}
TRACED = ("parallel", "serial", "g1")


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    why: str
    tests: tuple
    collectors: tuple = ("own",)


def below(folder, *names):
    return tuple(f"{folder}/{name}.java" for name in names)


GROUPS = (
    Group(
        "mark words",
        "locks, hashes and inflated monitors share the word with the site",
        (
            "compiler/intrinsics/object",
            "compiler/locks",
            "runtime/whitebox/TestWBDeflateIdleMonitors.java",
            "runtime/logging/MonitorInflationTest.java",
            "serviceability/jvmti/8036666",
        ),
        TRACED,
    ),
    Group(
        "allocation",
        "every way to make an object: interpreter, C1, C2, runtime, clone, reflection",
        (
            "compiler/allocation",
            "compiler/macronodes",
            "compiler/memoryinitialization",
            "runtime/Unsafe/AllocateInstance.java",
            *below("compiler/intrinsics/unsafe", "AllocateUninitializedArray"),
            *below(
                "compiler/arraycopy",
                "TestInstanceCloneAsLoadsStores",
                "TestCloneAccess",
                "TestEliminateArrayCopy",
                "TestArrayCopyNoInitDeopt",
                "TestReduceBulkZeroingDisabled",
            ),
        ),
        TRACED,
    ),
    Group(
        "escape analysis",
        "objects that are never made, and the shape of allocations in C2",
        ("compiler/escapeAnalysis",),
        ("parallel", "g1"),
    ),
    Group(
        "deoptimization",
        "objects that come back when a frame is deoptimized",
        (
            "compiler/uncommontrap",
            *below(
                "compiler/whitebox",
                "DeoptimizeAllTest",
                "DeoptimizeFramesTest",
                "DeoptimizeMethodTest",
                "DeoptimizeMultipleOSRTest",
            ),
        ),
        ("serial", "g1"),
    ),
    Group(
        "unloading",
        "sites outlive their classes, methods and code",
        (
            "runtime/ClassUnload",
            "compiler/classUnloading/methodUnloading/TestMethodUnloading.java",
            *below("runtime/HiddenClasses", "GCHiddenClass", "TestHiddenClassUnloading"),
            "compiler/profiling/unloadingconflict",
            "compiler/profiling/TestSpecTrapClassUnloading.java",
        ),
        TRACED,
    ),
    Group(
        "heap walks",
        "dumps and histograms parse a heap whose marks have sites",
        (
            *below(
                "serviceability/dcmd/gc",
                "ClassHistogramTest",
                "HeapDumpAllTest",
                "HeapDumpTest",
                "HeapInfoTest",
                "RunGCTest",
            ),
            "runtime/ErrorHandling/TestHeapDumpOnOutOfMemoryError.java",
        ),
        TRACED,
    ),
    Group(
        "compressed dumps",
        "each collector's parallel heap walk",
        ("serviceability/dcmd/gc/HeapDumpCompressedTest.java",),
    ),
    Group(
        "collectors",
        "what holds for every collector: forwarding, promotion failure, references, OutOfMemoryError",
        (
            *below(
                "gc",
                "ArraySize",
                "InfiniteList",
                "TestAgeOutput",
                "TestBigObj",
                "TestConcurrentGCBreakpoints",
                "TestFullGCALot",
                "TestFullGCCount",
                "TestHumongousReferenceObject",
                "TestObjectAlignment",
                "TestReferenceClearDuringMarking",
                "TestReferenceClearDuringReferenceProcessing",
                "TestReferenceRefersToDuringConcMark",
                "TestSmallHeap",
                "TestSoftReferencesBehaviorOnOOME",
                "TestStackOverflow",
                "TestSystemGC",
                "TestVerifyDuringStartup",
                "TestVerifySilently",
                "TestVerifySubSet",
            ),
            "gc/class_unloading",
            "gc/logging/TestGCId.java",
            "gc/startup_warnings",
            "gc/stress/gcold",
            "gc/whitebox",
            "gc/parallel",
            "gc/serial",
        ),
    ),
    Group(
        "G1",
        "humongous objects, mixed and failed evacuation, remark, full collections, region verification",
        (
            *below(
                "gc/g1",
                "TestConcurrentSystemGC",
                "TestEagerReclaimHumongousRegions",
                "TestEagerReclaimHumongousRegionsClearMarkBits",
                "TestEagerReclaimHumongousRegionsWithRefs",
                "TestG1SkipCompaction",
                "TestGreyReclaimedHumongousObjects",
                "TestHumongousAllocConcurrentStart",
                "TestHumongousAllocNearlyFullRegion",
                "TestHumongousCodeCacheRoots",
                "TestHumongousConcurrentStartUndo",
                "TestHumongousShrinkHeap",
                "TestInvalidateArrayCopy",
                "TestMixedGCLiveThreshold",
                "TestRegionLivenessPrint",
                "TestSharedArchiveWithPreTouch",
                "TestShrinkDefragmentedHeap",
                "TestShrinkToOneRegion",
                "TestVerifyGCType",
            ),
            *below(
                "gc/g1/humongousObjects",
                "TestHumongousMovement",
                "TestHumongousNonArrayAllocation",
                "TestHumongousThreshold",
                "TestNoAllocationsInHRegions",
                "TestObjectCollected",
            ),
            "gc/g1/mixedgc",
            *below("gc/g1/plab", "TestPLABEvacuationFailure", "TestPLABResize"),
        ),
    ),
    Group("string deduplication", "the collector looks at strings as it copies them", ("gc/stringdedup",)),
    Group(
        "TLABs and JFR",
        "sampled allocations lower the end of a TLAB as stretches do",
        below(
            "gc/stress/jfr",
            "TestStressAllocationGCEventsWithG1",
            "TestStressAllocationGCEventsWithParallel",
            "TestStressAllocationGCEventsWithDefNew",
        ),
    ),
    Group(
        "oops and layout",
        "uncompressed oops and classes, alignments, field layout",
        ("runtime/CompressedOops", "runtime/FieldLayout", "runtime/contended"),
    ),
    Group(
        "monitors and handshakes",
        "deflation, async handshakes, stack walks",
        (
            *below(
                "runtime/Monitor", "MonitorUnlinkBatchTest", "NonOwnerOps", "MonitorUsedDeflationThresholdTest"
            ),
            *below(
                "runtime/handshake",
                "AsyncHandshakeWalkStackTest",
                "HandshakeDirectTest",
                "HandshakeWalkExitTest",
                "HandshakeWalkStackTest",
                "MixedHandshakeWalkStackTest",
            ),
        ),
    ),
    Group(
        "class-data sharing",
        "archived objects are in the heap before any allocation",
        (
            *below(
                "runtime/cds/appcds/cacheObject",
                "ArchivedIntegerCacheTest",
                "CheckCachedMirrorTest",
                "DifferentHeapSizes",
                "GCStressTest",
                "HeapFragmentationTest",
                "OpenArchiveRegion",
                "PrimitiveTypesTest",
                "VerifyArchivedFields",
            ),
            "runtime/stringtable",
            "runtime/interned",
            *below(
                "runtime/cds/appcds/sharedStrings",
                "ExerciseGC",
                "InternSharedString",
                "LockSharedStrings",
                "SharedStringsBasic",
                "SharedStringsHumongous",
                "SharedStringsWbTest",
            ),
        ),
    ),
    Group(
        "errors",
        "OutOfMemoryError and crashes end as without the patch",
        (
            *below(
                "runtime/ErrorHandling",
                "TestCrashOnOutOfMemoryError",
                "TestExitOnOutOfMemoryError",
                "TestOnOutOfMemoryError",
            ),
            *below("runtime/Throwable", "TestCatchThrowableOOM", "TestThrowable"),
        ),
    ),
    Group(
        "redefinition",
        "methods that sites name are replaced",
        (
            *below(
                "serviceability/jvmti/RedefineClasses",
                "RedefineFinalizer",
                "RedefineInterfaceCall",
                "RedefineObject",
                "RedefinePreviousVersions",
                "RedefineRunningMethods",
                "RedefineRunningMethodsWithBacktrace",
                "TestAddDeleteMethods",
                "TestRedefineObject",
            ),
            "serviceability/jvmti/GetObjectSizeClass.java",
        ),
    ),
    Group(
        "redefinition of lambda forms",
        "as above, but with another collector: jtreg mixes up its class Agent and that of TestRedefineObject",
        ("serviceability/jvmti/RedefineClasses/TestLambdaFormRetransformation.java",),
        ("parallel",),
    ),
    Group(
        "array copies",
        "C2 removes copies of new arrays and brings them back",
        (
            "compiler/arraycopy/TestObjectArrayClone.java",
            *below(
                "compiler/arraycopy",
                "TestEliminatedArrayCopyDeopt",
                "TestArrayCopyMacro",
                "TestEliminatedArrayCopyPhi",
                "TestLoadBypassArrayCopy",
                "TestTightlyCoupledAllocationAssert",
                "TestDefaultMethodArrayCloneDeoptC2",
            ),
        ),
    ),
    Group(
        "boxes and strings",
        "allocations that C2 knows by name",
        ("compiler/eliminateAutobox", "compiler/stringopts"),
    ),
    Group(
        "barriers and C1",
        "stores beside the header's store",
        (
            "compiler/gcbarriers",
            *below(
                "compiler/c1",
                "Test6579789",
                "Test6756768",
                "Test6795465",
                "Test6849574",
                "Test7042153",
                "Test8004051",
                "TestArrayCopy",
                "TestLargeMonitorOffset",
                "TestUnresolvedFieldMain",
                "TestTooManyVirtualRegistersMain",
            ),
        ),
    ),
    Group(
        "other collectors",
        "with these every mark is the stock VM's",
        (
            *below("gc/epsilon", "TestHelloWorld", "TestAlwaysPretouch", "TestClasses"),
            "gc/z/TestSmallHeap.java",
            "gc/shenandoah/TestSmallHeap.java",
        ),
    ),
)

# Inside the folders above, but not run.
EXCLUDED = {
    "runtime/CompressedOops/UseCompressedOops.java": "starts a hundred JVMs",
}
EXCLUDED_AFTER_17 = {
    "runtime/handshake/HandshakeDirectTest.java": "needs a native library from JDK 21 on",
    "compiler/gcbarriers/TestMinMaxLongLoopBarrier.java": "of JDK 25: its `@run` line takes a later jtreg than "
    "Debian's 7.5; with the class's name in that line, by hand, it passes on 25-fastdebug",
}


def excluded(release):
    """{test: why} of those that are not run on a release, such as "17"."""
    return EXCLUDED if release == "17" else EXCLUDED | EXCLUDED_AFTER_17


# Some of each kind, in a few seconds each: what scripts/test runs.
SHORT = {
    "own": (
        "gc/g1/TestHumongousAllocNearlyFullRegion.java",
        "gc/g1/TestInvalidateArrayCopy.java",
        "gc/TestHumongousReferenceObject.java",
    ),
    "parallel": (
        "compiler/intrinsics/object",
        "compiler/allocation/TestAllocation.java",
        "runtime/ClassUnload/UnloadTest.java",
        "compiler/escapeAnalysis/TestEliminateAllocation.java",
    ),
    "serial": (
        "compiler/intrinsics/object",
        "compiler/uncommontrap/TestLockEliminatedAtDeopt.java",
        "runtime/Unsafe/AllocateInstance.java",
        "serviceability/dcmd/gc/ClassHistogramTest.java",
    ),
}

# Tests that fail without the patch, too, and why.
KNOWN = {}
# {scheme: {test: why}} of tests that fail because they ask for what the scheme changes on purpose.
CHANGED = {
    scheme: {
        "runtime/whitebox/TestWBDeflateIdleMonitors.java": "expects that hashCode() of a locked object "
        "inflates its monitor: here the object has had its hash since it was made, and none has to be stored"
    }
    for scheme in ("hash", "hash-eliminate")
}


def plan(words=(), short=False):
    """{collector: [tests]}, all of the list; only the named ones with `words`, which may be others, too."""
    if short:
        return {collector: list(tests) for collector, tests in SHORT.items()}
    result = {}
    for group in GROUPS:
        for collector in group.collectors:
            listed = [test for test in group.tests if not words]
            listed += [word for word in words if any(inside(word, test) for test in group.tests)]
            result.setdefault(collector, []).extend(test for test in listed if test not in result[collector])
    rest = [word for word in words if not any(word in tests for tests in result.values())]
    result["own"] += rest
    return {collector: tests for collector, tests in result.items() if tests}


def inside(test, folder):
    """Whether a test, by jtreg's name, is one of a listed file or folder."""
    file = test.partition("#")[0]
    return file == folder or file.startswith(folder + "/")


def group_of(test, collector):
    return next(
        (
            group
            for group in GROUPS
            if collector in group.collectors and any(inside(test, entry) for entry in group.tests)
        ),
        None,
    )
