# SPDX-License-Identifier: Apache-2.0
"""Lifetimes by site add up, and agree with what a program does on purpose and with the collector's counts."""

import re

from judge.attached import Program
from judge.world import add, analyze, analyze_json, conclusive, expect, run, run_traced, test, verified
from judge.world import ANALYZER
from suites.attach import flags_of
from suites.exactness import COLLECTORS

FATES = ("died_young", "died_old", "live", "lost")


def lifetimes(trace, *options):
    report = analyze_json("lifetimes", trace, *options)
    ledger = report["ledger"]
    expect(ledger["balances"] and ledger["imbalances"] == 0, f"the ledger does not balance: {ledger}")
    return report


def each_row_adds_up(report):
    expect(report["rows"], "there are no rows")
    for row in report["rows"]:
        for unit in ("objects", "bytes"):
            fates = sum(row[fate][unit] for fate in FATES if fate in row)
            expect(row[unit] == fates, f"{row[unit]} {unit} came, {fates} died or live: {row}")
        if row["promoted"]["bytes"] is None:
            continue
        for less, more in (("promoted_then_dead", "promoted"), ("promoted_then_dead", "died_old")):
            expect(row[less]["bytes"] <= row[more]["bytes"], f"more {less} than {more}: {row}")


def by_row(rows):
    return {(row["site"], row["class"]): row for row in rows}


def agrees_with_sites(report, trace):
    """Allocated and live, row by row; what sync points listed and fillers have rows of their own here."""
    mine = by_row(report["rows"])
    allocated = 0
    for key, row in by_row(analyze_json("sites", trace, "--live")["sites"]).items():
        if row["objects"] == 0:
            continue
        allocated += 1
        for unit in ("objects", "bytes"):
            expect(mine[key][unit] == row[unit], f"{key}: {mine[key][unit]} {unit} here, {row[unit]} in sites")
            expect(mine[key]["live"][unit] <= row[f"live_{unit}"], f"{key}: more live here than in sites")
    expect(allocated == sum(row["promoted"]["bytes"] is not None for row in report["rows"]), "other rows")
    live = analyze_json("heap", trace, "--end")
    for unit in ("objects", "bytes"):
        here = sum(row["live"][unit] for row in report["rows"])
        expect(here == live[unit], f"{here} {unit} live here, {live[unit]} in heap --end")


def balanced(collector, program, arguments):
    def body(t):
        trace, _ = run_traced(
            t, program, arguments, (f"-XX:+Use{collector}GC", "-Xmx64m", "-Xmn6m"), judged=False
        )
        verified(trace)
        report = lifetimes(trace)
        gcs = analyze_json("gcs", trace)["gcs"]
        conclusive(len(gcs) > 2, "too few collections: the test tests nothing")
        ledger = report["ledger"]
        expect((ledger["checked"], ledger["unchecked"]) == (len(gcs) + 1, 0), f"not all was checked: {ledger}")
        each_row_adds_up(report)
        agrees_with_sites(report, trace)
        for unit in ("objects", "bytes"):
            moved = sum(gc["moved"][unit] for gc in gcs)
            stayed = sum(row["copied"][unit] for row in report["rows"])
            expect(
                stayed == report["copied"][unit], f"{stayed} {unit} copied in rows, {report['copied']} in all"
            )
            expect(stayed <= moved, f"{stayed} {unit} copied, {moved} moved")
        by_class = lifetimes(trace, "--by", "class")
        each_row_adds_up(by_class)
        for key in ("allocated", "before_trace", "copied", "promoted_then_dead", "pretenuring", "ledger"):
            expect(by_class[key] == report[key], f"{key} differs by class: {by_class[key]}")
        csv = analyze("lifetimes", trace, "--csv").splitlines()
        expect(len(csv) == len(report["rows"]) + 1, f"{len(csv)} lines of CSV")

    add(f"With {collector} what {program} allocates at each site died young, died old, or lives, exactly", body)


for each in COLLECTORS:
    balanced(each, "Mix", (60_000,))
    balanced(each, "FastAllocation", (300_000,))

