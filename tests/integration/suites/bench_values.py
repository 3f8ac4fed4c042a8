# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: the values of a run, and what is told of those that are older or of another source."""

import os
import shutil
import sys

import bench_collectors
import bench_goals
import bench_page
import bench_plan
import bench_results
import bench_run
import bench_sites
import bench_tables
from judge.world import expect, run, tail, test
from suites.bench import BENCH, SETTINGS, made_up, slowed


# In a process of its own: a child is said to have had what its parent had when it was made, and the tests
# have far more than scripts/bench.
_ENDED = """
import sys
sys.path.insert(0, sys.argv[1])
import bench_run

def of(mega, *more):
    return [sys.executable, "-c", f"import sys; a = b'a' * ({mega} << 20); " + "; ".join(more)]

large = bench_run.ended(of(200, "print('out')", "sys.exit('err')"), sys.argv[2], 60)
said = (large.code, large.stdout, large.stderr, large.in_time)
assert said == (1, "out\\n", "err\\n", True) and large.cpu_s > 0, large
assert 200 < large.rss_mb < 300, large.rss_mb
small = bench_run.ended(of(1, "import time", "time.sleep(60)"), sys.argv[2], 0.5)
assert small.code == -9 and not small.in_time and 0.5 <= small.elapsed_s < 30, small
assert small.rss_mb < large.rss_mb - 100, (small.rss_mb, large.rss_mb)
"""


@test("scripts/bench measures the memory of a process by itself, and ends one that takes too long")
def ends(t):
    done = run([sys.executable, "-c", _ENDED, os.path.dirname(bench_run.__file__), t.folder])
    expect(done.returncode == 0, tail(done.stderr))


@test("Values of before peak memory was measured are compared and written without it")
def without_memory(t):
    old, new = made_up(), made_up()
    for by_workload in old["studies"].values():
        for entry in by_workload.values():
            for runs in entry["runs"].values():
                for values in runs:
                    values.pop("rss_mb", None)
    bench_results.write(t.folder, new)
    path = shutil.move(t.path(bench_results.NAME), t.path("new.json"))
    bench_results.write(t.folder, old)
    lines = bench_results.compare(t.folder, path)
    expect(lines[-1].startswith("0 of "), f"{lines}")
    text = bench_sites.page(old)
    part = text[text.index("### Peak memory") :]
    expect("| javac | - | - | - | - | - |" in part and "| geometric mean of 0 | - |" in part, part[:2000])
    entry = new["studies"]["sites"]["javac"]["runs"]
    for values in entry["hash"]:
        values["rss_mb"] *= 1.25
    part = bench_sites.page(new)
    part = part[part.index("### Peak memory") :]
    row = next(line for line in part.splitlines() if line.startswith("| javac |"))
    expect(row.split("|")[6].strip() == "+25.0 % [+25.0 % to +25.0 %]", row)


@test("A page says where the stock JDK is of another source, if the study runs it")
def other_source(t):
    for patched, stock, wanted in (
        ("17.0.19+10-anttracks", "17.0.19+10-stock", ""),
        ("17.0.19+10-anttracks", "17.0.19+10-1-deb12u2-Debian", ""),
        ("17.0.19+10-anttracks", "17.0.21.1+2-1-deb12u1-Debian", "another update"),
        ("17.0.19+0-anttracks", "17.0.19+10-1-deb12u2-Debian", "another build"),
        ("17+p", "17+s", ""),
    ):
        found = bench_results.unlike(patched, stock)
        expect(found == wanted, f"{patched}, {stock}: {found}")
    data = made_up()
    for study in ("cost", "techniques"):
        for entry in data["studies"][study].values():
            entry["settings"] = SETTINGS | {"stock": "17.0.2+3-Debian"}
    for study, count in (("cost", 0), ("techniques", 1), ("profilers", 0)):
        lines = bench_page.study_head(data, study)
        found = sum("stock 17.0.2+3-Debian (another update: " in line for line in lines)
        expect(found == count, f"{study}: {lines}")


