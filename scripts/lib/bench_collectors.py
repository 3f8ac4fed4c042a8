# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-collectors.md: what tracing and rotation cost with each collector."""

import workloads
from bench_page import study_head
from bench_plan import COLLECTORS, STUDIES, of_collector, settings_of
from bench_rotation import attach_pause, sync_pauses
from bench_tables import against, mean_ratio, meanings, median, ratio_text, runs_of, spread, text

VALUES = ("wall_ms", "gc_ms", "cpu_s")
HEADS = ("run time", "GC time", "CPU time")


def traced(results):
    """One line a workload and collector, then the means."""
    lines = [
        "| workload | collector | patched: ms per iteration | to Parallel | "
        + " | ".join(f"traced to patched: {h}" for h in HEADS)
        + " | bytes per object: raw | stored |",
        "|---|---|" + "---:|" * 7,
    ]
    for workload, by in results.items():
        for collector in COLLECTORS:
            base, runs = (by[of_collector(c, collector)] for c in ("patched", "traced"))
            objects = median(runs, "objects")
            cells = [
                spread(base, "wall_ms"),
                ratio_text(base, by["patched"], "wall_ms"),
                *(ratio_text(runs, base, v) for v in VALUES),
                *(f"{median(runs, key) / objects:.2f}" for key in ("raw_bytes", "stored_bytes")),
            ]
            lines.append(f"| {workload} | {collector} | " + " | ".join(cells) + " |")
    return lines + means(results, "traced", "patched", before=2, after=2)


def rotated(results):
    lines = [
        "| workload | collector | bound | "
        + " | ".join(f"rotating to traced: {h}" for h in HEADS)
        + " | collections | sync points | sync pause to plain | requested |",
        "|---|---|---|" + "---:|" * 7,
    ]
    for workload, by in results.items():
        for collector in COLLECTORS:
            base, runs = (by[of_collector(c, collector)] for c in ("traced", "narrow"))
            cells = [
                settings_of(workload).narrow,
                *(ratio_text(runs, base, v) for v in VALUES),
                f"{median(runs, 'collections'):.0f}",
                f"{median(runs, 'sync_points') - 1:.0f}",
                text(sync_pauses(runs, base), "{:.2f}"),
                f"{median(runs, 'requested_collections'):.0f}",
            ]
            lines.append(f"| {workload} | {collector} | " + " | ".join(cells) + " |")
    return lines + means(results, "narrow", "traced", before=1, after=4)


def means(results, name, base, before, after):
    """before, after: empty cells around the means."""
    return [
        f"| geometric mean of {len(results)} | {collector} | "
        + "| " * before
        + " | ".join(
            text(mean_ratio(results, of_collector(name, collector), of_collector(base, collector), v))
            for v in VALUES
        )
        + " |" * (after + 1)
        for collector in COLLECTORS
    ]


def stopped(results):
    """One line a workload and collector, then the means. CPU and GC time are of the whole JVM,
    with the warm-up: not shown."""
    lines = [
        "| workload | collector | patched: ms per iteration | stopped: ms per iteration | "
        "stopped to patched: run time |",
        "|---|---|" + "---:|" * 3,
    ]
    for workload, by in results.items():
        for collector in COLLECTORS:
            base, runs = (by[of_collector(c, collector)] for c in ("patched", "stopped"))
            lines.append(
                f"| {workload} | {collector} | {spread(base, 'wall_ms')} | {spread(runs, 'wall_ms')} | "
                f"{ratio_text(runs, base, 'wall_ms')} |"
            )
    return lines + [
        f"| geometric mean of {len(results)} | {collector} | | | "
        + text(
            mean_ratio(
                results, of_collector("stopped", collector), of_collector("patched", collector), "wall_ms"
            )
        )
        + " |"
        for collector in COLLECTORS
    ]


def attached(results):
    lines = [
        "| workload | collector | listed objects | their MB | pause of the attach, ms | "
        "longest young collection, ms | pause of the attach to it |",
        "|---|---|" + "---:|" * 5,
    ]
    for workload, by in results.items():
        for collector in COLLECTORS:
            runs = by[of_collector("attached", collector)]
            listed = runs[0]["inside"]["listed"]
            cells = [
                f"{listed['objects']:,}",
                f"{listed['bytes'] / 1e6:,.0f}",
                spread(runs, "attach_ms"),
                spread(runs, "longest_young_ms"),
                text(attach_pause(runs), "{:.2f}"),
            ]
            lines.append(f"| {workload} | {collector} | " + " | ".join(cells) + " |")
    return lines


def of_attach(data):
    if not data["studies"].get("attach"):
        return ["Not measured."]
    return [
        *study_head(data, "attach"),
        *meanings(("attached",)),
        "- listed: what the first run's first sync point has",
        "- the longest young collection is one before the attach, untraced",
        "- a pause: a safepoint, without the time until threads reach it (`-Xlog:safepoint`)",
        "",
        *attached(runs_of(data["studies"]["attach"])),
    ]


def of_g1(data):
    if not data["studies"].get("g1"):
        return ["Not measured."]
    base, *names = STUDIES["g1"].configurations
    return [
        *study_head(data, "g1"),
        *meanings(names),
        "",
        "To g1-patched: the steady iterations' run time; GC time and CPU time of the whole run.",
        "",
        *against(runs_of(data["studies"]["g1"]), base, names),
    ]


def page(data):
    results = runs_of(data["studies"]["collectors"])
    return (
        "\n".join(
            [
                "# What tracing costs with each collector",
                "",
                "Written by `scripts/bench collectors after-stop attach g1`; do not edit. How it is measured "
                "and what an interval says: [measuring.md](measuring.md).",
                "",
                *study_head(data, "collectors"),
                *meanings(("patched", "traced", "narrow")),
                "- GC time is that of safepoints with a collection or, with G1, a remark; "
                "the sum over a whole run",
                "- heap sizes: "
                + ", ".join(f"{w} {workloads.WORKLOADS[w].heap}" for w in STUDIES["collectors"].workloads),
                "",
                "## Tracing",
                "",
                *traced(results),
                "",
                "## Rotation within a tight bound",
                "",
                "Sync pause: a collection that is a sync point to one that is none, with what later ones wait "
                "for its end. Requested: collections that the agent requested because none came in time. The "
                "first sync point, at the start, is not counted.",
                "",
                *rotated(results),
                "",
                "## After stop",
                "",
                *study_head(data, "after-stop"),
                *meanings(("stopped",)),
                "",
                *stopped(runs_of(data["studies"]["after-stop"])),
                "",
                "## Attaching",
                "",
                *of_attach(data),
                "",
                "## G1: all workloads",
                "",
                *of_g1(data),
            ]
        ).rstrip()
        + "\n"
    )
