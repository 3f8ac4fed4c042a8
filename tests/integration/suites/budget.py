# SPDX-License-Identifier: Apache-2.0
"""Where only a share of what is allocated is read, the live heap is exact all the same."""

from judge.attached import Program, until
from judge.exact import judge, judge_rotated
from judge.world import add, analyze_json, conclusive, expect, run_traced, test, verified
from suites.attach import flags_of
from suites.exactness import ATTEMPTS, COLLECTORS, NO_ROOM, says

PARALLEL = "-XX:+UseParallelGC"
RUNS = 10
LEAST = "0.00390625"  # that a budget falls to
SHARES = ("0.5", "0.25", "0.125", "0.0625", "0.03125", "0.015625", LEAST)


def exact(name, main, arguments=(), flags=("-Xmx64m",), collectors=COLLECTORS, shares=SHARES, log_says=None):
    """log_says: what the GC log must say for the test to have tested something."""
    for collector in collectors:
        for share in shares:
            _exact(
                f"With {collector} and a share of {share} the rebuilt heap is exact {name}",
                collector,
                share,
                main,
                arguments,
                flags,
                log_says,
            )


def _exact(name, collector, share, main, arguments, flags, log_says):
    def body(test):
        log = test.path("gc.log")
        all_flags = [f"-XX:+Use{collector}GC", *flags, f"-Xlog:gc*:file={log}"]
        for _ in range(ATTEMPTS):
            test.clear()
            trace, _ = run_traced(test, main, arguments, all_flags, f",share={share}")
            counters = analyze_json("info", trace)["counters"]
            expect(counters["skipped_bytes"] > 0 or share == "0.5", f"nothing was skipped: {counters}")
            only_full = counters["moves"] == 0  # those read what was skipped
            expect(
                counters["found_objects"] > 0 or only_full or share == "0.5",
                f"nothing was found by a collection: {counters}",
            )
            expect(judge(test.folder, trace) > 0, "nothing was judged")
            if not log_says or says(log, log_says):
                return
        expect(False, f"in {ATTEMPTS} runs the GC log does not say {log_says!r}: the test tests nothing")

    add(name, body)


exact("for one thread that makes a bit of everything", "Mix")
exact("for eight allocating threads with short ones beside them", "Threads", shares=("0.125",))
exact("for arrays of all types and lengths, large ones too", "Arrays2", flags=("-Xmx160m",), shares=("0.125",))
exact("for objects locked and hashed while the collector runs", "Locks", shares=("0.125",))
exact("for thousands of class mirrors", "Mirrors", shares=(LEAST,))
exact("when classes are unloaded by the hundred", "Unloading", shares=(LEAST,))
exact(
    "when promotion fails",
    "PromotionFailure",
    (4, 700_000),
    ("-Xms64m", "-Xmx64m", "-Xmn24m"),
    log_says="Promotion failed",
    collectors=("Parallel", "Serial"),
    shares=("0.125",),
)
exact(
    "when objects cannot be evacuated",
    "PromotionFailure",
    (20, 700_000),
    ("-Xms64m", "-Xmx64m", "-Xmn24m"),
    log_says=NO_ROOM,
    collectors=("G1",),
    shares=("0.125",),
)
exact(
    "without compressed class pointers",
    "Mix",
    (150_000,),
    ("-Xmx96m", "-XX:-UseCompressedClassPointers"),
    shares=("0.125",),
)
exact(
    "with objects aligned to 16 bytes",
    "Mix",
    (150_000,),
    ("-Xmx96m", "-XX:ObjectAlignmentInBytes=16"),
    shares=("0.125",),
)


