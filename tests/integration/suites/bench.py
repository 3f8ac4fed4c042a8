# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: what it plans, measures, compares and writes."""

import copy
import json
import os

import bench_collectors
import bench_goals
import bench_page
import bench_plan
import bench_results
import workloads
from judge.world import ROOT, expect, run, tail, test

BENCH = os.path.join(ROOT, "scripts", "bench")
COUNTERS = ("objects", "bytes", "raw_bytes", "stored_bytes", "walk_ns", "compress_ns", "write_ns", "blocked_ns", "queue_high_water_bytes",
            "chunks", "compressed_chunks", "collections", "sync_points", "sync_pause_ns", "requested_collections", "files", "lost_bytes",
            "dropped_bytes", "folded_files", "unfolded_files", "fold_cpu_ns")


def one(key, number):
    """Values of a run as bench_run gives them; all a bit different."""
    wall = 100.0 + number
    values = {"wall_ms": wall, "gc_ms": 10.0, "pauses": 5, "cpu_s": 1.0, "elapsed_s": 2.0, "checksum": "1"}
    configuration = bench_plan.CONFIGURATIONS[key]
    if configuration.options:
        values["stats"] = {name: 1_000_000 for name in COUNTERS} | {"collections": 10, "sync_points": 3, "sync_pause_ns": 0,
                                                                     "requested_collections": 0, "stored_bytes": 500_000, "files": 3}
        row = {name: 50 for name in ("with_site", "complete")} | {"objects": 100, "known": True}
        side = {"raw_bytes": 100, "stored_bytes": 50, "ns_per_byte": 1.0}
        values["inside"] = {"bytes_per_gc": 1000.0, "bytes_per_sync": 5000.0, "live_objects": 5000.0, "bytes_per_live": 1.0,
                            "quality": [row] * 3, "compression": {"threads": side, "collector": side}}
    if key == "dumps":
        values["dumps"] = 3
    return values


def made_up():
    """Results of everything."""
    data = {"where": {"machine": "a machine", "patched": "17+p", "stock": "17+s"}, "studies": {}}
    settings = {"runs": 3, "iterations": 2, "warmup": 1, "date": "2000-01-01"}
    for name, study in bench_plan.STUDIES.items():
        for workload in study.workloads:
            by = {c: [one(c, i) for i in range(3)] for c in study.configurations}
            data["studies"].setdefault(name, {})[workload] = {"settings": settings, "summary": bench_results.summary(study.base, by), "runs": by}
    return data


def slowed(data, study, workload, configuration, value, times):
    entry = data["studies"][study][workload]
    for values in entry["runs"][configuration]:
        values[value] *= times
    entry["summary"] = bench_results.summary(bench_plan.STUDIES[study].base, entry["runs"])


@test("scripts/bench measures a workload of a study, and keeps every value")
def measures(t):
    done = run([BENCH, "cost", "allocate", "--runs", "2", "--iterations", "1", "--warmup", "0", "--out", t.folder])
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}")
    expect("min left" in done.stderr and "nothing was measured of rotation, techniques" in done.stderr, tail(done.stderr))
    data = bench_results.load(t.folder)
    entry = data["studies"]["cost"]["allocate"]
    expect(set(entry["runs"]) == {"stock", "patched", "traced"} and all(len(r) == 2 for r in entry["runs"].values()), f"{list(entry['runs'])}")
    for name, values in entry["summary"].items():
        expect(f"| {name} | {values['wall_ms']['median']:.0f} (" in done.stdout, f"{name} is not in the table: {done.stdout}")
        expect(values["wall_ms"]["lowest"] <= values["wall_ms"]["median"] <= values["wall_ms"]["highest"], f"{name}: {values}")
    expect(entry["runs"]["traced"][0]["stats"]["objects"] > 1_000_000, f"{entry['runs']['traced'][0]['stats']}")
    expect(not os.path.exists(os.path.join(t.folder, "run")) and os.listdir(t.folder) == [bench_results.NAME], f"left: {os.listdir(t.folder)}")


@test("scripts/bench takes names of studies, workloads and configurations, and nothing else")
def plans(t):
    everything = bench_plan.plan([])
    expect([step[0] for step in everything] == list(bench_plan.STUDIES), f"{everything}")
    expect(everything[0][1] == tuple(workloads.WORKLOADS), "the study of costs is not of all workloads")
    expect(bench_plan.plan(["javac", "wide"]) == [("rotation", ("javac",), ("traced", "wide"))], f"{bench_plan.plan(['javac', 'wide'])}")
    expect(bench_plan.plan(["techniques", "leak"])[0][1] == ("leak",), "a workload of another study that is named with it")
    for words, message in ((["frobnicate"], "frobnicate"), (["leak", "wide"], "name the study"), (["--runs", "0", "cost"], "--runs")):
        done = run([BENCH, *words])
        expect(done.returncode == 2 and message in done.stderr, f"{words}: {done.returncode} {done.stderr}")


