# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md from the values that scripts/bench measured, beside those of the papers."""

import bench_goals
import bench_rotation
import bench_tables
import capabilities
import workloads
from bench_plan import CONFIGURATIONS, STUDIES, settings_of
from bench_results import remark
from bench_tables import runs_of

PAGE = "benchmarks"
# Other studies have pages of their own.
CONFIGURATIONS_HERE = {name for s in STUDIES.values() if s.page == PAGE for name in s.configurations}


def stock_of(study, settings):
    """The version of the stock JDK, where the study runs it."""
    return f", stock {settings['stock']}{remark(study, settings)}" if STUDIES[study].runs_stock() else ""


def study_head(data, name):
    """How, when and where, for each way in which workloads of the study were measured."""
    entries, study = data["studies"][name], STUDIES[name]
    groups = {}
    for workload, entry in entries.items():
        groups.setdefault(tuple(sorted(entry["settings"].items())), []).append(workload)
    lines = []
    for key, names in groups.items():
        s = dict(key)
        libraries = [c for c in study.configurations if CONFIGURATIONS[c].library and c in s]
        versions = "".join(f", {c} {s[c]}" for c in libraries)
        lines.append(
            f"- {'**quick**, ' if s['quick'] else ''}{s['date']}, commit {s['commit']}, {s['machine']}; JDK "
            f"{s['patched']}{stock_of(name, s)}{versions}: {s['pairs']} pairs, a run of "
            f"each configuration in turn; a run is one JVM with {s['warmup']} warm-up and {s['iterations']} "
            f"measured iterations, of which the median of the second half counts: {', '.join(names)}"
        )
    skipped = [w for w in study.workloads if w not in entries]
    absent = {c: [w for w, e in entries.items() if c not in e["runs"]] for c in study.configurations}
    if skipped:
        lines.append(f"- not measured: {', '.join(skipped)}")
    return lines + [f"- {c} not measured on {', '.join(names)}" for c, names in absent.items() if names]


def head(data):
    more = [
        w
        for names in (entries.keys() for entries in data["studies"].values())
        for w in names
        if settings_of(w).repeat > 1
    ]
    quick = any(
        entry["settings"]["quick"] for by_workload in data["studies"].values() for entry in by_workload.values()
    )
    return [
        "# What tracing costs",
        "",
        *(["**Quick**: few workloads, few pairs. A first look, no figure to quote.", ""] if quick else []),
        "Written by `scripts/bench` from the single values in [benchmarks.json](benchmarks.json); do not "
        "edit. How it is measured, and what an interval and",
        '"not known" say: [measuring.md](measuring.md). "Paper" is one of two by Lengauer, Bitto, Mössenböck '
        'at ICPE 2016, "Efficient and Viable Handling of Large Object',
        'Traces" or, for techniques, "Building Custom, Efficient, and Accurate Memory Monitoring Tools for '
        'Java Applications": other benchmarks, another machine, another JVM; only ratios compare.',
        "",
        *bench_tables.meanings(
            [name for name in CONFIGURATIONS if name in CONFIGURATIONS_HERE]
        ),
        "- Parallel collector; a time is the median over the runs (lowest to highest); a ratio is the median "
        "of the pairs' ratios with its 95 % interval, "
        '"not known" where the interval holds 1, no difference, and where a difference under 5 % has fewer '
        "than ten pairs; GC time is that of safepoints with a collection, the sum over a whole run; CPU time "
        "is of the whole run, too, with JVM start, compilers, GC workers and the agent's threads",
        "- the agent's own times and counts are those that it writes to `stats=`",
        *[f"- {w}: {settings_of(w).repeat} times as many iterations" for w in dict.fromkeys(more)],
        "- workloads: [harness.md](harness.md); heap sizes: "
        + ", ".join(f"{w} {v.heap}" for w, v in workloads.WORKLOADS.items() if not v.special),
        "- the other collectors: [benchmarks-collectors.md](benchmarks-collectors.md)",
        "",
    ]


def cost_part(data):
    results = runs_of(data["studies"]["cost"])
    return [
        "## Run time, GC time, bytes of all workloads",
        "",
        *study_head(data, "cost"),
        "",
        *bench_tables.cost(results),
        *bench_tables.warm_up(results),
        "",
        "## With a budget, and rotated",
        "",
        "To patched: the steady iterations' run time; GC time and CPU time of the whole run.",
        "",
        *bench_tables.against(results, "patched", ("budget", "wide")),
        "",
        "What a JVM without an agent pays for the site in each object is too little for pairs of runs: "
        "[benchmarks-patch.md](benchmarks-patch.md) has",
        "it by CPU samples, [benchmarks-sites.md](benchmarks-sites.md) beside the paper's figure 14.",
        "",
    ]


