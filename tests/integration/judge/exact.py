# SPDX-License-Identifier: Apache-2.0
"""Compares the heap rebuilt from a trace with what the JVM wrote down itself. No difference is allowed."""

import glob
import os

from . import histogram, hprof
from .world import Failure, analyze, analyze_json, expect, jdk_release, verified

HISTOGRAM_CAUSE = "Heap Inspection Initiated GC"
DUMP_CAUSE = "Heap Dump Initiated GC"
# What HotSpot fills gaps with, from JDK 21 on. In a dump the array is one of int, as it has ints.
FILLER_ARRAY, FILLER_OBJECT = "jdk.internal.vm.FillerElement[]", "jdk.internal.vm.FillerObject"
FILLERS_IN_DUMPS = ("int[]", FILLER_OBJECT if jdk_release() >= 21 else "java.lang.Object")
_SHOWN = 12
_LAST = 3


def show(lines):
    lines = sorted(lines)
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join("  " + line for line in lines[:_SHOWN] + more)


def rebuilt_objects(trace, gc=None):
    """address -> (class, bytes, site), after a collection, or at the end of the trace"""
    objects = {}
    when = ("--end",) if gc is None else ("--gc", str(gc))
    for line in analyze("heap", trace, *when, "--objects").splitlines():
        address, name, size, site = line.split("\t")
        expect(int(address, 16) not in objects, f"two objects at {address}")
        objects[int(address, 16)] = (name, int(size), site)
    return objects


def rebuilt_classes(trace, gc):
    heap = analyze_json("heap", trace, "--gc", str(gc), "--by", "class", "--top", "0")
    expect(
        heap["gc"] == gc and heap["exact"], f"not the exact heap after GC {gc}: {heap['gc']}, {heap['exact']}"
    )
    return {row["class"]: (row["objects"], row["bytes"]) for row in heap["rows"]}


def class_differences(rebuilt, jvm):
    return [
        f"{name}: rebuilt {rebuilt.get(name, (0, 0))}, JVM {jvm.get(name, (0, 0))} (objects, bytes)"
        for name in set(rebuilt) | set(jvm)
        if rebuilt.get(name) != jvm.get(name)
    ]


def sum_classes(objects):
    classes = {}
    for name, size, _ in objects.values():
        count, total = classes.get(name, (0, 0))
        classes[name] = (count + 1, total + size)
    return classes


def dump_differences(objects, dump, fillers=frozenset()):
    """Every object of the dump is rebuilt with its class, and nothing else,
    but for mirrors of unlinked classes. fillers: addresses of the dump that need not be rebuilt."""
    lines = []
    for address, (name, _) in dump.objects.items():
        mine = objects.get(address)
        if mine is None and address in fillers:
            continue
        if mine is None:
            lines.append(f"{address:#x} {name}: only in the JVM's dump")
        elif mine[0] != name and (mine[0], name) != (FILLER_ARRAY, "int[]"):
            lines.append(f"{address:#x}: rebuilt as {mine[0]}, in the dump {name}")
    for address in dump.mirrors:
        mine = objects.get(address)
        if mine is None or mine[0] != "java.lang.Class":
            lines.append(f"{address:#x} java.lang.Class: {mine and mine[0]} in the rebuilt heap")
    for address, (name, size, site) in objects.items():
        if address not in dump.objects and address not in dump.mirrors and name != "java.lang.Class":
            lines.append(f"{address:#x} {name}, {size} bytes, {site}: only in the rebuilt heap")
    return lines


def tells_fillers(trace, held=False):
    """Whether the trace has all fillers that the JVM shows. Those of G1 are not told; before JDK 21 its
    histograms and dumps show only those that another agent holds."""
    return not uses_g1(trace) or (jdk_release() < 21 and not held)