def changed(t, collector):
    trace = t.path("trace")
    with Program(t, flags_of(collector)) as program:
        program.attach(f"file={trace}")
        counters = program.status()["trace"]["counters"]
        expect(counters["share_ppm"] == 1_000_000 and counters["budget_ppm"] == 0, f"{counters}")
        said = program.ctl("set", "budget=2%").stdout
        expect("2 %" in said and "of the stretches are read" in said, f"it says {said!r}")
        until(lambda: program.status()["trace"]["counters"]["skipped_bytes"] > 0, "nothing is skipped")
        expect("budget      2 %" in program.ctl("status").stdout, program.ctl("status").stdout)
        program.tell("both")
        said = program.ctl("set", "budget=100%").stdout
        expect("all is read" in said, f"it says {said!r}")
        program.tell("both")
        for option, word, code in (
            ("budget=3", "percentage", 12),
            ("budget=0.1%", "0.5%", 12),
            ("maxsize=1G", "can be changed", 12),
            ("budget=3%,share=0.5", "exclude", 12),
        ):
            refused = program.ctl("set", option, code=code)
            expect(word in refused.stderr, f"{option}: {word!r} is not in {refused.stderr!r}")
        expect("set what?" in program.ctl("set", code=2).stderr, "set takes nothing")
        program.end()
    expect(judge(t.folder, trace) == 4, "not all was judged")
    info = analyze_json("info", trace)
    shares = [period["share"] for period in info["share_over_time"]]
    expect(info["skipped_bytes"] > 0 and min(shares) < 1 and shares[-1] == 1, f"shares over time: {shares}")


for each in COLLECTORS:
    add(
        f"With {each} a budget is changed while the program runs, and what lives is exact all the time",
        lambda t, collector=each: changed(t, collector),
    )


@test("A trace of samples has no budget, one of every object no interval, and each is told so")
def samples(t):
    for mode, option, words in (
        ("sample", "budget=3%", "samples has no budget"),
        ("full", "interval=64K", "every object has no interval"),
    ):
        t.clear()
        with Program(t, flags_of("Parallel"), agent=f"file={t.path('trace')},mode={mode}") as program:
            refused = program.ctl("set", option, code=12)
            expect(words in refused.stderr, f"{refused.stderr!r}")
            program.end()


LOOP = (PARALLEL, "-Xmx512m", "-Xmn256m")


@test("A program that does nothing but allocate keeps within the budget, by the agent's own reckoning")
def kept(t):
    trace, _ = run_traced(t, "FastAllocation", (120_000_000,), LOOP, ",budget=3%", judged=False)
    counters = analyze_json("info", trace)["counters"]
    conclusive(counters["share_ppm"] < 500_000, f"a share of {counters['share_ppm']}: the test tests nothing")
    conclusive(counters["spent_ppm"] < 30_000, f"{counters['spent_ppm']} ppm spent of 30,000")
    verified(trace)


@test("With a budget a rotated trace is exact, with and without keep=")
def rotated(t):
    for keep in ("", ",keep=yes"):
        t.clear()
        trace, _ = run_traced(
            t,
            "FastAllocation",
            (12_000_000,),
            (PARALLEL, "-Xmx64m", "-Xmn16m"),
            f",maxsize=4M,share=0.25{keep}",
        )
        files = analyze_json("info", trace)["counters"]["files"]
        conclusive(files > 12, f"{files} files: the test tests nothing")
        expect(judge_rotated(t.folder, trace) > 0, "nothing was judged")


@test("The truth lies in the intervals of repeated runs, site by site")
def intervals(t):
    # In the interpreter, so that each run allocates the same.
    def sites(options):
        t.clear()
        trace, _ = run_traced(t, "Mix", (20_000,), (PARALLEL, "-Xmx64m", "-Xint"), options, judged=False)
        report = analyze_json("sites", trace)
        expect(
            report.get("estimated", False) == bool(options), "estimates without a share, or the other way round"
        )
        return {(row["site"], row["class"]): row for row in report["sites"] if row["site"].startswith("Mix.")}

    truth = sites("")
    inside = judged = 0
    for _ in range(RUNS):
        for key, row in sites(",share=0.125").items():
            judged += 1
            inside += (
                row["objects_low"] <= truth[key]["objects"] <= row["objects_high"]
                and row["bytes_low"] <= truth[key]["bytes"] <= row["bytes_high"]
            )
    conclusive(judged >= 5 * RUNS, f"{judged} sites were judged: the test tests nothing")
    conclusive(inside >= 0.9 * judged, f"{inside} of {judged} intervals have the truth in them")
