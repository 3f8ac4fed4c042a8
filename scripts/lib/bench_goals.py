# SPDX-License-Identifier: Apache-2.0
"""The goals of the project, judged by what was measured, and what was tried where one is missed."""

import statistics

from bench_rotation import sync_pause
from bench_tables import heavy, mean_ratio, median, ratio, runs_of

TRIED = {
    "untraced": "The site is a constant of the compiled code: no load, no call. What is left is the store of a 64-bit mark.",
    "traced": "Reading objects off the application's threads ([decision 6](decisions/0006-readers.md)), while they are in the cache "
              "([decision 3](decisions/0003-tlabs-are-read-in-stretches.md)). On two cores a program with two busy threads still pays for the "
              "10 ns that each object takes on one of them.",
    "gc": "Objects that survive are reported by address pairs, in batches by each GC worker; what is measured is a safepoint with all that the agent does in it, "
          "also the reading of what the TLABs still hold. Programs with short collections see that most.",
    "bytes": "Programs with few objects a TLAB, or whose bytes are the collector's moves, need more ([decision 7](decisions/0007-one-compression-for-all-events.md)).",
    "rotation": "Sync points are written by a thread of the agent after the pause, not in it. In a tight bound most collections become sync "
                "points, as they must.",
    "pause": "Only the addresses of the spaces are taken in the pause ([decision 4](decisions/0004-rotation.md)).",
}


def judged(data):
    """[(goal, measured, reached, key of TRIED)]"""
    cost, rotation = (runs_of(data["studies"][s]) for s in ("cost", "rotation"))
    rows = []

    def row(goal, value, most, tried, form="{:+.1f} %"):
        rows.append((goal, form.format(value), value <= most, tried))

    def percent(results, name, base, key):
        return (mean_ratio(results, name, base, key) - 1) * 100

    row("patched JDK without agent: at most +0.5 % (geometric mean)", percent(cost, "patched", "stock", "wall_ms"), 0.5, "untraced")
    row("tracing, all workloads: run time at most +3 % (geometric mean)", percent(cost, "traced", "patched", "wall_ms"), 3, "traced")
    row("tracing, all workloads: GC time at most +10 % (geometric mean)", percent(cost, "traced", "patched", "gc_ms"), 10, "gc")
    worst = max(heavy(cost).items(), key=lambda item: ratio(item[1]["traced"], item[1]["patched"], "wall_ms"))
    within = [w for w, by in heavy(cost).items() if ratio(by["traced"], by["patched"], "wall_ms") <= 1.08]
    row(f"tracing, the {len(heavy(cost))} that allocate most: run time at most +8 % each ({len(within)} are; the worst is {worst[0]})",
        (ratio(worst[1]["traced"], worst[1]["patched"], "wall_ms") - 1) * 100, 8, "traced")
    for kind, most in (("raw", 2), ("stored", 0.6)):
        sizes = {w: median(by["traced"], kind + "_bytes") / median(by["traced"], "objects") for w, by in cost.items()}
        middle, largest = statistics.median(sizes.values()), max(sizes, key=sizes.get)
        row(f"bytes an object, {kind}: at most {most} (the largest is {largest}, {sizes[largest]:.2f}; the median of the workloads counts)",
            middle, most, "bytes", "{:.2f}")
    row("rotation in ten files on top of tracing: run time at most +2 % (geometric mean, wide bound)", percent(rotation, "wide", "traced", "wall_ms"), 2, "rotation")
    row("rotation: GC time at most +5 % (geometric mean, wide bound)", percent(rotation, "wide", "traced", "gc_ms"), 5, "rotation")
    asked = sum(run["stats"]["requested_collections"] for by in rotation.values() for run in by["wide"])
    row("emergency GCs, wide bound: none", asked, 0, "rotation", "{:.0f}")
    pauses = {(w, c): statistics.median(sync_pause(run) for run in by[c]) for w, by in rotation.items() for c in ("wide", "narrow")}
    largest = max(pauses, key=pauses.get)
    row(f"pause of a sync point to a plain collection's: at most 1.10 times (the largest is {', '.join(largest)})", pauses[largest], 1.1, "pause", "{:.2f}")
    bytes_each = {(w, c): by[c][0]["inside"]["bytes_per_live"] for w, by in rotation.items() for c in ("wide", "narrow")}
    row("a sync point: at most 4 raw bytes a live object (the largest)", max(bytes_each.values()), 4, "rotation", "{:.2f}")
    if "identity-hash" in cost:
        by = cost["identity-hash"]
        row("site in every object, worst-case HashSet: at most 1.02 times untraced", ratio(by["patched"], by["stock"], "wall_ms"), 1.02, "untraced", "{:.3f}")
    return rows


def table(data):
    rows = judged(data)
    lines = ["| goal | measured | |", "|---|---:|---|"]
    lines += [f"| {goal} | {value} | {'reached' if reached else 'missed'} |" for goal, value, reached, _ in rows]
    missed = dict.fromkeys(tried for _, _, reached, tried in rows if not reached)
    return lines + ([""] + [f"- {TRIED[key]}" for key in missed] if missed else [])
