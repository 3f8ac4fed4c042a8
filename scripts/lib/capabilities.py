# SPDX-License-Identifier: Apache-2.0
"""What each technique can tell, as figure 1 of "Building Custom, Efficient, and Accurate Memory Monitoring
Tools for Java Applications" asks, and the tests that prove it."""

COLUMNS = ("heap dumps", "instrumentation", "sampling", "AntTracks")

DUMPS = "A heap dump tells of live objects, their classes, fields and references, and of nothing else"
SAME_DUMP = "The heap dump sampler's histogram is that of the dump it keeps"
AFTER = "The heap dump sampler dumps after a collection, but not after its own"
COUNTS = "Instrumentation counts every allocation of every line, with its bytes"
DEATHS = "Instrumentation sees the objects that a collection freed, and no others"
DRAG = "Instrumentation's drag is that from the last use"
INSTRUMENTED = (
    "The report of instrumentation tells of classes, stacks, bytes, deaths and last uses, and of nothing else"
)
SAMPLED = "A sampled trace tells of classes, stacks, bytes, threads and deaths of samples, and of nothing else"
TRACED = "A trace tells of everything but references and uses"
EXACT = "The rebuilt heap is exact for one thread that makes a bit of everything"
SITES = "Every object's site is the true line in all tiers together"
COLLECTS = "Only instrumentation that is asked to, and dumps of live objects, make the VM collect"
STOCK = "Dumps, instrumentation and sampling run on a stock JVM, a trace does not"

# Information: (cell, test) for each column, and what the paper has for its sampling (dumps), instrumentation,
# AntTracks.
ROWS = {
    "object allocations": (
        (("some", AFTER), ("bytecode's", COUNTS), ("some, estimated", SAMPLED), ("all", EXACT)),
        "some, all, all",
    ),
    "size": ((("of fields", DUMPS), ("all", COUNTS), ("of samples", SAMPLED), ("all", EXACT)), "all, all, all"),
    "type": ((("all", SAME_DUMP), ("all", COUNTS), ("of samples", SAMPLED), ("all", EXACT)), "all, all, all"),
    "pointers": (
        (("all", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("none", TRACED)),
        "all, none, all",
    ),
    "allocation site": (
        (("none", DUMPS), ("all", COUNTS), ("of samples", SAMPLED), ("all", SITES)),
        "none, all, all",
    ),
    "call stacks": (
        (("none", DUMPS), ("all, at a price", INSTRUMENTED), ("of samples", SAMPLED), ("of samples", TRACED)),
        "",
    ),
    "address": (
        (("at a dump", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", EXACT)),
        "none, none, all",
    ),
    "allocating subsystem": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", SITES)),
        "none, none, all",
    ),
    "object deaths": (
        (("some", DUMPS), ("all", DEATHS), ("of samples", SAMPLED), ("all", EXACT)),
        "some, all, all",
    ),
    "time unreachable": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("none", TRACED)),
        "none, none, none",
    ),
    "time of the last use": ((("none", DUMPS), ("all", DRAG), ("none", SAMPLED), ("none", TRACED)), ""),
    "time collected": (
        (("some", DUMPS), ("all", DEATHS), ("of samples", SAMPLED), ("all", TRACED)),
        "some, all, all",
    ),
    "liveness from GC": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", EXACT)),
        "none, none, all",
    ),
    "object lifecycle": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", EXACT)),
        "none, none, all",
    ),
    "object movements": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", TRACED)),
        "none, none, all",
    ),
    "heap structure": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("all", TRACED)),
        "none, none, all",
    ),
    "method entries and exits": (
        (("none", DUMPS), ("none", INSTRUMENTED), ("none", SAMPLED), ("none", TRACED)),
        "none, none, none",
    ),
    "temporal ordering": (
        (("all", AFTER), ("none", INSTRUMENTED), ("all", SAMPLED), ("by collection", TRACED)),
        "all, some, some",
    ),
    "explicit GCs triggered": (
        (("one a dump", COLLECTS), ("none", COLLECTS), ("none", COLLECTS), ("none", COLLECTS)),
        "none, none, none",
    ),
    "arbitrary VMs": (
        (("all", STOCK), ("Java 17", STOCK), ("JVM TI 11", STOCK), ("patched", STOCK)),
        "all, some, none",
    ),
}


def tests():
    """The names of all tests that prove something."""
    return sorted({test for cells, _ in ROWS.values() for _, test in cells})


def table():
    number = {test: i + 1 for i, test in enumerate(tests())}
    lines = [
        "Sampling is `mode=sample` of the same agent on a stock JVM. "
        "The small numbers are the integration tests that prove the cell.",
        "",
        "| information | " + " | ".join(COLUMNS) + " | paper: dumps, instrumentation, AntTracks |",
        "|---|" + "---|" * (len(COLUMNS) + 1),
    ]
    for information, (cells, paper) in ROWS.items():
        lines.append(
            f"| {information} | "
            + " | ".join(f"{value} <sub>{number[test]}</sub>" for value, test in cells)
            + f" | {paper} |"
        )
    return lines + [""] + [f"{i}. {test}" for test, i in number.items()]
