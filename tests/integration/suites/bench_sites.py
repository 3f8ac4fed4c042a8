# SPDX-License-Identifier: Apache-2.0
"""scripts/bench sites: what it runs, what it makes of the values, and its page."""

import copy
import os

import bench_page
import bench_plan
import bench_probes
import bench_results
import bench_sites
import workloads
from judge.world import ROOT, expect, run, tail, test
from suites.bench import made_up, slowed

BENCH = os.path.join(ROOT, "scripts", "bench")
CODELIST = """1 4 0 A.hot()V [0x0000000000001000, 0x0000000000001100 - 0x0000000000001180]
2 3 0 A.hot()V [0x0000000000002000, 0x0000000000002100 - 0x0000000000002400]
3 4 0 A.loop()V [0x0000000000003000, 0x0000000000003100 - 0x0000000000003180]
4 4 0 A.loop()V [0x0000000000004000, 0x0000000000004100 - 0x0000000000004180]
5 4 0 A.loop()V [0x0000000000005000, 0x0000000000005100 - 0x0000000000005180]
6 3 1 A.not_entrant()V [0x0000000000006000, 0x0000000000006100 - 0x0000000000006180]
7 0 0 A.wrapper()V [0x0000000000007000, 0x0000000000007100 - 0x0000000000007180]
"""


def rows_of(text, head):
    part = text[text.index(head) :]
    lines = part[: part.find("\n#", 3)].splitlines()
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return [row for row in rows if row]


@test("scripts/bench sites alone is all studies of its page, and with a workload only that of workloads")
def plans(t):
    names = [name for name, study in bench_plan.STUDIES.items() if study.page == bench_plan.SITES_PAGE]
    expect([step[0] for step in bench_plan.plan(["sites"])] == names, f"{bench_plan.plan(['sites'])}")
    expect(
        bench_plan.plan(["sites", "h2"]) == [("sites", ("h2",), bench_plan.IN_TURN)],
        f"{bench_plan.plan(['sites', 'h2'])}",
    )
    expect(
        bench_plan.plan(["sites", "h2", "ash"]) == [("sites", ("h2",), ("stock", "ash"))],
        f"{bench_plan.plan(['sites', 'h2', 'ash'])}",
    )
    expect(bench_plan.plan(["sites"])[0][1] == tuple(workloads.WORKLOADS), "a workload is missing")
    quick = bench_plan.plan(["sites"], quick=True)
    expect(quick[0][1] == bench_plan.STUDIES["sites"].quick, f"{quick[0]}")
    expect(bench_probes.programs(["serial C1", "1 site", "h2"]) == ["serial", "h2"], "the programs of cases")
    cases = ("serial C1", "serial C2", "javac C1", "javac C2")
    for words, wanted in (
        (["code", "javac C2"], [("code", ("javac C2",))]),
        (["javac C2"], [("code", ("javac C2",))]),
        (["code", "javac"], [("code", ("javac C1", "javac C2"))]),
        (["code", "javac", "javac C2", "serial"], [("code", cases)]),
        (["sites", "code", "javac"], [("sites", ("javac",)), ("code", ("javac C1", "javac C2"))]),
        (["1 site, scattered"], [("collisions", ("1 site, scattered",))]),
        (["hello"], [("start-up", ("hello",))]),
        (["clones", "h2"], [("clones", ("h2",))]),
    ):
        found = bench_plan.plan(words)
        expect([step[:2] for step in found] == wanted, f"{words}: {found}")
    expect(
        bench_plan.plan(["javac C2", "ash"]) == [("code", ("javac C2",), ("stock", "ash"))],
        f"{bench_plan.plan(['javac C2', 'ash'])}",
    )
    for scheme in bench_plan.SCHEMES:
        flags = bench_plan.CONFIGURATIONS[scheme].flags
        expect(flags == (f"-XX:AntTracksSites={scheme}",), f"{scheme}: {flags}")


@test("What a class for each site would mean is counted from what sites allocated of each class")
def simulated(t):
    rows = [
        {"class": "A", "site": "one", "objects": 3000},
        {"class": "A", "site": "two", "objects": 1000},
        {"class": "B", "site": "one", "objects": 4000},
        {"class": "C", "site": "one", "objects": 500},
        {"class": "C", "site": "two", "objects": 250},
        {"class": "C", "site": "three", "objects": 250},
        {"class": "int[]", "site": "one", "objects": 5000},
        {"class": "int[]", "site": "two", "objects": 10},
    ]
    found = bench_probes.simulated(rows)
    counts = {key: found[key] for key in ("classes", "clones", "hot_classes", "hot_clones")}
    expect(counts == {"classes": 4, "clones": 8, "hot_classes": 3, "hot_clones": 4}, f"{counts}")
    # 9,000 objects that are no arrays; A misses in 1 - 9/16 - 1/16 of the calls, C in 1 - 1/4 - 2/16.
    wanted = {
        "many": 5 / 9,
        "megamorphic": 1 / 9,
        "miss": (4 * 6 / 16 + 10 / 16) / 9,
        "miss_of_two": 0.25 / 9,
    }
    for key, value in wanted.items():
        expect(abs(found[key] - value) < 1e-12, f"{key}: {found[key]}, not {value}")
    hashes = {"A": "own", "B": "unknown", "C": "object's", "int[]": "own"}
    shares = bench_probes.spared(rows, hashes)
    expect(shares == {"own_hash": 4000 / 14_010, "unknown_hash": 4000 / 14_010}, f"{shares}")
    none = bench_probes.simulated([])
    expect(none["clones"] == 0 and none["miss"] == 0, f"of nothing: {none}")


