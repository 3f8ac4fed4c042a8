# SPDX-License-Identifier: Apache-2.0
"""What all tables of docs/benchmarks.md share, and those of run time and GC time."""

import statistics

import bench_stats
from bench_plan import CONFIGURATIONS


def value_of(run, key):
    """wall_ms: a steady iteration; other names are those of the whole run. None: values of before rss_mb was
    measured lack it."""
    if key == "wall_ms":
        return bench_stats.steady(run["iterations_ms"])
    if key == "rss_mb":
        return run.get(key)
    return run["stats"][key] if key in run.get("stats", {}) else run[key]


def values(runs, key):
    return [value_of(run, key) for run in runs if "iterations_ms" in run]


def median(runs, key):
    return statistics.median(values(runs, key))


def spread(runs, key, form="{:.0f}"):
    found = values(runs, key)
    low, middle, high = (form.format(v) for v in (min(found), statistics.median(found), max(found)))
    return f"{middle} ({low} to {high})"


def measured(runs):
    """No one died or was stopped: those that were not would be the fast ones."""
    return all("iterations_ms" in run for run in runs)


def excuse(runs, base, form="stopped at {times:.0f} times"):
    """What became of runs that are not measured. form: of those that took too long, with {seconds} and
    {times}, which are to the base."""
    first = next(run for run in runs if "iterations_ms" not in run)
    if "died" in first:
        what = "died: " + first["died"]
    else:
        seconds = first["stopped_s"]
        what = form.format(seconds=seconds, times=seconds / median(base, "elapsed_s"))
    ended = sum("iterations_ms" in run for run in runs)
    return what + (f" ({ended} of {len(runs)} runs ended)" if ended else "")


def pairs(runs, base, key):
    """The ratios of the runs of a round."""
    both = [
        (value_of(run, key), value_of(other, key))
        for run, other in zip(runs, base)
        if "iterations_ms" in run and "iterations_ms" in other
    ]
    return [value / other for value, other in both if value and other]


def ratio(runs, base, key):
    """An Estimate, or None: there is nothing to compare."""
    return bench_stats.estimate(pairs(runs, base, key))


def ratio_text(runs, base, key):
    return text(ratio(runs, base, key))


def text(estimate, form="{:.3f}"):
    return "-" if estimate is None else estimate.interval(form) + estimate.mark()


def more(runs, base, key):
    """In percent, as the paper has it."""
    return percent(ratio(runs, base, key))


def percent(estimate):
    return "-" if estimate is None else estimate.percent() + estimate.mark()


def mean_ratio(by_workload, name, base, key):
    """Geometric mean over the workloads that have both; None if there is none."""
    having = [by for by in by_workload.values() if name in by and measured(by[name])]
    found = [pairs(by[name], by[base], key) for by in having]
    return bench_stats.estimate(*[f for f in found if f])


def geomean(by_workload, name, base, key):
    return percent(mean_ratio(by_workload, name, base, key))


def runs_of(study):
    """{workload: {configuration: runs}} of what the results file has for a study."""
    return {workload: entry["runs"] for workload, entry in study.items()}


def megabytes_a_second(runs):
    """Allocated, over the JVM's whole life."""
    return statistics.median(run["stats"]["bytes"] / 1e6 / run["elapsed_s"] for run in runs)


STILL_FALLING = 0.95
COLUMNS = (
    ("wall_ms", "ms a steady iteration", "{:.0f}"),
    ("elapsed_s", "whole run, s", "{:.1f}"),
    ("gc_ms", "GC pauses, ms a run", "{:.0f}"),
    ("cpu_s", "user+system s a run", "{:.1f}"),
)


def run_table(base, results):
    """All configurations of some workloads."""
    lines = []
    for workload, by in results.items():
        lines += [
            f"### {workload}",
            "",
            "| configuration | " + " | ".join(f"{head} | to {base}" for _, head, _ in COLUMNS) + " |",
            "|---|" + "---:|---:|" * len(COLUMNS),
        ]
        for name, runs in by.items():
            if not measured(runs):
                lines.append(f"| {name} | {excuse(runs, by[base])} |" + " |" * (2 * len(COLUMNS) - 1))
                continue
            cells = [
                cell
                for key, _, form in COLUMNS
                for cell in (spread(runs, key, form), ratio_text(runs, by[base], key) if name != base else "")
            ]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def profilers(results):
    """One line a workload and configuration, beside the stock JDK, then the means."""
    order = [c for c in CONFIGURATIONS if c != "stock" and any(c in by for by in results.values())]
    keys = ("wall_ms", "elapsed_s", "gc_ms", "cpu_s")
    lines = [
        "| workload | | steady iterations | whole run | GC time | CPU time |",
        "|---|---|" + "---:|" * len(keys),
    ]
    for workload, by in results.items():
        lines += [
            f"| {workload} | {c} | " + " | ".join(more(by[c], by["stock"], key) for key in keys) + " |"
            for c in order
            if c in by
        ]
    return lines + [
        f"| geometric mean of {sum(c in by for by in results.values())} | {c} | "
        + " | ".join(geomean(results, c, "stock", key) for key in keys)
        + " |"
        for c in order
    ]


