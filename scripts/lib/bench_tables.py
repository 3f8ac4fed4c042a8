# SPDX-License-Identifier: Apache-2.0
"""What all tables of docs/benchmarks.md share, and those of run time and GC time."""

import statistics

from bench_plan import CONFIGURATIONS


def values(runs, key):
    return [run["stats"][key] if key in run.get("stats", {}) else run[key] for run in runs]


def median(runs, key):
    return statistics.median(values(runs, key))


def spread(runs, key, form="{:.0f}"):
    found = values(runs, key)
    low, middle, high = (form.format(v) for v in (min(found), statistics.median(found), max(found)))
    return f"{middle} ({low} to {high})"


def measured(runs):
    """Not one that died or was stopped."""
    return "wall_ms" in runs[0]


def excuse(runs, base):
    if "died" in runs[0]:
        return "died: " + runs[0]["died"]
    return f"stopped at {runs[0]['stopped_s'] / median(base, 'elapsed_s'):.0f} times"


def ratio(runs, base, key):
    other = median(base, key)
    return median(runs, key) / other if other else None


def ratio_text(runs, base, key):
    found = ratio(runs, base, key)
    return f"{found:.3f}" if found is not None else "-"


def more(runs, base, key):
    """In percent, as the paper has it."""
    found = ratio(runs, base, key)
    return f"{(found - 1) * 100:+.1f} %" if found is not None else "-"


def mean_ratio(by_workload, name, base, key):
    """Geometric mean over the workloads that have both; None if there is none."""
    found = [ratio(by[name], by[base], key) for by in by_workload.values() if measured(by[name])]
    found = [f for f in found if f]
    return statistics.geometric_mean(found) if found else None


def geomean(by_workload, name, base, key):
    found = mean_ratio(by_workload, name, base, key)
    return f"{(found - 1) * 100:+.1f} %" if found is not None else "-"


def runs_of(study):
    """{workload: {configuration: runs}} of what the results file has for a study."""
    return {workload: entry["runs"] for workload, entry in study.items()}


def megabytes_a_second(runs):
    """Allocated, over the JVM's whole life."""
    return statistics.median(run["stats"]["bytes"] / 1e6 / run["elapsed_s"] for run in runs)


def run_table(base, results):
    """All configurations of some workloads."""
    lines = []
    for workload, by in results.items():
        lines += [f"### {workload}", "",
                  f"| configuration | ms an iteration | to {base} | GC pauses, ms a run | to {base} | user+system s a run | to {base} |",
                  "|---|---:|---:|---:|---:|---:|---:|"]
        for name, runs in by.items():
            if not measured(runs):
                lines.append(f"| {name} | {excuse(runs, by[base])} | | | | | |")
                continue
            cells = [cell for key, form in (("wall_ms", "{:.0f}"), ("gc_ms", "{:.0f}"), ("cpu_s", "{:.1f}"))
                     for cell in (spread(runs, key, form), ratio_text(runs, by[base], key))]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def agent_table(results):
    """What the agent did in each configuration."""
    lines = ["| workload | trace | million objects | raw bytes an object | stored bytes an object | walk, ns an object | "
             "compression, CPU ms a run | writing, ms | waiting, ms | queue at most, KB |", "|---|---|" + "---:|" * 8]
    for workload, by in results.items():
        for name, runs in by.items():
            if "stats" not in runs[0]:
                continue
            objects = median(runs, "objects")
            lines.append(f"| {workload} | {name} | {objects / 1e6:.1f} | {median(runs, 'raw_bytes') / objects:.2f} | "
                         f"{median(runs, 'stored_bytes') / objects:.2f} | {median(runs, 'walk_ns') / objects:.1f} | "
                         f"{median(runs, 'compress_ns') / 1e6:.0f} | {median(runs, 'write_ns') / 1e6:.0f} | "
                         f"{median(runs, 'blocked_ns') / 1e6:.0f} | {median(runs, 'queue_high_water_bytes') / 1024:.0f} |")
    return lines


