# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md from the values that scripts/bench measured, beside those of the paper (Lengauer, Bitto, Mössenböck:
"Efficient and Viable Handling of Large Object Traces", ICPE 2016)."""

import statistics

from bench_plan import CONFIGURATIONS, WORKLOADS


def median(runs, key):
    return statistics.median(run["stats"][key] if key in run.get("stats", {}) else run[key] for run in runs)


def spread(runs, key, form="{:.0f}"):
    values = [run[key] for run in runs]
    low, middle, high = (form.format(v) for v in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def ratio(runs, base, key):
    other = median(base, key)
    return f"{median(runs, key) / other:.3f}" if other else "-"


def more(runs, base, key):
    """In percent, as the paper has it."""
    return f"{(median(runs, key) / median(base, key) - 1) * 100:+.1f} %"


def geomean(by_workload, name, base, key):
    values = [median(by[name], key) / median(by[base], key) for by in by_workload.values()]
    return f"{(statistics.geometric_mean(values) - 1) * 100:+.1f} %"


def cost_tables(data):
    lines = []
    for workload, by in data["results"].items():
        base = by.get("patched") or next(iter(by.values()))
        lines += [f"### {workload}", "",
                  "| configuration | ms an iteration | to patched | GC pauses, ms a run | to patched | user+system s a run | to patched |",
                  "|---|---:|---:|---:|---:|---:|---:|"]
        for name, runs in by.items():
            lines.append(f"| {name} | {spread(runs, 'wall_ms')} | {ratio(runs, base, 'wall_ms')} | {spread(runs, 'gc_ms')} | "
                         f"{ratio(runs, base, 'gc_ms')} | {spread(runs, 'cpu_s', '{:.1f}')} | {ratio(runs, base, 'cpu_s')} |")
        traced = {name: runs for name, runs in by.items() if "stats" in runs[0]}
        if traced:
            lines += ["", "| trace | million objects | raw bytes an object | stored bytes an object | walk, ns an object | "
                      "compression, CPU ms a run | writing, ms | waiting, ms | queue at most, KB |", "|---|" + "---:|" * 8]
        for name, runs in traced.items():
            objects = median(runs, "objects")
            lines.append(f"| {name} | {objects / 1e6:.1f} | {median(runs, 'raw_bytes') / objects:.2f} | "
                         f"{median(runs, 'stored_bytes') / objects:.2f} | {median(runs, 'walk_ns') / objects:.1f} | "
                         f"{median(runs, 'compress_ns') / 1e6:.0f} | {median(runs, 'write_ns') / 1e6:.0f} | "
                         f"{median(runs, 'blocked_ns') / 1e6:.0f} | {median(runs, 'queue_high_water_bytes') / 1024:.0f} |")
        lines.append("")
    return lines


def compression_table(results):
    lines = ["| workload | size: full | partial | run time: full | partial | CPU time: full | partial | chunks compressed: full | partial |",
             "|---|" + "---:|" * 8]
    for workload, by in results.items():
        off = by["uncompressed"]
        size = [f"{median(by[c], 'stored_bytes') / median(by[c], 'raw_bytes') * 100:.1f} %" for c in ("traced", "partial")]
        rest = [more(by[c], off, key) for key in ("wall_ms", "cpu_s") for c in ("traced", "partial")]
        part = [f"{median(by[c], 'compressed_chunks') / max(1, median(by[c], 'chunks')) * 100:.0f} %" for c in ("traced", "partial")]
        lines.append(f"| {workload} | " + " | ".join(size + rest + part) + " |")
    mean = [geomean(results, c, "uncompressed", key) for key in ("wall_ms", "cpu_s") for c in ("traced", "partial")]
    return lines + ["| geometric mean | | | " + " | ".join(mean) + " | | |",
                    "| paper, compiler.compiler | 32.1 % | 86.0 % | +23.8 % | +2.4 % | | | | |",
                    "| paper, mean of 7 | 21.6 % | 89.7 % | +21.9 % | +2.3 % | | | | |"]


def sides_table(results):
    lines = ["| workload | events of | raw MB | stored | ns a byte |", "|---|---|---:|---:|---:|"]
    for workload, by in results.items():
        for side, name in (("threads", "application threads"), ("collector", "collector")):
            values = by["uncompressed"][0]["inside"]["compression"][side]
            if values["raw_bytes"]:
                lines.append(f"| {workload} | {name} | {values['raw_bytes'] / 1e6:.1f} | "
                             f"{values['stored_bytes'] / values['raw_bytes'] * 100:.1f} % | {values['ns_per_byte']:.2f} |")
    return lines


def sync_pause(run):
    """A collection's mean pause with what a sync point adds, to that without."""
    added = run["stats"]["sync_pause_ns"] / 1e6
    plain = (run["gc_ms"] - added) / run["stats"]["collections"]
    return 1 + added / max(1, run["stats"]["sync_points"] - 1) / plain