def agent_table(results):
    """What the agent did in each configuration."""
    lines = [
        "| workload | trace | million objects | raw bytes per object | stored bytes per object | walk, ns per "
        "object | compression, CPU ms a run | writing, ms | waiting, ms | queue at most, KB |",
        "|---|---|" + "---:|" * 8,
    ]
    for workload, by in results.items():
        for name, runs in by.items():
            if "stats" not in runs[0]:
                continue
            objects = median(runs, "objects")
            lines.append(
                f"| {workload} | {name} | {objects / 1e6:.1f} | {median(runs, 'raw_bytes') / objects:.2f} | "
                f"{median(runs, 'stored_bytes') / objects:.2f} | {median(runs, 'walk_ns') / objects:.1f} | "
                f"{median(runs, 'compress_ns') / 1e6:.0f} | {median(runs, 'write_ns') / 1e6:.0f} | "
                f"{median(runs, 'blocked_ns') / 1e6:.0f} | {median(runs, 'queue_high_water_bytes') / 1024:.0f}"
                " |"
            )
    return lines


def cost(results):
    """One line a workload: patched, traced."""
    columns = (
        ("traced", "wall_ms"),
        ("traced", "elapsed_s"),
        ("traced", "gc_ms"),
        ("traced", "cpu_s"),
    )
    lines = [
        "| workload | patched: ms per steady iteration | traced to patched: steady | whole run | GC time | CPU "
        "time | more CPU time, ns an object | allocated, MB/s | bytes per object: raw | stored |",
        "|---|" + "---:|" * 9,
    ]
    for workload, by in results.items():
        base, traced = by["patched"], by["traced"]
        ratios = [ratio_text(by[c], base, key) for c, key in columns]
        objects = median(traced, "objects")
        lines.append(
            f"| {workload} | {spread(base, 'wall_ms')} | {' | '.join(ratios)} | "
            f"{cpu_text(cpu_per_object(traced, base))} | {megabytes_a_second(traced):,.0f} | "
            f"{median(traced, 'raw_bytes') / objects:.2f} | {median(traced, 'stored_bytes') / objects:.2f} |"
        )
    for label, chosen in (("all", results), ("those that allocate most", heavy(results))):
        means = [text(mean_ratio(chosen, c, "patched", key)) for c, key in columns]
        lines.append(f"| geometric mean of {label} ({len(chosen)}) | | " + " | ".join(means) + " | | | | |")
    return lines + [
        "| paper, mean of DaCapo, DaCapo Scala, SPECjvm (traced to untraced) | | 1.047 | | | | | | about 5 "
        "an event | |",
        "| paper, compiler.compiler, xml.validation, jython, factorie | | 1.198, 1.167, 1.056, 1.260 | | "
        "1.561, 1.504, 1.314, 1.379 | | | | | |",
    ]


def warm_up(results, base="patched"):
    """A line for a page: how much is still warm-up in what counts as steady. The last iteration of a run to the
    first that counts, the median over runs of the base."""
    found = {}
    for workload, by in results.items():
        for run in by[base]:
            counted = bench_stats.second_half(run["iterations_ms"])
            if len(counted) > 1:
                found.setdefault(workload, []).append(counted[-1] / counted[0])
    shares = {workload: statistics.median(ratios) for workload, ratios in found.items()}
    falling = sorted((share, workload) for workload, share in shares.items() if share < STILL_FALLING)
    if not falling:
        return []
    named = ", ".join(f"{workload} {share:.2f}" for share, workload in falling)
    return [
        "",
        "What counts as steady still has compilers at work in it. The last iteration to the first of those "
        f"that count, {base}, below {STILL_FALLING}: {named}.",
    ]


