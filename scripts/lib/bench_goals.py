# SPDX-License-Identifier: Apache-2.0
"""The goals of the project, judged by what was measured, and what was tried where one is missed."""

import statistics
from typing import NamedTuple

import bench_stats
from bench_plan import STUDIES
from bench_rotation import attach_pause, sync_pauses
from bench_tables import cpu_text, heavy, mean_ratio, median, ratio, runs_of, steady_cpu_per_object

TRIED = {
    "untraced": "The site is a constant of the compiled code: no load, no call. "
    "What is left is the store of a 64-bit mark.",
    "traced": "Reading objects off the application's threads ([decision 6](decisions/0006-readers.md)), while "
    "they are in the cache ([decision 3](decisions/0003-tlabs-are-read-in-stretches.md)). On two cores a "
    "program with two busy threads still pays on one of them for what reading, prediction and compression "
    "take for each object ([decision 11](decisions/0011-columns.md)).",
    "budget": "Chance decides which stretches are read, so that CPU time keeps within the budget "
    "([decision 12](decisions/0012-budget.md)). What nobody measures comes on top: caches, "
    "and the site in each header.",
    "gc": "Objects that survive are reported by address pairs, in batches by each GC worker; what is measured "
    "is a safepoint with all that the agent does in it, also the reading of what the TLABs still hold. "
    "Programs with short collections see that most.",
    "bytes": "Programs with few objects a TLAB, or whose bytes are the collector's moves, need more "
    "([decision 7](decisions/0007-one-compression-for-all-events.md)).",
    "rotation": "Sync points are written by a thread of the agent after the pause, not in it. In a tight "
    "bound most collections become sync points, as they must.",
    "pause": "Only the addresses of the spaces are taken in the pause "
    "([decision 4](decisions/0004-rotation.md)).",
}


class Row(NamedTuple):
    goal: str
    measured: str
    verdict: str
    tried: str  # key of TRIED
    of_each: bool = False  # each workload has to reach it: those that were not measured cannot undo a miss

    def of_some(self):
        """As far as a part of the workloads can decide it."""
        final = self.of_each and self.verdict == bench_stats.MISSED
        return self if final else self._replace(verdict=bench_stats.NOT_KNOWN)


def judged(data):
    """A Row for each goal of the studies of which there is something."""
    rows = []
    for study, goals_of in GOALS.items():
        entries = data["studies"].get(study, {})
        if entries:
            found = goals_of(runs_of(entries))
            whole = set(STUDIES[study].workloads) <= set(entries)
            rows += found if whole else [row.of_some() for row in found]
    return rows


def percent_row(goal, results, pair, key, most, tried):
    """pair: what is compared, and with what; most: in percent."""
    found = mean_ratio(results, *pair, key)
    if found is None:
        return Row(goal, "-", bench_stats.NOT_KNOWN, tried)
    limit = 1 + most / 100
    return Row(f"{goal}: at most {most:+g} % (geometric mean)", found.percent(), found.verdict(limit), tried)


def worst_row(goal, found, most, tried, text, of_each=True):
    """found: an Estimate by name, each of which must be within the limit. of_each: see Row."""
    verdicts = {name: estimate.verdict(most) for name, estimate in found.items()}
    # One that is missed for certain is worse than one that may be.
    worst = max(found, key=lambda name: (verdicts[name] == bench_stats.MISSED, found[name].middle))
    counts = ", ".join(
        f"{sum(v == kind for v in verdicts.values())} {kind}"
        for kind in (bench_stats.REACHED, bench_stats.MISSED, bench_stats.NOT_KNOWN)
    )
    return Row(
        f"{goal} ({counts}; the worst is {worst})",
        text(found[worst]),
        bench_stats.all_of(verdicts.values()),
        tried,
        of_each,
    )