@test("Code sizes are of methods that all schemes compiled once, and that are in use")
def sizes(t):
    found = bench_probes.sizes_of(CODELIST)
    expect(found == {"4 A.hot()V": 0x80, "3 A.hot()V": 0x300}, f"{found}")
    by = {
        "stock": [{"sizes": {"a": 10, "b": 20}}, {"sizes": {"a": 11}}],
        "hash": [{"sizes": {"a": 15, "c": 1}}, {"sizes": {"a": 16, "b": 3}}],
    }
    common = bench_probes.finished("code", by)
    expect(
        common["hash"][0] == {"methods": 1, "bytes": 15, "all_methods": 2, "all_bytes": 16}
        and [run["bytes"] for run in common["stock"]] == [10, 11],
        f"{common}",
    )
    expect(bench_probes.finished("collisions", by) == by, "values of another study changed")


@test("Traced programs have run time and GC time, each beside the paper's, and their means")
def traced_programs(t):
    data = made_up()
    slowed(data, "sites-traced", "javac", "hash-eliminate-narrow", "gc_ms", 1.5)
    rows = rows_of(bench_sites.page(data), "## Traced programs")
    head = next(row for row in rows if row[:1] == ["workload"])
    javac = next(row for row in rows if row[:1] == ["javac"])
    mean = rows[-1]
    places = [i for i, word in enumerate(head) if word == "GC time"]
    # hash to mark, hash-eliminate to hash, to a plain trace, ash to mark.
    expect([javac[i][:7].strip() for i in places] == ["+0.0 %", "+50.0 %", "+50.0 %", "+0.0 %"], f"{javac}")
    papers = [i for i, word in enumerate(head) if word.startswith("figure")]
    expect([javac[i] for i in papers] == ["+2.9 %", "+1.0 %", "+75.4 %", "+43.1 %"], f"{javac}")
    expect([mean[i] for i in papers] == ["+2.9 %", "+0.9 %", "+6.5 %", "+15.5 %"], f"{mean}")
    expect(mean[0] == f"geometric mean of {len(data['studies']['sites-traced'])}", f"{mean}")