def uses_g1(trace):
    """Where no flag chooses the collector the JVM does, which takes Serial on a small machine."""
    flags = analyze_json("info", trace)["vm_flags"]
    if "-XX:+UseG1GC" in flags or "-XX:+UseParallelGC" in flags or "-XX:+UseSerialGC" in flags:
        return "-XX:+UseG1GC" in flags
    young = [gc["cause"] for gc in analyze_json("gcs", trace)["gcs"] if gc["kind"] == "young"]
    return not young or any(cause.startswith("G1") for cause in young)


def fillers_of(dump, objects, path, held):
    """Objects of the dump alone that can only be fillers: of such a class, and nothing refers to them; if held
    is true, nothing but perhaps an agent."""
    suspects = {
        address
        for address, (name, _) in dump.objects.items()
        if address not in objects and name in FILLERS_IN_DUMPS
    }
    return suspects - hprof.referenced(path, suspects, roots=not held) if suspects else suspects


def _numbered(folder, pattern):
    paths = glob.glob(os.path.join(folder, pattern.replace("N", "*")))
    return [os.path.join(folder, pattern.replace("N", str(i))) for i in range(len(paths))]


def judge(folder, trace, keep=False, held=False):
    """Compares every histogram and dump in the folder with the rebuilt heap of its collection;
    returns their number.

    keep: the files stay, otherwise those without a difference are removed. held: another agent holds objects
    that it has met in a walk over the heap, perhaps fillers."""
    return _judge(folder, trace, keep, of_all=True, held=held)


def judge_rotated(folder, trace, keep=False, held=False):
    """The same for those whose collection is in the data files that are left, behind the first complete sync
    point; of many the last three histograms and dumps.

    The trace must have its end, since what the JVM wrote down last belongs to the last collections."""
    return _judge(folder, trace, keep, of_all=False, held=held)


def _judge(folder, trace, keep, of_all, held):
    verified(trace)
    full = [gc for gc in analyze_json("gcs", trace)["gcs"] if gc["kind"] == "full"]
    histograms, dumps = _numbered(folder, "histogram-N.txt"), _numbered(folder, "dump-N.hprof")
    expect(histograms or dumps, "the program had the JVM write nothing down")
    compared = 0
    for paths, cause, compare in (
        (histograms, HISTOGRAM_CAUSE, _compare_histogram),
        (dumps, DUMP_CAUSE, _compare_dump),
    ):
        gcs = [gc for gc in full if gc["cause"] == cause]
        fits = len(gcs) == len(paths) if of_all else len(gcs) <= len(paths)
        expect(
            fits, f"{len(paths)} files of the JVM, but full GCs {[gc['id'] for gc in gcs]} with cause {cause}"
        )
        pairs = list(zip(paths[len(paths) - len(gcs) :], gcs))
        if not of_all:
            pairs = [(path, gc) for path, gc in pairs if gc["exact"]][-_LAST:]
        for path, gc in pairs:
            lines = compare(trace, gc["id"], path, held)
            if lines:
                raise Failure(
                    f"{len(lines)} differences between {os.path.basename(path)} and GC {gc['id']}:\n"
                    f"{show(lines)}"
                )
            compared += 1
            if not keep:
                os.remove(path)
    return compared


def _compare_histogram(trace, gc, path, held):
    rebuilt = rebuilt_classes(trace, gc)
    with open(path, encoding="utf-8") as file:
        jvm = histogram.parse(file.read())
    untold = () if tells_fillers(trace, held) else (FILLER_ARRAY, FILLER_OBJECT)
    if untold and jdk_release() < 21:  # fillers have no classes of their own; dumps are compared by address
        untold = ("int[]", "java.lang.Object")
    for name in untold:
        jvm.pop(name, None)
        rebuilt.pop(name, None)
    return class_differences(rebuilt, jvm)


def _compare_dump(trace, gc, path, held):
    objects, dump = rebuilt_objects(trace, gc), hprof.read(path)
    fillers = frozenset() if tells_fillers(trace, held) else fillers_of(dump, objects, path, held)
    return dump_differences(objects, dump, fillers) + class_differences(
        rebuilt_classes(trace, gc), sum_classes(objects)
    )