@test("scripts/bench counts objects and CPU time of the iterations that are measured")
def counts_objects(t):
    done = run(
        [BENCH, "objects", "serial", "--pairs", "1", "--iterations", "1", "--warmup", "2", "--out", t.folder]
    )
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}")
    runs = bench_results.load(t.folder)["studies"]["objects"]["serial"]["runs"]
    made = runs["counted-from"][0]
    # Three iterations that do the same, and a JVM that starts.
    share = bench_tables.objects_after(made) / made["stats"]["objects"]
    expect(0.25 < share < 0.35, f"a third of the objects: {share}")
    for values in (runs["patched"][0], made):
        expect(0.05 < values["iterations_cpu_s"] / values["cpu_s"] < 0.6, f"{values}")


@test("scripts/bench attaches to a workload that runs, and finds how long it waited for that")
def attaches(t):
    done = run(
        [BENCH, "attach", "leak", "--pairs", "1", "--iterations", "1", "--warmup", "1", "--out", t.folder]
    )
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}")
    for key, (values,) in bench_results.load(t.folder)["studies"]["attach"]["leak"]["runs"].items():
        expect(0 < values["attach_ms"] < 10_000 and values["longest_young_ms"] > 0, f"{key}: {values}")
        listed = values["inside"]["listed"]
        expect(listed["objects"] > 10_000, f"{key}: what the program holds is not listed: {listed}")
        expect(values["stats"]["sync_points"] == 1, f"{key}: {values['stats']}")


@test("The goal of attaching is missed if the program waits longer than for its own collections")
def attach_goal(t):
    for times, wanted in ((3, "reached"), (5, "missed"), ([3, 5] * 5, "not known")):
        data = made_up()
        slowed(data, "attach", "longlived-1g", "g1-attached", "attach_ms", times)
        found = [row.verdict for row in bench_goals.judged(data) if "of an attach" in row.goal]
        expect(found == [wanted], f"{times} times 0.25: {found}")


@test("The page of collectors has a line for each of them, and ratios to the same collector")
def collectors_page(t):
    data = made_up()
    slowed(data, "collectors", "h2", "g1-patched", "wall_ms", 2)
    slowed(data, "collectors", "h2", "g1-traced", "wall_ms", 3)
    slowed(data, "after-stop", "javac", "serial-stopped", "wall_ms", 1.25)
    lines = bench_collectors.page(data).splitlines()
    line = next(line for line in lines if line.startswith("| h2 | G1 |"))
    expect(
        [cell.strip() for cell in line.split("|")][4:6] == ["2.000 [2.000 to 2.000]", "1.500 [1.500 to 1.500]"],
        f"twice the time of Parallel, and 1.5 times that when traced: {line}",
    )
    line = [line for line in lines if line.startswith("| javac | Serial |")][-1]
    expect(line.rstrip(" |").endswith("| 1.250 [1.250 to 1.250]"), f"1.25 times as long after the stop: {line}")
    slowed(data, "g1", "fop", "g1-budget", "gc_ms", 2)
    lines_now = bench_collectors.page(data).splitlines()
    line = next(line for line in lines_now if line.startswith("| fop |"))
    gc_of_budget = line.split("|")[6].strip()
    expect(gc_of_budget == "2.000 [2.000 to 2.000]", f"budget's GC time: {line}")
    line = [line for line in lines if line.startswith("| longlived-1g | G1 |")][0]
    expect(line.endswith("| 1,000,000 | 50 | 10 (10 to 10) | 40 (40 to 40) | 0.25 [0.25 to 0.25] |"), line)
    for collector in bench_plan.COLLECTORS:
        wanted = 2 * (len(data["studies"]["collectors"]) + 1) + len(data["studies"]["after-stop"]) + 2
        expect(sum(f"| {collector} |" in text for text in lines) == wanted, f"lines of {collector}")