def rotation_table(results):
    lines = ["| workload | bound | run time | GC time | CPU time | collections | sync points | share | asked for | sync pause to plain | "
             "files | lost |", "|---|" + "---:|" * 11]
    for workload, by in results.items():
        for name in ("wide", "narrow", "kept"):
            runs, base = by[name], by["traced"]
            collections, points = median(runs, "collections"), median(runs, "sync_points") - 1  # the first one is the start's
            bound = WORKLOADS[workload].wide if name == "wide" else WORKLOADS[workload].narrow
            pause = statistics.median(sync_pause(run) for run in runs)
            lines.append(f"| {workload} | {bound}{', keep=yes' if name == 'kept' else ''} | {more(runs, base, 'wall_ms')} | {more(runs, base, 'gc_ms')} | "
                         f"{more(runs, base, 'cpu_s')} | {collections:.0f} | {points:.0f} | {points / collections * 100:.1f} % | "
                         f"{median(runs, 'requested_collections'):.0f} | {pause:.2f} | {median(runs, 'files'):.0f} | "
                         f"{max(run['stats']['lost_bytes'] + run['stats']['dropped_bytes'] for run in runs)} |")
    for name in ("wide", "narrow", "kept"):
        mean = [geomean(results, name, "traced", key) for key in ("wall_ms", "gc_ms", "cpu_s")]
        lines.append(f"| geometric mean | {name} | " + " | ".join(mean) + " | | | | | | | |")
    return lines + ["| paper, compiler.compiler | 8 GB | +68.7 % | +41.6 % | | | | 17.9 % | 0 | | | |",
                    "| paper, mean of 7 (figures 10, 12) | 8 GB | +45.0 % | +35.2 % | | | | 9.2 % | 0 | | | |",
                    "| paper, compiler.compiler, with sites (figure 17) | 8 GB | +75.4 % | +43.1 % | | | | 11.7 % | 0 | | | |",
                    "| paper, mean of all benchmarks, with sites (figure 17) | 8 GB | +6.5 % | +15.5 % | | | | 5.2 % | 0 | | | |"]


def size_table(results):
    lines = ["| workload | a plain collection's events, MB | a sync point's, MB | on top | live objects | raw bytes a live object |",
             "|---|" + "---:|" * 5]
    for workload, by in results.items():
        plain, inside = by["traced"][0]["inside"]["bytes_per_gc"], by["narrow"][0]["inside"]
        lines.append(f"| {workload} | {plain / 1e6:.2f} | {inside['bytes_per_sync'] / 1e6:.2f} | {inside['bytes_per_sync'] / plain * 100:+.0f} % | "
                     f"{inside['live_objects']:,.0f} | {inside['bytes_per_live']:.2f} |")
    return lines + ["| paper, compiler.compiler | 25.16 | | +1,379 % | | |", "| paper, the seven | 0.1 to 25.16 | | +252 to +22,388 % | | |"]


