# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: the values of a run, and what is told of those that are older or of another source."""

import os
import shutil
import sys

import bench_page
import bench_results
import bench_run
import bench_sites
import bench_tables
from judge.world import expect, run, tail, test
from suites.bench import BENCH, SETTINGS, made_up


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
