# SPDX-License-Identifier: Apache-2.0
"""Rotated traces with keep=yes: what deleted files knew of live objects is still known."""

import os
import shutil
import threading

from judge.rotated import SizeWatch, data_files
from judge.world import add, analyze_json, conclusive, expect, run_traced, tail, verified

PARALLEL = "-XX:+UseParallelGC"
MB = 1 << 20


class WholeTrace:
    """Hard links of all data files of a trace that ever were, in a folder of their own;
    the symbols file at the end."""

    def __init__(self, trace, folder):
        self.trace, self.folder = trace, folder
        self.path = os.path.join(folder, os.path.basename(trace))
        self._linked, self._ended = set(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        os.mkdir(folder)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        self._ended.set()
        self._thread.join()
        self._link()
        if kind is None:
            shutil.copyfile(self.trace, self.path)
            files = list(data_files(self.path))
            expect(files == list(range(len(files))), f"the watch missed data files: it has {files}")

    def _link(self):
        for index, path in data_files(self.trace).items():
            if index in self._linked:
                continue
            try:
                os.link(path, f"{self.path}.{index}")
                self._linked.add(index)
            except FileNotFoundError:
                pass

    def _watch(self):
        while not self._ended.wait(0.002):
            self._link()


def rows(trace, by, *arguments):
    """{(key, objects, bytes)} of the heap after the last collection."""
    heap = analyze_json("heap", trace, "--by", by, "--top", "0", *arguments)
    expect(heap["exact"], f"the heap of {trace} is not known: {heap['gc']}")
    return {(row[by], row["objects"], row["bytes"]) for row in heap["rows"]}


def check_same_heap(whole, kept):
    for by in ("thread", "age", "site", "class"):
        expected, found = rows(whole, by), rows(kept, by)
        expect(
            expected == found,
            f"heap --by {by}: only in the whole trace {sorted(expected - found)[:8]}, "
            f"only in what is left {sorted(found - expected)[:8]}",
        )
    threads = {key for key, _, _ in rows(kept, "thread")}
    conclusive(sum(key.startswith("keeps-") for key in threads) > 2, f"too few threads: {threads}")
    ages = {key for key, _, _ in rows(kept, "age")}
    conclusive(len(ages) > 5, f"too few ages: {ages}")


def quality_of_gcs(trace):
    return {
        row["gc"]: row
        for row in analyze_json("quality", trace)["rows"]
        if row["gc"] is not None and row["known"]
    }


def unknown(row):
    """Objects of which something is not known. Objects that are new since a collection are known,
    and change nothing."""
    return {column: row["objects"] - row[column] for column in ("complete", "with_thread", "with_time")}


def check_same_quality(whole, kept):
    """At each collection that both know; at the first sync point as after the last collection before its
    end."""
    expected, found = quality_of_gcs(whole), quality_of_gcs(kept)
    expect(found, "no collection is known")
    for gc, row in found.items():
        expect(row == expected[gc], f"quality after GC {gc}: {row}, the whole trace says {expected[gc]}")
    rows_ = analyze_json("quality", kept)["rows"]
    at = next(i for i, row in enumerate(rows_) if row["kind"] == "sync point")
    # Numbers have gaps: Serial begins a young collection, sees that the old space might not hold what
    # survives, and makes a full one, with the next number, instead.
    last = rows_[at - 1]["gc"] if at > 0 else max(gc for gc in expected if gc < min(found))
    sync, before = rows_[at], expected[last]
    expect(sync["known"] and 0 < sync["with_thread"] <= sync["with_time"], f"first sync point: {sync}")
    expect(
        unknown(sync) == unknown(before),
        f"unknown at the first sync point {unknown(sync)}, {unknown(before)} in the whole trace",
    )


def lost_without_provenance(test, trace, whole):
    """That the test tests something: without the provenance file the same data files know less."""
    bare = test.path("bare")
    os.mkdir(bare)
    for path in (trace, *data_files(trace).values()):
        os.link(path, os.path.join(bare, os.path.basename(path)))
    bare_trace = os.path.join(bare, os.path.basename(trace))
    before = [row for row in rows(bare_trace, "thread") if row[0] == "<before trace>"]
    expect(
        before and before[0] not in rows(whole, "thread"), f"nothing would be lost without provenance: {before}"
    )


def check_kept(test, trace, whole):
    counters = analyze_json("info", trace)["counters"]
    first = min(data_files(trace))
    conclusive(first > 1, f"data files {list(data_files(trace))}: too few were deleted, the test tests nothing")
    expect(counters["provenance_files"] >= first and counters["lost_provenance"] == 0, f"counters {counters}")
    expect(counters["provenance_ns"] > 0, "it costs something")
    expect(
        os.path.exists(f"{trace}.{first}.origins"),
        f"no provenance file of the first file: {sorted(os.listdir(test.folder))}",
    )
    left = [name for name in os.listdir(test.folder) if ".tmp" in name]
    expect(not left, f"left over: {left}")
    for name in os.listdir(test.folder):
        if name.endswith(".origins"):
            expect(os.path.exists(test.path(name[: -len(".origins")])), f"{name} outlived its data file")
    verified(trace)
    check_same_heap(whole, trace)
    check_same_quality(whole, trace)
    lost_without_provenance(test, trace, whole)


def keeps(name, main, arguments, flags, size, dev=0.1, slow=False, collector=PARALLEL):
    def body(test):
        trace = test.path("trace")
        with WholeTrace(trace, test.path("whole")) as whole, SizeWatch(trace, size + int(size * dev)):
            _, done = run_traced(
                test,
                main,
                arguments,
                [collector, *flags],
                f",maxsize={size // 1024}K,dev={dev},keep=yes",
                judged=False,
            )
        expect(done.stderr == "", f"stderr: {tail(done.stderr)}")
        verified(whole.path)
        check_kept(test, trace, whole.path)

    add("With keep=yes thread and time of live objects survive the files that knew them, " + name, body, slow)


WINDOWS = ("Windows", (6, 2_600_000, 20_000), ("-Xmx32m", "-Xmn4m"))
keeps("for threads that keep windows of objects", *WINDOWS, 14 * MB)
keeps("with G1, which moves old objects, too", *WINDOWS, 14 * MB, collector="-XX:+UseG1GC")
keeps("with Serial", *WINDOWS, 14 * MB, slow=True, collector="-XX:+UseSerialGC")
keeps("in four files", *WINDOWS, 12 * MB, 0.25, slow=True)
keeps(
    "when full collections move everything and interrupt sync points",
    "Windows",
    (6, 2_000_000, 20_000, 150),
    ("-Xmx32m", "-Xmn4m"),
    12 * MB,
)
