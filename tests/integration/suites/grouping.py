# SPDX-License-Identifier: Apache-2.0
"""Every way to group or to cut a trace adds up to the same total: whole, rotated, attached late, by a share."""

import itertools

from judge.rotated import data_files
from judge.world import add, analyze_json, expect, run_traced
from suites.leaks import leaking_when_attached

OF_HEAP = ("class", "site", "app-site", "package", "tier", "thread", "age", "space")
OF_SITES = ("class", "site", "app-site", "package", "tier", "thread")
OF_LIFETIMES = ("class", "site", "app-site", "package", "tier")
FLAGS = ("-XX:+UseParallelGC", "-Xmx24m", "-Xmn8m")


def value(row, key):
    for part in key.split("."):
        row = row[part]
    return row or 0


def total(rows, key):
    return sum(value(row, key) for row in rows)


def groupings(fields):
    """Each field alone, all of them in both orders, and a few of two and three."""
    yield from fields
    yield ",".join(fields)
    yield ",".join(reversed(fields))
    for number, pair in enumerate(itertools.permutations(fields, 2)):
        if number % 9 == 0:
            yield ",".join(pair)


def adds_up(trace, words, rows_key, fields, keys):
    """The sums of the columns with these keys, which have to be exact."""
    whole = analyze_json(words[0], trace, *words[1:])[rows_key]
    expect(whole, f"{words}: no rows")
    for grouping in groupings(fields):
        rows = analyze_json(words[0], trace, *words[1:], "--group-by", grouping)[rows_key]
        for key in keys:
            expected, found = total(whole, key), total(rows, key)
            expect(expected == found, f"{words} by {grouping}: {key} {found}, not {expected}")


def windows_add_up(trace, words, rows_key, keys):
    """Of both sides of a collection in the middle."""
    ids = [gc["id"] for gc in analyze_json("gcs", trace)["gcs"]]
    middle = str(ids[len(ids) // 2])
    whole = analyze_json(words[0], trace, *words[1:])[rows_key]
    parts = [
        analyze_json(words[0], trace, *words[1:], *window)[rows_key]
        for window in (("--to", middle), ("--from", middle))
    ]
    for key in keys:
        expected, found = total(whole, key), sum(total(part, key) for part in parts)
        expect(expected == found, f"{words} at GC {middle}: {key} {found}, not {expected}")


LIFE = ("died_old.objects", "live.objects", "live.bytes", "copied.objects", "copied.bytes", "promoted.bytes")


def check(trace, estimated=False):
    exact = () if estimated else ("objects", "bytes")
    adds_up(trace, ("heap",), "rows", OF_HEAP, ("objects", "bytes"))
    adds_up(trace, ("heap", "--end"), "rows", OF_HEAP, ("objects", "bytes"))
    adds_up(trace, ("sites", "--live"), "sites", OF_SITES, (*exact, "live_objects", "live_bytes"))
    adds_up(trace, ("lifetimes",), "rows", OF_LIFETIMES, (*exact, *LIFE))
    windows_add_up(trace, ("heap", "--group-by", "class"), "rows", ("objects", "bytes"))
    windows_add_up(trace, ("lifetimes",), "rows", (*exact, *LIFE))
    info = analyze_json("info", trace)
    expect(info["in_tlabs"]["objects"] > 0, "nothing in the trace")
    # What lives is the same whoever counts it.
    heap = analyze_json("heap", trace, "--end")
    sites = analyze_json("sites", trace, "--live")["live"]
    expect((heap["objects"], heap["bytes"]) == (sites["objects"], sites["bytes"]), f"{heap['objects']} {sites}")
    lifetimes = analyze_json("lifetimes", trace)["rows"]
    expect(total(lifetimes, "live.objects") == heap["objects"], "lifetimes")
    if estimated:
        return
    timeline = analyze_json("timeline", trace)["intervals"]
    allocated = info["in_tlabs"]["bytes"] + info["outside_tlabs"]["bytes"]
    expect(total(timeline, "bytes") == allocated, f"timeline: {total(timeline, 'bytes')}, not {allocated}")


def of_leaking(meaning, options, estimated=False):
    def body(t):
        rounds = 20000 if "maxsize" in options else 6000
        trace, _ = run_traced(t, "Leaking", ("lru", rounds, 2000, 400), FLAGS, options, judged=False)
        if "maxsize" in options:
            expect(min(data_files(trace)) > 0, f"nothing was deleted: {list(data_files(trace))}")
        check(trace, estimated)

    add(f"Every grouping of a trace adds up to the same total: {meaning}", body)


of_leaking("whole", "")
of_leaking("rotated", ",maxsize=1M,dev=0.1")
of_leaking("rotated, with keep", ",maxsize=1M,dev=0.1,keep=yes")
of_leaking("a share was read", ",share=0.3", estimated=True)


def attached(t):
    check(leaking_when_attached(t, "lru", 20000))


add("Every grouping of a trace adds up to the same total: attached to late", attached)
