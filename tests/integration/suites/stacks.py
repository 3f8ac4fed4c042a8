# SPDX-License-Identifier: Apache-2.0
"""Sampled call stacks in traces of every object: on a program whose calls are known, callers are within the
sampling error, and all totals are exact."""

import math
import os
import re

from judge.world import ASK_SITES, HERE, analyze, analyze_json, expect, java_command, run, tail, test, verified

_ROUNDS = 40_000
_BYTES = {"alpha": 1000, "beta": 2000, "gamma": 5000}  # a round, by caller
_INTERVAL = 16 << 10


def _lines():
    with open(os.path.join(HERE, "java", "CallTree.java"), encoding="utf-8") as file:
        return {m[1]: number for number, line in enumerate(file, 1) if (m := re.search(r"// @(\w+)$", line))}


def _traced(t, *arguments, flags=("-XX:+UseParallelGC",), options=f"stacks={_INTERVAL}"):
    trace = t.path("trace")
    done = run(
        java_command("CallTree", list(arguments), ("-Xmx64m", *flags), f"file={trace},{options}"), cwd=t.folder
    )
    expect(
        done.returncode == 0 and done.stderr == "", f"java ended with {done.returncode}\n{tail(done.stderr)}"
    )
    verified(trace)
    return trace


def _children(report):
    """The rows by their path of calls, outermost first."""
    rows, path = {}, []
    for row in report["calls"]:
        path[row["depth"] - 1 :] = [row["call"]]
        rows[tuple(path)] = row
    return rows


def _by_caller(report):
    """What the site of make() allocated, by the method that called it."""
    sums = {}
    for path, row in _children(report).items():
        if path[-1] != "byte[]" or not path[-2].endswith(f"CallTree.java:{_lines()['make']})"):
            continue
        caller = path[-3] if len(path) > 2 else "<none>"
        sums[caller] = sums.get(caller, 0) + row["bytes"]
    return sums


def _check_callers(report, rounds):
    all_bytes = rounds * sum(_BYTES.values())
    sums = _by_caller(report)
    expect(sum(sums.values()) == all_bytes, f"{sums} are not {all_bytes} bytes")
    for caller, each in _BYTES.items():
        found = sum(
            n for name, n in sums.items() if name == f"CallTree.{caller}(CallTree.java:{_lines()[caller]})"
        )
        samples = all_bytes / _INTERVAL
        share, true = found / all_bytes, each / sum(_BYTES.values())
        sigma = math.sqrt(true * (1 - true) / samples)
        expect(
            abs(share - true) <= 5 * sigma + 0.002,
            f"{caller}: {share:.4f} of the bytes instead of {true:.4f}, {sums}",
        )


def _check(trace, rounds=2 * _ROUNDS):
    report = analyze_json("tree", trace)
    sites = analyze_json("sites", trace)
    for key in ("bytes", "objects"):
        top = sum(row[key] for row in report["calls"] if row["depth"] == 1)
        expect(report[key] == sites[key] == top, f"{key}: {report[key]}, sites {sites[key]}, calls {top}")
    _check_callers(report, rounds)
    return report


for _collector in ("Parallel", "Serial", "G1"):
    for _name, _flags in (
        ("", ()),
        (" in the interpreter", ("-Xint",)),
        (" in C1", ("-XX:TieredStopAtLevel=1",)),
    ):

        @test(f"Stacks: callers are within the sampling error, totals exact, with {_collector}{_name}")
        def _callers(t, collector=_collector, flags=_flags):
            report = _check(_traced(t, str(_ROUNDS), flags=(f"-XX:+Use{collector}GC", *flags)))
            rows = _children(report)
            roots = {path[0].split("(")[0] for path in rows if len(path) == 1}
            expect("java.lang.Thread.run" in roots and "CallTree.main" in roots, f"{roots}")


@test("Stacks: as many are taken as objects contain a sample point")
def _count(t):
    report = analyze_json("tree", _traced(t, str(_ROUNDS)))
    rounds = 2 * _ROUNDS
    small = report["bytes"] - rounds * sum(_BYTES.values())
    expected = small / _INTERVAL + sum(-rounds * math.expm1(-each / _INTERVAL) for each in _BYTES.values())
    taken = report["stacks"]
    expect(
        abs(taken - expected) < 5 * math.sqrt(expected) + 0.01 * expected,
        f"{taken} stacks, {expected:.0f} expected",
    )


