# SPDX-License-Identifier: Apache-2.0
"""Tables of compression, rotation, sync points and quality, beside those of the paper (Lengauer, Bitto,
Mössenböck: "Efficient and Viable Handling of Large Object Traces", ICPE 2016, figures 9 to 13, 17, 18)."""

import bench_stats
from bench_plan import settings_of
from bench_tables import geomean, median, more, text


def compression(results):
    lines = [
        "| workload | size: full | partial | run time: full | partial | CPU time: "
        "full | partial | chunks compressed: full | partial |",
        "|---|" + "---:|" * 8,
    ]
    for workload, by in results.items():
        off = by["uncompressed"]
        size = [
            f"{median(by[c], 'stored_bytes') / median(by[c], 'raw_bytes') * 100:.1f} %"
            for c in ("traced", "partial")
        ]
        rest = [more(by[c], off, key) for key in ("wall_ms", "cpu_s") for c in ("traced", "partial")]
        part = [
            f"{median(by[c], 'compressed_chunks') / max(1, median(by[c], 'chunks')) * 100:.0f} %"
            for c in ("traced", "partial")
        ]
        lines.append(f"| {workload} | " + " | ".join(size + rest + part) + " |")
    mean = [
        geomean(results, c, "uncompressed", key) for key in ("wall_ms", "cpu_s") for c in ("traced", "partial")
    ]
    return lines + [
        "| geometric mean | | | " + " | ".join(mean) + " | | |",
        "| paper, compiler.compiler | 32.1 % | 86.0 % | +23.8 % | +2.4 % | | | | |",
        "| paper, mean of 7 | 21.6 % | 89.7 % | +21.9 % | +2.3 % | | | | |",
    ]


def sides(results):
    lines = ["| workload | events of | raw MB | stored | ns a byte |", "|---|---|---:|---:|---:|"]
    for workload, by in results.items():
        for side, name in (("threads", "application threads"), ("collector", "collector")):
            values = by["uncompressed"][0]["inside"]["compression"][side]
            if values["raw_bytes"]:
                lines.append(
                    f"| {workload} | {name} | {values['raw_bytes'] / 1e6:.1f} | "
                    f"{values['stored_bytes'] / values['raw_bytes'] * 100:.1f} % | "
                    f"{values['ns_per_byte']:.2f} |"
                )
    return lines


def sync_pauses(runs, alone):
    """Of each run a collection's mean pause with what a sync point adds, to that without; as an Estimate.
    alone: runs of the same rounds that do not rotate. Their only sync point is the one at the start, which
    every run has and which is no collection."""
    return bench_stats.estimate([_sync_pause(run, other) for run, other in zip(runs, alone)])


def _sync_pause(run, alone):
    stats = run["stats"]
    added = (stats["sync_pause_ns"] - alone["stats"]["sync_pause_ns"]) / 1e6
    plain = (run["gc_ms"] - added) / stats["collections"]
    return 1 + added / max(1, stats["sync_points"] - 1) / plain


def attach_pause(runs):
    """Of each run the pause in which the agent came to its longest young collection; as an Estimate."""
    return bench_stats.estimate([run["attach_ms"] / run["longest_young_ms"] for run in runs])


def rotation(results):
    lines = [
        "| workload | bound | run time | GC time | CPU time | collections | sync points | share | requested | "
        "sync pause to plain | files | lost |",
        "|---|" + "---:|" * 11,
    ]
    for workload, by in results.items():
        for name in ("wide", "narrow", "kept"):
            runs, base = by[name], by["traced"]
            collections, points = (
                median(runs, "collections"),
                median(runs, "sync_points") - 1,
            )  # the first one is the start's
            bound = settings_of(workload).wide if name == "wide" else settings_of(workload).narrow
            pause = text(sync_pauses(runs, base), "{:.2f}")
            lines.append(
                f"| {workload} | {bound}{', keep=yes' if name == 'kept' else ''} | "
                f"{more(runs, base, 'wall_ms')} | {more(runs, base, 'gc_ms')} | {more(runs, base, 'cpu_s')} | "
                f"{collections:.0f} | {points:.0f} | {points / collections * 100:.1f} % | "
                f"{median(runs, 'requested_collections'):.0f} | {pause} | {median(runs, 'files'):.0f} | "
                f"{max(run['stats']['lost_bytes'] + run['stats']['dropped_bytes'] for run in runs)} |"
            )
    for name in ("wide", "narrow", "kept"):
        mean = [geomean(results, name, "traced", key) for key in ("wall_ms", "gc_ms", "cpu_s")]
        lines.append(f"| geometric mean | {name} | " + " | ".join(mean) + " | | | | | | | |")
    return lines + [
        "| paper, compiler.compiler | 8 GB | +68.7 % | +41.6 % | | | | 17.9 % | 0 | | | |",
        "| paper, mean of 7 (figures 10, 12) | 8 GB | +45.0 % | +35.2 % | | | | 9.2 % | 0 | | | |",
        "| paper, compiler.compiler, with sites (figure 17) | 8 GB | +75.4 % | +43.1 % | | | | 11.7 % | 0 | | "
        "| |",
        "| paper, mean of all benchmarks, with sites (figure 17) | 8 GB | +6.5 % | +15.5 % | | | | 5.2 % | 0 "
        "| | | |",
    ]


def sizes(results):
    lines = [
        "| workload | a plain collection's events, MB | a sync point's, "
        "MB | on top | live objects | raw bytes a live object |",
        "|---|" + "---:|" * 5,
    ]
    for workload, by in results.items():
        plain, inside = by["traced"][0]["inside"]["bytes_per_gc"], by["narrow"][0]["inside"]
        lines.append(
            f"| {workload} | {plain / 1e6:.2f} | {inside['bytes_per_sync'] / 1e6:.2f} | "
            f"{inside['bytes_per_sync'] / plain * 100:+.0f} % | {inside['live_objects']:,.0f} | "
            f"{inside['bytes_per_live']:.2f} |"
        )
    return lines + [
        "| paper, compiler.compiler | 25.16 | | +1,379 % | | |",
        "| paper, the seven | 0.1 to 25.16 | | +252 to +22,388 % | | |",
    ]


def keep(results):
    lines = [
        "| workload | files deleted | provenance files | lost | CPU s a run |",
        "|---|---:|---:|---:|---:|",
    ]
    for workload, by in results.items():
        runs = by["kept"]
        lines.append(
            f"| {workload} | {max(0, median(runs, 'files') - 10):.0f} at least | "
            f"{median(runs, 'provenance_files'):.0f} | {median(runs, 'lost_provenance'):.0f} | "
            f"{median(runs, 'provenance_ns') / 1e9:.2f} |"
        )
    return lines


def quality(results):
    def row(label, rows, key):
        shares = [f"{r[key] / r['objects'] * 100:.1f}" if r["objects"] else "-" for r in rows] + ["-"] * (
            10 - len(rows)
        )
        return f"| {label} | " + " | ".join(shares) + " |"

    lines = [
        "| workload | what | sync point | " + " | ".join(f"GC {i}" for i in range(1, 10)) + " |",
        "|---|---|" + "---:|" * 10,
    ]
    for workload, by in results.items():
        for name in ("narrow", "kept"):
            rows = by[name][0]["inside"]["quality"]
            lines += [
                row(f"{workload}, {name} | {what}", rows, key)
                for what, key in (("site", "with_site"), ("everything", "complete"))
            ]
    return lines + ["| paper, mean | everything | 74 | | | | | | | | | |"]