def objects_part(data):
    return [
        "## What an object costs",
        "",
        *study_head(data, "objects"),
        "",
        "CPU time of all threads, compilers included, in all iterations that are measured, traced and without "
        "the agent; the objects are those that were made in them.",
        "",
        *bench_tables.objects(runs_of(data["studies"]["objects"])),
        "",
    ]


def profilers_part(data):
    return [
        "## Beside profilers that sample",
        "",
        *study_head(data, "profilers"),
        "",
        "To the stock JDK without any of them. They tell of some objects, tracing of all: "
        "this says what that costs, not that they tell the same.",
        "",
        *bench_tables.profilers(runs_of(data["studies"]["profilers"])),
        "",
    ]


def techniques_part(data):
    results = runs_of(data["studies"]["techniques"])
    return [
        "## Techniques: run time (paper on techniques: figure 2)",
        "",
        *study_head(data, "techniques"),
        "",
        f"To the stock JDK without agent. Dumps: {bench_tables.dumps_note(results)}.",
        "",
        *bench_tables.techniques(results, "wall_ms", 0),
        "",
        "## Techniques: GC time (paper on techniques: figure 3)",
        "",
        *bench_tables.techniques(results, "gc_ms", 1),
        "",
    ]


def walkers_part(data):
    return [
        "## Walkers",
        "",
        *study_head(data, "walkers"),
        "",
        "To traced without them (unaided): below 1 they help ([decision 6](decisions/0006-readers.md)).",
        "",
        *bench_tables.against(runs_of(data["studies"]["walkers"]), "unaided", ("traced",)),
        "",
    ]


def rotation_part(data):
    results = runs_of(data["studies"]["rotation"])
    return [
        "## Compression (paper: figures 9 and 11)",
        "",
        *study_head(data, "rotation"),
        "",
        "Size: stored bytes to raw ones. Run time and CPU time: to the same without compression.",
        "",
        *bench_rotation.compression(results),
        "",
        "Snappy on the events of each side by themselves, chunks of 256 KB, one thread: no setting of one "
        "side alone would be worth its name.",
        "",
        *bench_rotation.sides(results),
        "",
        "## Rotation (paper: figures 10, 12, 17)",
        "",
        "Run time, GC time and CPU time: to traced without rotation, which has the allocation sites, too. "
        "Requested: collections that the agent requested because none came in time. Lost: "
        "bytes of events that were dropped.",
        "",
        *bench_rotation.rotation(results),
        "",
        "## Size of collections and sync points (paper: figure 13)",
        "",
        "Raw bytes. On top: the sync point's to those of a plain collection.",
        "",
        *bench_rotation.sizes(results),
        "",
        "## Information quality after a cut (paper: figure 18)",
        "",
        "Percent of the live objects of which the allocation site, and of which everything (class, size, "
        "site, thread, time) is known, at the first sync point and after the collections that follow, "
        "in the files that are left at the end.",
        "",
        *bench_rotation.quality(results),
        "",
        "## What keep=yes does",
        "",
        *bench_rotation.keep(results),
        "",
        "The CPU time is that of following live objects through collections, without what GC workers note in "
        "pauses ([decision 5](decisions/0005-keep.md)).",
        "",
        "## All values",
        "",
        *bench_tables.run_table("traced", results),
        *bench_tables.agent_table(results),
    ]


PARTS = {
    "cost": cost_part,
    "objects": objects_part,
    "profilers": profilers_part,
    "walkers": walkers_part,
    "techniques": techniques_part,
    "rotation": rotation_part,
}


def page(data):
    lines = [*head(data), "## Goals", "", *bench_goals.table(data), ""]
    for study, part in PARTS.items():
        lines += (
            part(data)
            if data["studies"].get(study)
            else [f"## {STUDIES[study].meaning.capitalize()}", "", "Not measured.", ""]
        )
        if study == "techniques":
            lines += [
                "## Techniques: what each can tell (paper on techniques: figure 1)",
                "",
                *capabilities.table(),
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"