def cost_goals(results):
    rows = [
        percent_row(
            "tracing, all workloads: steady run time", results, ("traced", "patched"), "wall_ms", 8, "traced"
        ),
        percent_row("tracing, all workloads: GC time", results, ("traced", "patched"), "gc_ms", 5, "gc"),
    ]
    half = heavy(results)
    for goal, key, most, tried in (
        ("steady run time", "wall_ms", 25, "traced"),
        ("GC time", "gc_ms", 15, "gc"),
    ):
        use = half if key == "wall_ms" else results
        name = f"tracing, the {len(use)} that allocate most" if use is half else "tracing, each workload"
        each = {
            w: found for w, by in use.items() if (found := ratio(by["traced"], by["patched"], key)) is not None
        }
        rows.append(
            worst_row(
                f"{name}: {goal} at most {most:+} % each",
                each,
                1 + most / 100,
                tried,
                lambda e: e.percent(),
                of_each=use is results,  # which ones allocate most takes all
            )
        )
    promised = {w: ratio(by["budget"], by["patched"], "wall_ms") for w, by in results.items() if "budget" in by}
    if promised:
        rows.append(
            worst_row(
                "budget=3%: steady run time at most +3 % each", promised, 1.03, "budget", lambda e: e.percent()
            )
        )
    sizes = {
        w: median(by["traced"], "stored_bytes") / median(by["traced"], "objects") for w, by in results.items()
    }
    largest = max(sizes, key=sizes.get)
    for goal, value, most, of_each in (
        ("the median of the workloads", statistics.median(sizes.values()), 0.25, False),
        (f"the largest, {largest}", sizes[largest], 0.8, True),
    ):
        exact = bench_stats.exact(value)
        rows.append(
            Row(
                f"bytes per object, stored: at most {most} ({goal})",
                exact.interval("{:.2f}"),
                exact.verdict(most),
                "bytes",
                of_each,
            )
        )
    return rows


def sites_goals(results):
    """What a JVM without an agent pays for the mark-word bits. Other workloads: docs/benchmarks-patch.md."""
    if "identity-hash" not in results:
        return []
    by = results["identity-hash"]
    found = ratio(by["mark"], by["stock"], "wall_ms")
    goal = "site in every object, worst-case HashSet: at most 1.02 times untraced"
    return [Row(goal, found.interval(), found.verdict(1.02), "untraced", of_each=True)]


def objects_goals(results):
    goal = "tracing: CPU time per allocated object, all threads, steady state, at most 6 ns"
    each = {w: steady_cpu_per_object(by["counted-from"], by["patched"]) for w, by in results.items()}
    return [worst_row(goal, each, 6, "traced", cpu_text)]


def rotation_goals(results):
    rows = [
        percent_row(
            "rotation in ten files on top of tracing: steady run time, wide bound",
            results,
            ("wide", "traced"),
            "wall_ms",
            2,
            "rotation",
        ),
        percent_row("rotation: GC time, wide bound", results, ("wide", "traced"), "gc_ms", 5, "rotation"),
    ]
    asked = bench_stats.exact(
        sum(run["stats"]["requested_collections"] for by in results.values() for run in by["wide"])
    )
    goal = "collections that the agent requests, wide bound: none"
    rows.append(Row(goal, asked.interval("{:.0f}"), asked.verdict(0), "rotation", of_each=True))
    both = [(w, c, by[c]) for w, by in results.items() for c in ("wide", "narrow")]
    pauses = {f"{w}, {c}": sync_pauses(runs, results[w]["traced"]) for w, c, runs in both}
    rows.append(
        worst_row(
            "pause of a sync point to a plain collection's: at most 1.10 times",
            pauses,
            1.1,
            "pause",
            lambda e: e.interval("{:.2f}"),
        )
    )
    bytes_each = bench_stats.exact(max(runs[0]["inside"]["bytes_per_live"] for _, _, runs in both))
    rows.append(
        Row(
            "a sync point: at most 4 raw bytes per live object (the largest)",
            bytes_each.interval("{:.2f}"),
            bytes_each.verdict(4),
            "rotation",
            of_each=True,
        )
    )
    return rows


def attach_goals(results):
    goal = "pause of an attach to the longest young collection of the program, 1 GB live: at most 1.00 times"
    each = {c: attach_pause(runs) for by in results.values() for c, runs in by.items()}
    return [worst_row(goal, each, 1, "pause", lambda e: e.interval("{:.2f}"))]


GOALS = {
    "cost": cost_goals,
    "objects": objects_goals,
    "sites": sites_goals,
    "rotation": rotation_goals,
    "attach": attach_goals,
}


def table(data):
    rows = judged(data)
    lines = ["| goal | measured | |", "|---|---:|---|"] + [
        f"| {row.goal} | {row.measured} | {row.verdict} |" for row in rows
    ]
    missed = dict.fromkeys(row.tried for row in rows if row.verdict == bench_stats.MISSED)
    lines += [
        "",
        "Reached: the whole interval is within the goal; missed: the whole interval is outside; not known: "
        "neither, or too few pairs, or not all workloads of the study were measured and no single one decides.",
    ]
    return lines + [f"- {TRIED[key]}" for key in missed]