@test("Stacks: collapsed stacks have the exact sum, and the reverse tree the sums of sites")
def _other_views(t):
    trace = _traced(t, str(_ROUNDS // 4))
    report = analyze_json("tree", trace)
    lines = analyze("tree", trace, "--collapsed").splitlines()
    expect(sum(int(line.rsplit(" ", 1)[1]) for line in lines) == report["bytes"], "collapsed stacks")
    sites = {}
    for row in analyze_json("sites", trace)["sites"]:
        sites[row["site"]] = sites.get(row["site"], 0) + row["bytes"]
    reverse = {
        row["call"]: row["bytes"]
        for row in analyze_json("tree", trace, "--reverse")["calls"]
        if row["depth"] == 1
    }
    expect({k: v for k, v in sites.items() if v} == reverse, "the reverse tree's first calls are the sites")


@test("Stacks: a site of the library is answered with the application's line, in its true share")
def _application(t):
    trace = _traced(t, str(_ROUNDS))
    rows = [r for r in analyze_json("sites", trace)["sites"] if r["class"] == "java.util.HashMap$Node"]
    rows = [r for r in rows if r["objects"] >= 2 * 4 * _ROUNDS * 0.5]
    expect(len(rows) == 1, f"{rows}")
    expect(rows[0]["application"] == f"CallTree.often(CallTree.java:{_lines()['often']})", f"{rows[0]}")
    # Where it is not known from what was inlined, by some 625 samples, so a standard error of 0.017.
    expect(abs(rows[0]["application_share"] - 0.75) < 0.09, f"{rows[0]}")


@test("Stacks: every table of sites has the application's line, also where nothing was inlined")
def _application_everywhere(t):
    trace = _traced(t, str(_ROUNDS // 4), flags=("-XX:+UseParallelGC", "-Xint"))
    often = f"CallTree.often(CallTree.java:{_lines()['often']})"
    for command, *arguments in (
        ("sites",),
        ("lifetimes",),
        ("diff", trace, "--all"),
        ("heap", "--by", "site", "--end"),
    ):
        report = analyze_json(command, trace, *arguments)
        rows = report["sites" if command == "sites" else "rows"]
        rows = [row for row in rows if row["site"].startswith("java.util.HashMap.newNode(")]
        expect(len(rows) == 1 and rows[0]["application"] == often, f"{command}: {rows}")
        # By some 160 samples, so a standard error of 0.035.
        expect(0.5 < rows[0]["application_share"] < 0.9, f"{command}: {rows}")


@test("Stacks: what lives of a library's site has the application's line, if there is an application")
def _application_live(t):
    report = analyze_json("heap", _traced(t, str(_ROUNDS)), "--by", "site", "--end")
    by_site = {row["site"]: row for row in report["rows"]}
    make = f"CallTree.make(CallTree.java:{_lines()['make']})"
    expect(by_site[make]["application"] == make, f"{by_site[make]}")
    tables = [row for site, row in by_site.items() if site.startswith("java.util.HashMap.resize(")]
    lines = [f"CallTree.{name}(CallTree.java:{_lines()[name]})" for name in ("often", "seldom")]
    expect(len(tables) == 1 and tables[0]["application"] in lines, f"{tables}")
    library = analyze_json("heap", t.path("trace"), "--by", "site", "--end", "--library", "CallTree")
    expect({row["application"] for row in library["rows"]} == {None}, "no frame is the application's")


@test("Stacks: what lies deeper than is recorded is called so, and the totals stay exact")
def _deep(t):
    trace = _traced(t, str(_ROUNDS // 4), "deep", flags=("-XX:+UseParallelGC", "-Xint"))
    report = _check(trace, _ROUNDS // 4)
    rows = _children(report)
    cut = [row for path, row in rows.items() if path == ("<frames that were not recorded>",)]
    expect(len(cut) == 1 and cut[0]["bytes"] > 0.99 * _ROUNDS // 4 * sum(_BYTES.values()), f"{cut}")
    expect(max(row["depth"] for row in report["calls"]) >= 512, "not as deep as recorded")


@test("Stacks: what was allocated while another agent sampled allocations gives none to later objects")
def _toggled(t):
    trace, times = t.path("trace"), 400
    flags = ("-XX:+UseParallelGC", "-Xmx64m", "-XX:TLABSize=64k", "-XX:-ResizeTLAB")
    flags = (*flags, "-Dnative.ask_sites=" + ASK_SITES)
    done = run(java_command("Toggled", (times,), flags, f"file={trace},stacks={_INTERVAL}"), cwd=t.folder)
    expect(done.returncode == 0, f"java ended with {done.returncode}: {tail(done.stderr)}")
    verified(trace)
    sites = analyze_json("sites", trace, "--where", "class=byte[]", "--top", "0")["sites"]
    (large,) = [row["site"] for row in sites if row["site"].startswith("Toggled.large(")]
    chosen = ("--where", "class=byte[]", "--where", f"site={large}")
    # One of each but for the few objects without a sample point; others' stacks would be 0.85 more of each.
    taken = analyze_json("tree", trace, *chosen)["stacks"]
    expect(0.95 * times <= taken <= times, f"{taken} stacks of {times} objects")


@test("Stacks: none on demand, and the tree says so")
def _off(t):
    trace = _traced(t, str(_ROUNDS // 10), options="stacks=0")
    report = analyze_json("tree", trace)
    expect(
        report["stacks"] == 0 and report["bytes"] == analyze_json("sites", trace)["bytes"],
        f"{report['stacks']}",
    )
    expect("no call stacks are in the trace" in analyze("tree", trace), "not told")


@test("Stacks: with whole TLABs, a budget, and in a rotated trace")
def _with_others(t):
    for name, options in (
        ("whole", "stretch=0"),
        ("share", "share=0.25"),
        ("rotated", "maxsize=2M,dev=0.2,compress=off"),
    ):
        folder = t.path(name)
        os.makedirs(folder)
        trace = os.path.join(folder, "trace")
        done = run(
            java_command(
                "CallTree",
                [str(_ROUNDS)],
                ("-Xmx64m", "-XX:+UseParallelGC"),
                f"file={trace},stacks={_INTERVAL},{options}",
            )
        )
        expect(done.returncode == 0, tail(done.stderr))
        verified(trace)
        if name == "whole":
            _check(trace)
            continue
        report = analyze_json("tree", trace)
        sums = _by_caller(report)
        total = sum(sums.values())
        for caller, each in _BYTES.items():
            share = sum(n for call, n in sums.items() if f"CallTree.{caller}(" in call) / total
            true = each / sum(_BYTES.values())
            expect(abs(share - true) < 0.05, f"{name}: {caller} has {share:.3f} instead of {true:.3f}")