def keep_table(results):
    lines = ["| workload | files deleted | folded | CPU s of the folds a run |", "|---|---:|---:|---:|"]
    for workload, by in results.items():
        runs = by["kept"]
        lines.append(f"| {workload} | {max(0, median(runs, 'files') - 10):.0f} at least | {median(runs, 'folded_files'):.0f}, not in time "
                     f"{median(runs, 'unfolded_files'):.0f} | {median(runs, 'fold_cpu_ns') / 1e9:.1f} |")
    return lines


def quality_table(results):
    def row(label, rows, key):
        shares = [f"{r[key] / r['objects'] * 100:.1f}" if r["objects"] else "-" for r in rows] + ["-"] * (10 - len(rows))
        return f"| {label} | " + " | ".join(shares) + " |"

    lines = ["| workload | what | sync point | " + " | ".join(f"GC {i}" for i in range(1, 10)) + " |", "|---|---|" + "---:|" * 10]
    for workload, by in results.items():
        for name in ("narrow", "kept"):
            rows = by[name][0]["inside"]["quality"]
            lines += [row(f"{workload}, {name} | {what}", rows, key)
                      for what, key in (("site", "with_site"), ("everything", "complete"))]
    return lines + ["| paper, mean | everything | 74 | | | | | | | | | |"]


def page(data):
    run, results = data["settings"], data["results"]
    return "\n".join([
        "# What tracing costs", "",
        "Written by `scripts/bench`; do not edit. The single values are in `build/bench/results.json` after a run. \"Paper\" is Lengauer, Bitto,",
        "Mössenböck: Efficient and Viable Handling of Large Object Traces, ICPE 2016: other benchmarks, another machine, another JVM; only ratios compare.", "",
        f"- {data['date']}, {data['machine']}, JDK {data['versions']['patched']}, stock {data['versions']['stock']}",
        *[f"- **{name}**: {CONFIGURATIONS[name].meaning}" for name in CONFIGURATIONS],
        f"- {run['runs']} runs of each, taking turns; a run is one JVM with {run['warmup']} warm-up and {run['iterations']} measured "
        "iterations (four times as many of allocate), of which the median counts; Parallel collector",
        "- median over the runs (lowest to highest); ratios are of medians; pauses are safepoints with a collection, the sum over a whole run;"
        " CPU time includes JVM start, compilers, GC workers and the agent's threads",
        "- the agent's own times and counts are those that it writes to `stats=`",
        *[f"- {name}: {w.meaning}; `{' '.join(w.flags)}`" for name, w in WORKLOADS.items()], "",
        "## Run time, GC time, bytes", "", *cost_tables(data),
        "## Compression (paper: figures 9 and 11)", "",
        "Size: stored bytes to raw ones. Run time and CPU time: to the same without compression.", "", *compression_table(results), "",
        "Snappy on the events of each side by themselves, chunks of 256 KB, one thread. The events of the collector gain less than those of the threads.", "",
        *sides_table(results), "",
        "## Rotation (paper: figures 10, 12, 17)", "",
        "Run time, GC time and CPU time: to traced without rotation, which has the allocation sites, too. Asked for: collections that the agent "
        "requested because none came in time (emergency GCs). Lost: bytes of events that were dropped. The CPU time of keep=yes includes that of its processes.", "",
        *rotation_table(results), "",
        "## Size of collections and sync points (paper: figure 13)", "", "Raw bytes. On top: the sync point's to those of a plain collection.", "",
        *size_table(results), "",
        "## Information quality after a cut (paper: figure 18)", "",
        "Percent of the live objects of which the allocation site, and of which everything (class, size, site, thread, time) is known, at the first "
        "sync point and after the collections that follow, in the files that are left at the end.", "", *quality_table(results), "",
        "## What keep=yes does", "", *keep_table(results)]).rstrip() + "\n"