def against(results, base, names):
    """One line a workload: run time, GC time and CPU time of each configuration to those of base, then the
    means. Values of before a configuration belonged to the study lack it."""
    columns = [(name, key) for name in names for key in ("wall_ms", "gc_ms", "cpu_s")]
    heads = [f"{name}: run time | GC time | CPU time" for name in names]
    lines = ["| workload | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(columns)]
    for workload, by in results.items():
        cells = [ratio_text(by[name], by[base], key) if name in by else "-" for name, key in columns]
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    means = []
    for name, key in columns:
        having = {w: by for w, by in results.items() if name in by}
        means.append(text(mean_ratio(having, name, base, key)) if having else "-")
    return lines + [f"| geometric mean of {len(results)} | " + " | ".join(means) + " |"]


def cpu_per_object(runs, base):
    """What a run's CPU time is more than its pair's, in ns for each object that it allocated,
    of all threads: an Estimate."""
    found = [
        (value_of(run, "cpu_s") - value_of(other, "cpu_s")) * 1e9 / run["stats"]["objects"]
        for run, other in zip(runs, base)
    ]
    return bench_stats.estimate(found)


def steady_cpu_per_object(runs, base):
    """The same of the iterations that count alone: without JVM start and warm-up."""
    found = [
        (value_of(run, "iterations_cpu_s") - value_of(other, "iterations_cpu_s")) * 1e9 / objects_after(run)
        for run, other in zip(runs, base)
    ]
    return bench_stats.estimate(found)


def objects_after(run):
    """Allocated in the iterations that count."""
    return run["stats"]["objects"] - run["objects_before"]


def objects(results):
    """One line a workload: what an object costs in the iterations that count."""
    lines = [
        "| workload | million objects | CPU time, s: patched | traced | more, ns an object | whole run |",
        "|---|" + "---:|" * 5,
    ]
    for workload, by in results.items():
        base, traced = by["patched"], by["counted-from"]
        made = statistics.median(objects_after(run) for run in traced)
        lines.append(
            f"| {workload} | {made / 1e6:.1f} | {spread(base, 'iterations_cpu_s', '{:.1f}')} | "
            f"{spread(traced, 'iterations_cpu_s', '{:.1f}')} | "
            f"{cpu_text(steady_cpu_per_object(traced, base))} | {cpu_text(cpu_per_object(traced, base))} |"
        )
    return lines


def cpu_text(estimate):
    return estimate.interval("{:.1f}") + estimate.mark(0)


def heavy(results):
    """The half that allocates most in a second."""
    order = sorted(results, key=lambda w: -megabytes_a_second(results[w]["traced"]))
    return {w: results[w] for w in order[: (len(order) + 1) // 2]}


# Run time and GC time in percent of those without monitoring (Lengauer, Bitto, Mössenböck: "Building Custom,
# Efficient, and Accurate Memory Monitoring Tools for Java Applications", ICPE 2016, figures 2 and 3): dumps,
# instrumentation, AntTracks.
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
    names = [c for c in CONFIGURATIONS if c != "stock" and c in next(iter(results.values()))]
    lines = ["| workload | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for workload, by in results.items():
        cells = [
            more(by[c], by["stock"], key) if measured(by[c]) else excuse(by[c], by["stock"]) for c in names
        ]
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    means = []
    for name in names:
        count = sum(measured(by[name]) for by in results.values())
        means.append(
            geomean(results, name, "stock", key) + (f" (of {count})" if 0 < count < len(results) else "")
        )
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    for benchmark, row in PAPER_TECHNIQUES.items():
        cell = dict(zip(("dumps", "deaths", "traced"), row[which]))
        lines.append(f"| paper, {benchmark} | " + " | ".join(paper_more(cell.get(n, "")) for n in names) + " |")
    return lines


def paper_more(cell):
    """The paper's percentages are of the time without monitoring."""
    return f"{float(cell) - 100:+.1f} %" if cell[:1].isdigit() else cell


def dumps_note(results):
    """How many dumps there were for how many collections."""
    found = [
        f"{workload} {median(by['dumps'], 'dumps'):.0f} dumps, {median(by['stock'], 'pauses'):.0f}"
        " collections without them"
        for workload, by in results.items()
        if measured(by["dumps"])
    ]
    return "; ".join(found) or "none ended"


def meanings(names):
    return [f"- **{name}**: {CONFIGURATIONS[name].meaning}" for name in names]