# Premature.java makes so many of each, of 32 bytes, and a large array.
BRIEF, KEPT, LONG, SIZE, LARGE = 700, 1_100, 1_300, 32, (13 << 20) + 16
THRESHOLD = 2


def premature(collector, collections):
    promoted = collections > THRESHOLD

    def body(t):
        flags = (f"-XX:+Use{collector}GC", "-Xmx96m", "-Xmn16m", "-XX:-UseAdaptiveSizePolicy")
        # With one worker no buffer's end is left that would fill the survivor space.
        tenuring = (
            "-XX:ParallelGCThreads=1",
            f"-XX:MaxTenuringThreshold={THRESHOLD}",
            f"-XX:InitialTenuringThreshold={THRESHOLD}",
        )
        trace, _ = run_traced(t, "Premature", (collections,), (*flags, *tenuring), judged=False)
        verified(trace)
        made = [row for row in lifetimes(trace)["rows"] if row["site"].startswith("Premature.make")]
        rows = {"large" if row["bytes"] == LARGE else row["class"]: row for row in made}

        def check(name, key, count, size=SIZE):
            got, wanted = rows[name][key], {"objects": count, "bytes": count * size}
            expect(got == wanted, f"{name}: {key} is {got}, not {wanted}: {rows[name]}")

        for name, count in (("Brief", BRIEF), ("Kept", KEPT), ("Long", LONG)):
            row = rows[f"Premature${name}"]
            expect((row["objects"], row["bytes"]) == (count, count * SIZE), f"not {count} of {SIZE}: {row}")
        # One collection copies those that are still held, and they die before the next one.
        check("Premature$Brief", "copied", BRIEF)
        check("Premature$Brief", "died_young", BRIEF)
        check("Premature$Brief", "promoted_then_dead", 0)
        # A copy at each young collection, the last one into the old space.
        check("Premature$Kept", "copied", KEPT * min(collections, THRESHOLD + 1))
        check("Premature$Kept", "promoted", KEPT * promoted)
        check("Premature$Kept", "promoted_then_dead", KEPT * promoted)
        check("Premature$Kept", "died_old", KEPT * promoted)
        check("Premature$Kept", "died_young", KEPT * (not promoted))
        saves = rows["Premature$Kept"]["pretenuring_saves"]["bytes"]
        expect(saves == (KEPT * SIZE * (THRESHOLD + 1) if promoted else None), f"pretenuring saves {saves}")
        check("Premature$Long", "live", LONG)
        check("Premature$Long", "promoted_then_dead", 0)
        check("large", "died_old", 1, LARGE)
        check("large", "promoted", 0)
        check("large", "promoted_then_dead", 0)

    add(
        f"With {collector} what is dropped after {collections} young collections "
        f"{'was promoted in vain' if promoted else 'dies young'}, to the byte",
        body,
    )


for each in COLLECTORS:
    premature(each, 2)
    premature(each, 4)


def spaces(lines):
    """Used bytes by space, of one "Heap before" or "Heap after" of Serial or Parallel."""
    used = {}
    for line in lines:
        match = re.search(r" (eden|from|to|the|object) +space .*\[(0x\w+), ?(0x\w+),", line)
        if match:
            used[match[1]] = int(match[3], 16) - int(match[2], 16)
    return used


def grown(log):
    """By how much the survivors' and the old space grew in young collections, in bytes: what came into them."""
    total, count, block, before = 0, 0, None, None
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines):
        if "heap before gc" in line.lower() or "heap after gc" in line.lower():
            used = spaces(lines[number : number + 10])
            old = used.get("the", used.get("object"))
            if "before" in line.lower():
                before = old
            else:
                expect(used["eden"] == 0 and used["to"] == 0, f"not a young collection: {line} {used}")
                total += used["from"] + old - before
                count += 1
    return total, count


def copied_by_g1(log):
    with open(log, encoding="utf-8") as file:
        sums = [int(n) for n in re.findall(r"Copied Bytes:? .* Sum: (\d+),", file.read())]
    return sum(sums), len(sums)