@test("scripts/bench --compare names what became slower by more than the spread, and only that")
def compares(t):
    old, new = t.path("old.json"), made_up()
    with open(old, "w", encoding="utf-8") as file:
        json.dump(made_up(), file)
    slowed(new, "cost", "h2", "traced", "wall_ms", 1.2)
    slowed(new, "cost", "fop", "traced", "wall_ms", 1.005)  # the runs differ by 2 %
    slowed(new, "rotation", "javac", "wide", "gc_ms", 0.5)
    with open(t.path(bench_results.NAME), "w", encoding="utf-8") as file:
        json.dump(new, file)
    done = run([BENCH, "--out", t.folder, "--compare", old])
    expect(done.returncode == 0, tail(done.stderr))
    rows = [line for line in done.stdout.splitlines() if line.startswith("| cost") or line.startswith("| rotation")]
    expect(rows == ["| cost | h2 | traced | wall_ms | 1.000 | 1.200 | +20.0 % | slower |",
                    "| rotation | javac | wide | gc_ms | 1.000 | 0.500 | -50.0 % | faster |"], "\n".join(rows))
    expect("1 of " in done.stdout, done.stdout)
    for path, message in ((t.path("none.json"), "none.json"), (os.path.join(ROOT, "README.md"), "README.md")):
        done = run([BENCH, "--out", t.folder, "--compare", path])
        expect(done.returncode == 2 and message in done.stderr, f"{done.returncode} {done.stderr}")


@test("The page of figures has all tables, and says which goals are missed")
def page(t):
    data = made_up()
    text = bench_page.page(data)
    for head in ("## Goals", "figures 9 and 11", "figures 10, 12, 17", "figure 13", "figure 14", "figure 18", "figure 2)", "figure 3)", "figure 1)"):
        expect(head in text, f"{head} is missing")
    expect(all(f"| {w} |" in text for w in workloads.WORKLOADS), "a workload is missing")
    before = {goal: reached for goal, _, reached, _ in bench_goals.judged(data)}
    expect(all(before.values()), f"equal times miss goals: {before}")
    for study, workload, configuration, value, word in (("cost", "identity-hash", "patched", "wall_ms", "HashSet"),
                                                        ("rotation", "allocate", "wide", "gc_ms", "rotation: GC time")):
        worse = copy.deepcopy(data)
        slowed(worse, study, workload, configuration, value, 2)
        missed = [goal for goal, _, reached, _ in bench_goals.judged(worse) if not reached]
        expect(any(word in goal for goal in missed), f"{word} is not missed: {missed}")
        expect("| missed |" in bench_page.page(worse), "the page does not say so")


@test("The page of collectors has a line for each of them, and ratios to the same collector")
def collectors_page(t):
    data = made_up()
    slowed(data, "collectors", "h2", "g1-patched", "wall_ms", 2)
    slowed(data, "collectors", "h2", "g1-traced", "wall_ms", 3)
    slowed(data, "after-stop", "javac", "serial-stopped", "wall_ms", 1.25)
    lines = bench_collectors.page(data).splitlines()
    line = next(line for line in lines if line.startswith("| h2 | G1 |"))
    expect([cell.strip() for cell in line.split("|")][4:6] == ["2.000", "1.500"], f"twice the time of Parallel, and 1.5 times that when traced: {line}")
    line = [line for line in lines if line.startswith("| javac | Serial |")][-1]
    expect(line.rstrip(" |").endswith("| 1.250"), f"1.25 times as long after the stop: {line}")
    for collector in bench_plan.COLLECTORS:
        wanted = 2 * (len(data["studies"]["collectors"]) + 1) + len(data["studies"]["after-stop"]) + 1
        expect(sum(f"| {collector} |" in text for text in lines) == wanted, f"lines of {collector}")


@test("A baseline that dies or does not end is a result, and the page says so")
def dies(t):
    data = made_up()
    entry = data["studies"]["techniques"]["javac"]
    entry["runs"]["deaths"] = [{"died": "OutOfMemoryError: GC overhead limit exceeded"}] * 3
    entry["runs"]["dumps"] = [{"stopped_s": 24.0}] * 3
    entry["summary"] = bench_results.summary("stock", entry["runs"])
    text = bench_page.page(data)
    expect("died: OutOfMemoryError: GC overhead limit exceeded" in text and "stopped at 12 times" in text, "what became of them is not told")
    expect(f"(of {len(data['studies']['techniques']) - 1})" in text, "the mean is not marked")