def cost(results):
    """One line a workload: stock, patched, traced."""
    lines = ["| workload | patched: ms an iteration | stock to patched: run time | GC time | CPU time | traced to patched: run time | GC time | CPU time | "
             "allocated, MB/s | bytes an object: raw | stored |", "|---|" + "---:|" * 10]
    for workload, by in results.items():
        base, traced = by["patched"], by["traced"]
        ratios = [ratio_text(by[c], base, key) for c in ("stock", "traced") for key in ("wall_ms", "gc_ms", "cpu_s")]
        objects = median(traced, "objects")
        lines.append(f"| {workload} | {spread(base, 'wall_ms')} | {' | '.join(ratios)} | {megabytes_a_second(traced):,.0f} | "
                     f"{median(traced, 'raw_bytes') / objects:.2f} | {median(traced, 'stored_bytes') / objects:.2f} |")
    for label, chosen in (("all", results), ("those that allocate most", heavy(results))):
        means = [mean_ratio(chosen, c, "patched", key) for c in ("stock", "traced") for key in ("wall_ms", "gc_ms", "cpu_s")]
        lines.append(f"| geometric mean of {label} ({len(chosen)}) | | " + " | ".join(f"{m:.3f}" for m in means) + " | | | |")
    return lines + ["| paper, mean of DaCapo, DaCapo Scala, SPECjvm (traced to untraced) | | | | | 1.047 | | | | about 5 an event | |",
                    "| paper, compiler.compiler, xml.validation, jython, factorie | | | | | 1.198, 1.167, 1.056, 1.260 | 1.561, 1.504, 1.314, 1.379 | | | | |"]


def heavy(results):
    """The half that allocates most in a second."""
    order = sorted(results, key=lambda w: -megabytes_a_second(results[w]["traced"]))
    return {w: results[w] for w in order[:(len(order) + 1) // 2]}


def sites(results):
    """What it costs that every object carries its allocation site: the patched JDK to the stock one."""
    paper = {"javac": "+2.9 %", "javac-xml": "+2.9 %", "derby": "+5.5 %", "serial": "+1.8 %", "sunflow": "+1.4 %",
             "xml.transform": "+6.4 %", "xml.validation": "-0.1 %", "identity-hash": "+2,291 %", "scala-fun": "+103 %"}
    lines = ["| workload | run time | spread of stock | spread of patched | paper: sites in the hash |", "|---|---:|---:|---:|---:|"]
    for workload, by in results.items():
        if workload in paper:
            lines.append(f"| {workload} | {more(by['patched'], by['stock'], 'wall_ms')} | {width(by['stock'])} | {width(by['patched'])} | {paper[workload]} |")
    return lines + [f"| geometric mean of all {len(results)} | {geomean(results, 'patched', 'stock', 'wall_ms')} | | | +2.9 % (of seven) |"]


def width(runs):
    middle = median(runs, "wall_ms")
    found = values(runs, "wall_ms")
    return f"{(min(found) / middle - 1) * 100:+.1f} to {(max(found) / middle - 1) * 100:+.1f} %"


# Run time and GC time in percent of those without monitoring (Lengauer, Bitto, Mössenböck: "Building Custom, Efficient, and
# Accurate Memory Monitoring Tools for Java Applications", ICPE 2016, figures 2 and 3): dumps, instrumentation, AntTracks.
PAPER_TECHNIQUES = {
    "compiler.compiler": (("279.2", "crashed", "119.8"), ("102.8", "crashed", "156.1")),
    "mpegaudio": (("102.4", "104.2", "100.4"), ("100.0", "2922.2", "88.8")),
    "xml.validation": (("378.2", "crashed", "116.7"), ("124.7", "crashed", "150.4")),
    "avrora": (("102.5", "113.8", "100.0"), ("100.0", "29700.0", "133.3")),
    "jython": (("213.7", "515.0", "105.6"), ("125.7", "48408.5", "131.4")),
    "factorie": (("377.3", "crashed", "126.0"), ("167.2", "crashed", "137.9")),
    "scalaxb": (("135.1", "255.8", "103.1"), ("101.4", "13466.6", "133.3")),
}


def techniques(results, key, which):
    """key: of a run; which: 0 for run time, 1 for GC time, in the paper's table."""
    names = [c for c in next(iter(results.values())) if c != "stock"]
    lines = ["| workload | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for workload, by in results.items():
        cells = []
        for name in names:
            runs = by[name]
            cells.append(f"{ratio(runs, by['stock'], key) * 100:.1f} %" if measured(runs) else excuse(runs, by["stock"]))
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    means = []
    for name in names:
        found, count = mean_ratio(results, name, "stock", key), sum(measured(by[name]) for by in results.values())
        means.append("-" if found is None else f"{found * 100:.1f} %" + (f" (of {count})" if count < len(results) else ""))
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    for benchmark, row in PAPER_TECHNIQUES.items():
        cell = dict(zip(("dumps", "deaths", "traced"), row[which]))
        lines.append(f"| paper, {benchmark} | " + " | ".join(cell.get(n, "") + (" %" if cell.get(n, "c")[0] != "c" else "") for n in names) + " |")
    return lines


def dumps_note(results):
    """How many dumps there were for how many collections."""
    found = [f"{workload} {median(by['dumps'], 'dumps'):.0f} dumps, {median(by['stock'], 'pauses'):.0f} collections without them"
             for workload, by in results.items() if measured(by["dumps"])]
    return "; ".join(found) or "none ended"


def meanings(names):
    return [f"- **{name}**: {CONFIGURATIONS[name].meaning}" for name in names]