@test("The page of schemes has each workload and case, the papers' figures, and what was stopped")
def page(t):
    data = made_up()
    slowed(data, "sites", "javac", "hash", "wall_ms", 1.25)
    slowed(data, "census", "h2", "census", "cpu_s", 1.5)
    slowed(data, "sites", "identity-hash-1m", "hash", "wall_ms", 3)
    data["studies"]["sites"]["identity-hash"]["runs"]["hash"] = [{"stopped_s": 150.0}] * 10
    data["studies"]["strategies"]["identity-hash"]["runs"]["hashcode-2"] = [{"stopped_s": 150.0}] * 10
    text = bench_sites.page(data)
    for word in ("+2,291 %", "1.73", "figure 14", "figure 17", "-18.5 %", "+103.3 %", "**estimate**", "built"):
        expect(word in text, f"{word} is missing")
    rows = rows_of(text, "### Run time")
    javac = next(row for row in rows if row[:1] == ["javac"])
    expect(javac[1:] == ["+0.0 % [+0.0 % to +0.0 %]"] * 4 + ["+25.0 % [+25.0 % to +25.0 %]"], f"{javac}")
    expect(not any(row[:1] == ["identity-maps"] for row in rows), "a worst case is in the mean")
    mean = next(row for row in rows_of(text, "## Beside the benchmarks") if row[:1] == ["mean"])
    shown = [row for row in rows_of(text, "## Beside the benchmarks") if row[0] != "mean" and "%" in row[-1]]
    expect(mean[6] == f"geometric mean of {len(shown)}" and mean[1] == "+2.9 %", f"{mean}")
    # Of the workloads only javac is slower, with hash.
    larger = f"{(1.25 ** (1 / len(shown)) - 1) * 100:+.1f} %"
    expect(mean[7].startswith("+0.0 %") and mean[9].startswith(larger), f"{mean}, not {larger}")
    vee = {row[0]: row[1:] for row in rows_of(text, "## Beside VEE 2010")}
    most = vee["run time, maximum"]
    expect(most[:2] == ["+1.4 %", "+2.0 %"] and most[4] == "+25.0 % [+25.0 % to +25.0 %] (javac)", f"{most}")
    expect(vee["physical memory, mean"][2].startswith("+0.0 %"), f"{vee}")
    census = next(row for row in rows_of(text, "## The leak detector") if row[:1] == ["h2"])
    # Each counter is a million here: so a nanosecond for an object.
    expect(census[2] == "+50.0 % [+50.0 % to +50.0 %]" and census[6] == "1.0", f"{census}")
    worst = rows_of(text, "## The worst case: identity")
    large = next(row for row in worst if row[:2] == ["identity-hash", "hash"])
    expect(large[2] == "stopped after 150 s, more than 75 times as long", f"{large}")
    expect(large[-1] == "+2,291 %", f"{large}")
    small = next(row for row in worst if row[:2] == ["identity-hash-1m", "hash"])
    expect(small[3].startswith("+200.0 %"), f"{small}")
    constant = next(line for line in text.splitlines() if "hashCode=2, constant value" in line)
    expect("stopped after 150 s" in constant and "time-out" in constant, constant)
    for study in ("collisions", "code", "clones"):
        for case in bench_plan.STUDIES[study].workloads:
            expect(f"| {case} |" in text, f"{study}: {case} is missing")
    eager = rows_of(text, "## Sites, and objects that need no eager hash")
    eager = next(row for row in eager if row[:1] == ["javac"])
    expect(eager[1:] == ["4,000", "25.0 %", "12.5 %", "41.1 %"], f"{eager}")
    expect("**Quick**" not in text, "a page that is not quick says so")
    only = {"studies": {"collisions": copy.deepcopy(data["studies"]["collisions"])}}
    only["studies"]["collisions"]["1 site"]["settings"]["quick"] = True
    text = bench_sites.page(only)
    expect("Not measured." in text and "**Quick**" in text, "a page of one study")
    expect("hashcode-" not in bench_page.page(data), "configurations of this page are on the other one")


@test("scripts/bench counts equal identity hashes by scheme, keeps them, and writes their page")
def measures(t):
    done = run([BENCH, "collisions", "start-up", "--quick", "--pairs", "1", "--out", t.folder])
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}")
    runs = bench_results.load(t.folder)["studies"]["collisions"]["1 site"]["runs"]
    expect(set(runs) == set(bench_plan.IN_TURN), f"{list(runs)}")
    distinct = {name: found[0]["distinct"] for name, found in runs.items()}
    # Of a million. 31 bits: all but a few hundred; hash: at most 32,768 for each of the few tiers; ash: some
    # while all numbers of an id are used.
    expect(all(distinct[name] > 999_000 for name in ("stock", "off", "mark")), f"{distinct}")
    expect(distinct["hash"] < 200_000 and distinct["ash"] > 900_000, f"{distinct}")
    with open(t.path(bench_plan.SITES_PAGE + ".md"), encoding="utf-8") as file:
        text = file.read()
    expect("| 1 site | hash |" in text and "| hash |" in text[text.index("## Start-up") :], text[-2000:])
    head = bench_results.load(t.folder)["studies"]["collisions"]["1 site"]["settings"]
    for said, word in ((text, "in the ratios between the two"), (done.stderr, "scripts/setup-jdk --stock")):
        expect((word in said) == bool(bench_results.remark("collisions", head)), f"{word} of {head}: {said}")
    left = sorted(os.listdir(t.folder))
    expect(left == ["benchmarks-sites.md", bench_results.NAME], f"{left}")


@test("scripts/bench code compares methods, and clones simulates from a trace", slow=True)
def from_the_jvm(t):
    done = run([BENCH, "code", "clones", "--quick", "--pairs", "1", "--out", t.folder])
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}")
    studies = bench_results.load(t.folder)["studies"]
    for case, entry in studies["code"].items():
        found = {name: runs[0] for name, runs in entry["runs"].items()}
        expect(len({row["methods"] for row in found.values()}) == 1, f"{case}: {found}")
        expect(found["stock"]["methods"] > 50, f"{case}: {found}")
    found = studies["clones"]["serial"]["runs"]["traced"][0]
    expect(found["clones"] > found["classes"] > found["hot_classes"] > 0, f"{found}")
    expect(200 < found["klass_bytes"] < 2000 and 0 < found["miss"] < 1, f"{found}")
    # Of what is serialized some classes have a hashCode of their own, and most have Object's.
    expect(0 < found["own_hash"] < 0.9 and found["unknown_hash"] < 0.1, f"{found}")