def copy_bill(collector):
    def body(t):
        log = t.path("gc.log")
        flags = (f"-XX:+Use{collector}GC", "-Xmx512m", "-Xmn16m", f"-Xlog:gc*=debug:file={log}")
        trace, _ = run_traced(t, "Survivors", (), flags, judged=False)
        verified(trace)
        gcs = analyze_json("gcs", trace)["gcs"]
        expect({gc["kind"] for gc in gcs} == {"young"}, "there were other collections than young ones")
        bill = lifetimes(trace)["copied"]["bytes"]
        fillers = sum(gc["fillers"]["bytes"] for gc in gcs)
        theirs, count = (copied_by_g1 if collector == "G1" else grown)(log)
        expect(count == len(gcs) > 3, f"{count} collections in the log, {len(gcs)} in the trace")
        if collector == "Serial":
            expect(fillers == 0, f"Serial has no buffers that it could leave {fillers} bytes of")
        if collector == "Parallel":  # what is left of the workers' buffers is covered with fillers
            conclusive(fillers > 0, "no buffer was left: the test tests nothing")
            theirs -= fillers
        expect(bill == theirs > 1 << 20, f"{bill} bytes copied, the collector says {theirs}")

    add(f"The bytes that {collector} copied are those that it counts itself", body)


for each in COLLECTORS:
    copy_bill(each)


@test("Lifetimes of a rotated trace whose front is gone add up, with a row for what was there before")
def rotated(t):
    trace, _ = run_traced(
        t,
        "FastAllocation",
        (6_000_000, 2),
        ("-XX:+UseParallelGC", "-Xmx64m", "-Xmn16m"),
        ",maxsize=4M",
        judged=False,
    )
    conclusive(analyze_json("info", trace)["counters"]["files"] > 3, "too few files: the test tests nothing")
    report = lifetimes(trace)
    each_row_adds_up(report)
    expect(report["before_trace"]["objects"] > 0, "nothing is from before the trace")
    expect(report["ledger"]["unchecked"] == 0, f"not all was checked: {report['ledger']}")


@test("Lifetimes of a trace that began late add up, with a row for what was there before")
def attached(t):
    trace = t.path("trace")
    with Program(t, flags_of("Parallel")) as program:
        program.attach(f"file={trace}")
        program.tell("both")
        program.tell("both")
        program.end()
    report = lifetimes(trace)
    each_row_adds_up(report)
    before = next(row for row in report["rows"] if row["site"] == "<before trace>")
    expect(before["died_old"]["objects"] + before["live"]["objects"] > 1000, f"{before}")
    expect(before["promoted"]["bytes"] is None, f"it is not known what was promoted: {before}")


@test("Lifetimes with a budget: what collections see is exact, the rest is an estimate that says so")
def budget(t):
    flags = ("-XX:+UseSerialGC", "-Xmx64m", "-Xmn16m")
    whole, _ = run_traced(t, "FastAllocation", (300_000, 1), flags, judged=False)
    full = lifetimes(whole)
    each_row_adds_up(full)
    t.clear()
    trace, _ = run_traced(t, "FastAllocation", (300_000, 1), flags, ",share=0.25", judged=False)
    report = lifetimes(trace)
    expect(report["estimated"] and "estimated" not in full, "the estimate is not marked")
    ledger = report["ledger"]
    expect(ledger["unchecked"] == 0, f"not all was checked: {ledger}")
    wide = 0
    for row in report["rows"]:
        for key in (row, row["died_young"]):
            for unit in ("objects", "bytes"):
                low, high = key[f"{unit}_low"], key[f"{unit}_high"]
                expect(low <= key[unit] <= high, f"{low} {key[unit]} {high}: {row}")
                wide += low < high
    expect(wide > 20, "hardly anything has an interval")
    made, about = full["allocated"], report["allocated"]
    expect(about["bytes_low"] <= made["bytes"] <= about["bytes_high"], f"{made} made, {about} estimated")


@test("Lifetimes of samples are refused in one sentence")
def samples(t):
    trace, _ = run_traced(t, "FastAllocation", (30_000, 1), options=",mode=sample", judged=False)
    done = run([ANALYZER, "lifetimes", trace])
    expect(done.returncode == 2 and done.stdout == "", f"{done.returncode}: {done.stdout}")
    expect(done.stderr.count("\n") == 1 and "lifetimes follow every object" in done.stderr, done.stderr)
