# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md from the values that scripts/bench measured, beside those of the papers."""

import bench_goals
import bench_rotation
import bench_tables
import capabilities
import workloads
from bench_plan import CONFIGURATIONS, STUDIES, settings_of
from bench_tables import runs_of


def study_head(data, name):
    entries = data["studies"][name]
    skipped = [w for w in STUDIES[name].workloads if w not in entries]
    settings = {tuple(sorted(entry["settings"].items())): entry["settings"] for entry in entries.values()}
    lines = [f"- {s['date']}: {s['runs']} runs of each, taking turns; a run is one JVM with {s['warmup']} warm-up and {s['iterations']} "
             f"measured iterations, of which the median counts: {', '.join(w for w, e in entries.items() if e['settings'] == s)}"
             for s in settings.values()]
    if skipped:
        lines.append(f"- not measured: {', '.join(skipped)}")
    return lines


def head(data):
    place = data["where"]
    more = [w for names in (entries.keys() for entries in data["studies"].values()) for w in names if settings_of(w).repeat > 1]
    return [
        "# What tracing costs", "",
        "Written by `scripts/bench`; do not edit. The single values are in `build/bench/results.json` after a run; `scripts/bench --compare OLD.json`",
        "shows what became slower. \"Paper\" is one of two by Lengauer, Bitto, Mössenböck at ICPE 2016, \"Efficient and Viable Handling of Large Object",
        "Traces\" or, for techniques, \"Building Custom, Efficient, and Accurate Memory Monitoring Tools for Java Applications\": other benchmarks, another "
        "machine, another JVM; only ratios compare.", "",
        f"- {place['machine']}; JDK {place['patched']}, stock {place['stock']}; Parallel collector",
        *bench_tables.meanings([name for name, c in CONFIGURATIONS.items() if c.collector == "Parallel"]),
        "- figures are the median over the runs (lowest to highest); ratios are of medians; GC time is that of safepoints with a collection, the sum over a whole "
        "run; CPU time includes JVM start, compilers, GC workers and the agent's threads and processes",
        "- the agent's own times and counts are those that it writes to `stats=`",
        *[f"- {w}: {settings_of(w).repeat} times as many iterations" for w in dict.fromkeys(more)],
        "- workloads: [harness.md](harness.md); heap sizes: " + ", ".join(f"{w} {v.heap}" for w, v in workloads.WORKLOADS.items()),
        "- the other collectors: [benchmarks-collectors.md](benchmarks-collectors.md)", ""]


def rotation_part(data):
    results = runs_of(data["studies"]["rotation"])
    return [
        "## Compression (paper: figures 9 and 11)", "", *study_head(data, "rotation"), "",
        "Size: stored bytes to raw ones. Run time and CPU time: to the same without compression.", "", *bench_rotation.compression(results), "",
        "Snappy on the events of each side by themselves, chunks of 256 KB, one thread: no setting of one side alone would be worth its name.", "",
        *bench_rotation.sides(results), "",
        "## Rotation (paper: figures 10, 12, 17)", "",
        "Run time, GC time and CPU time: to traced without rotation, which has the allocation sites, too. Asked for: collections that the agent "
        "requested because none came in time (emergency GCs). Lost: bytes of events that were dropped. The CPU time of keep=yes includes that of its processes.", "",
        *bench_rotation.rotation(results), "",
        "## Size of collections and sync points (paper: figure 13)", "", "Raw bytes. On top: the sync point's to those of a plain collection.", "",
        *bench_rotation.sizes(results), "",
        "## Information quality after a cut (paper: figure 18)", "",
        "Percent of the live objects of which the allocation site, and of which everything (class, size, site, thread, time) is known, at the first "
        "sync point and after the collections that follow, in the files that are left at the end.", "", *bench_rotation.quality(results), "",
        "## What keep=yes does", "", *bench_rotation.keep(results), "",
        "A fold reads every event of a file and rebuilds the heap, which takes about as long as making them took: a program that allocates without a pause "
        "on all cores is ahead of it, and files that must go go unfolded.", "",
        "## All values", "", *bench_tables.run_table("traced", results), *bench_tables.agent_table(results)]


def page(data):
    cost, techniques = (runs_of(data["studies"][s]) for s in ("cost", "techniques"))
    return "\n".join([
        *head(data),
        "## Goals", "", *bench_goals.table(data), "",
        "## Run time, GC time, bytes of all workloads", "", *study_head(data, "cost"), "", *bench_tables.cost(cost), "",
        "## Allocation sites (paper: figure 14)", "",
        "Every object carries its site from the start, with and without the agent: what that costs is the patched JDK to the stock one.", "",
        *bench_tables.sites(cost), "",
        "## Techniques: run time (paper on techniques: figure 2)", "", *study_head(data, "techniques"), "",
        f"In percent of the stock JDK without agent. Dumps: {bench_tables.dumps_note(techniques)}.", "",
        *bench_tables.techniques(techniques, "wall_ms", 0), "",
        "## Techniques: GC time (paper on techniques: figure 3)", "", *bench_tables.techniques(techniques, "gc_ms", 1), "",
        "## Techniques: what each can tell (paper on techniques: figure 1)", "", *capabilities.table(), "",
        *rotation_part(data)]).rstrip() + "\n"
