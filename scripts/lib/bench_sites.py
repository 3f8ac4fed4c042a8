# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-sites.md: what it costs that objects carry their site, by where it lives, beside the
papers' figures."""

import statistics
from typing import NamedTuple

import bench_probes
import bench_stats
from bench_page import stock_of, study_head
from bench_papers import ICPE, ICPE_STRATEGIES, VEE, VEE_LEAKS
from bench_plan import CONFIGURATIONS, IN_TURN, SCHEMES, STRATEGIES, STUDIES, WORST
from bench_tables import (
    excuse,
    geomean,
    meanings,
    measured,
    median,
    more,
    percent,
    ratio,
    runs_of,
    spread,
    value_of,
    warm_up,
)

OF_HASHES = (*WORST, "identity-maps", "identity-map-500k")
RUN_VALUES = (
    ("wall_ms", "run time"),
    ("cpu_s", "CPU time"),
    ("gc_ms", "GC time"),
    ("rss_mb", "peak memory"),
)


COMPARED = ("mark", "ash", "hash", "hash-eliminate")  # with the papers


class Column(NamedTuple):
    """Of the table of traced programs."""

    head: str
    configuration: str
    base: str
    value: str = "wall_ms"
    figure: str = ""  # the paper's, beside ours
    place: int = 0  # of that in a row of ICPE


FILES = "data files, mark"
# As ICPE 2016 compares, and ash.
TRACED_COLUMNS = (
    Column("hash to mark: run time", "hash-narrow", "narrow", "wall_ms", "figure 14", 0),
    Column("GC time", "hash-narrow", "narrow", "gc_ms"),
    Column(
        "hash-eliminate to hash: run time",
        "hash-eliminate-narrow",
        "hash-narrow",
        "wall_ms",
        "figure 16",
        2,
    ),
    Column("GC time", "hash-eliminate-narrow", "hash-narrow", "gc_ms"),
    Column(
        "hash-eliminate and rotation to a plain trace: run time",
        "hash-eliminate-narrow",
        "traced",
        "wall_ms",
        "figure 17",
        3,
    ),
    Column("GC time", "hash-eliminate-narrow", "traced", "gc_ms", "figure 17", 4),
    Column("ash to mark: run time", "ash-narrow", "narrow"),
    Column("GC time", "ash-narrow", "narrow", "gc_ms"),
)


def short_of(name):
    return "stock" if name == "stock" else name.replace("hashcode-", "-XX:hashCode=")


def cell(by, name, key):
    """A difference to stock, or what became of the runs."""
    if name not in by:
        return "-"
    return more(by[name], by["stock"], key) if measured(by[name]) else stopped(by[name], by["stock"])


def stopped(runs, base):
    return excuse(runs, base, "stopped after {seconds:.0f} s, more than {times:.0f} times as long")


def run_tables(results):
    usual = {name: by for name, by in results.items() if name not in OF_HASHES}
    if not usual:
        return ["Not measured."]
    lines = []
    for key, title in RUN_VALUES:
        lines += [
            f"### {title[0].upper()}{title[1:]}, to the stock JDK",
            "",
            "| workload | " + " | ".join(SCHEMES) + " |",
            "|---|" + "---:|" * len(SCHEMES),
        ]
        lines += [
            f"| {name} | " + " | ".join(cell(by, scheme, key) for scheme in SCHEMES) + " |"
            for name, by in usual.items()
        ]
        having = {name: by for name, by in usual.items() if value_of(by["stock"][0], key) is not None}
        means = [geomean(having, scheme, "stock", key) for scheme in SCHEMES]
        lines += [f"| geometric mean of {len(having)} | " + " | ".join(means) + " |", ""]
    return lines[:-1] + warm_up(usual, "stock")


def paper_worst(name, key):
    """What ICPE 2016 has: with sites in the hash, and by strategy with 15 bits."""
    if name == "identity-hash" and key == "hash":
        return "+2,291 %"
    return ICPE_STRATEGIES[int(key[-1])] if name == "identity-hash" and key.startswith("hashcode") else ""


def worst_rows(name, by, names):
    for key in names:
        if key not in by:
            continue
        runs = by[key]
        ran = measured(runs)
        paper = paper_worst(name, key)
        own = spread(runs, "wall_ms") if ran else stopped(runs, by["stock"])
        compared = ran and key != "stock"
        rest = [cell(by, key, k) if compared else "" for k, _ in RUN_VALUES]
        meaning = f", {STRATEGIES[int(key[-1])]}" if key.startswith("hashcode") else ""
        yield f"| {name} | {short_of(key)}{meaning} | {own} | " + " | ".join([*rest, paper]) + " |"


def worst_table(results, names):
    lines = [
        f"| workload | | ms per iteration | {' | '.join(title for _, title in RUN_VALUES)} | ICPE 2016 |",
        "|---|---|" + "---:|" * (2 + len(RUN_VALUES)),
    ]
    for name, by in results.items():
        if name in OF_HASHES:
            lines += worst_rows(name, by, names)
    return lines


def worst_case(results):
    return worst_table(results, IN_TURN)


def own_strategies(results):
    return worst_table(results, ("stock", *(f"hashcode-{number}" for number in range(len(STRATEGIES) - 1))))


def icpe_table(results):
    lines = [
        "| paper's benchmark | figure 14: sites in the hash | figure 15: no eager hash | figure 16: run time "
        "with that | figure 17: run time | GC time | our workload | mark: run time | ash | hash | "
        "hash-eliminate |",
        "|---|" + "---:|" * 5 + "---|" + "---:|" * 4,
    ]
    shown = {name: results[name] for _, name, *_ in ICPE if name in results}
    for benchmark, name, *figures in ICPE:
        by = results.get(name, {})
        ours = [cell(by, scheme, "wall_ms") if by else "" for scheme in COMPARED]
        if benchmark == "mean" and shown:
            name = f"geometric mean of {len(shown)}"
            ours = [geomean(shown, scheme, "stock", "wall_ms") for scheme in COMPARED]
        lines.append(f"| {benchmark} | " + " | ".join([*figures, name, *ours]) + " |")
    return lines


def vee_table(results):
    usual = {name: by for name, by in results.items() if name not in OF_HASHES}
    lines = [
        f"| | VEE 2010: ASH | ASC | ours: {' | '.join(COMPARED)} |",
        "|---|" + "---:|" * (2 + len(COMPARED)),
    ]
    for what, ash, asc, key, largest in VEE:
        ours = [of_all(usual, scheme, key, largest) for scheme in COMPARED]
        lines.append(f"| {what} | {ash} | {asc} | " + " | ".join(o or "not measured" for o in ours) + " |")
    return lines


def of_all(results, scheme, key, largest):
    """The mean of the workloads that have it, or their maximum; empty where none has."""
    found = {name: ratio(by[scheme], by["stock"], key) for name, by in results.items() if scheme in by}
    found = {name: estimate for name, estimate in found.items() if estimate}
    if not found:
        return ""
    if largest:
        name = max(found, key=lambda name: found[name].middle)
        return f"{percent(found[name])} ({name})"
    having = {name: results[name] for name in found}
    return f"{geomean(having, scheme, 'stock', key)} (of {len(having)})"


def census_table(results):
    """A census beside stock, then VEE 2010's leak detector."""
    keys = ("wall_ms", "cpu_s", "gc_ms")
    lines = [
        "| workload | run time | CPU time | GC time | censuses a run | million objects in each | CPU time of "
        "reading them, ns an object |",
        "|---|" + "---:|" * 6,
    ]
    for name, by in results.items():
        runs = by["census"]
        cells = [more(runs, by["stock"], key) for key in keys]
        counted, read = median(runs, "censuses"), median(runs, "census_objects")
        each = [f"{read / counted / 1e6:.2f}", f"{median(runs, 'census_ns') / read:.1f}"] if read else ["-"] * 2
        lines.append(f"| {name} | " + " | ".join([*cells, f"{counted:.0f}", *each]) + " |")
    if results:
        means = [geomean(results, "census", "stock", key) for key in keys]
        lines.append(f"| geometric mean of {len(results)} | " + " | ".join(means) + " | | | |")
    lines += [f"| VEE 2010, {what}: ASH {ash}, ASC {asc} | | | | | | |" for what, ash, asc in VEE_LEAKS]
    return lines


def traced_table(results):
    figures = {name: row for _, name, *row in ICPE if name}
    mean = next(row for benchmark, _, *row in ICPE if benchmark == "mean")
    heads = beside([c.head for c in TRACED_COLUMNS], lambda column: column.figure)
    lines = ["| workload | " + " | ".join([*heads, FILES]) + " |", "|---|" + "---:|" * (len(heads) + 1)]
    for name, by in results.items():
        row = figures.get(name, [""] * len(mean))
        cells = [more(by[c.configuration], by[c.base], c.value) for c in TRACED_COLUMNS]
        cells = [*beside(cells, lambda c, row=row: row[c.place]), f"{median(by['narrow'], 'files'):.0f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    cells = [geomean(results, c.configuration, c.base, c.value) for c in TRACED_COLUMNS]
    cells = beside(cells, lambda c: mean[c.place])
    return lines + [f"| geometric mean of {len(results)} | " + " | ".join(cells) + " | |"]


def beside(cells, figure_of):
    """The cells of TRACED_COLUMNS, with the paper's figure behind each that has one."""
    return [
        text for own, c in zip(cells, TRACED_COLUMNS) for text in ((own, figure_of(c)) if c.figure else (own,))
    ]


def middle_of(runs, key, form="{:,.0f}"):
    found = [run[key] for run in runs]
    low, middle, high = (form.format(v) for v in (min(found), statistics.median(found), max(found)))
    return middle if low == high else f"{middle} ({low} to {high})"


def ratio_of(by, name, key):
    """Of the runs of a round, to stock's."""
    found = [run[key] / other[key] for run, other in zip(by[name], by["stock"]) if run[key] and other[key]]
    return bench_stats.estimate(found)


def times(estimate):
    return "-" if estimate is None else estimate.interval("{:,.2f}") + estimate.mark()


def collisions(results):
    chances = bench_probes.OBJECTS * (bench_probes.OBJECTS - 1) / 2
    lines = [
        "| objects of | | different hashes | pairs with the same hash | to stock | to chance with 15 bits | "
        "most objects of a hash |",
        "|---|---|" + "---:|" * 5,
    ]
    for case, by in results.items():
        for name, runs in by.items():
            to_chance = statistics.median(run["pairs"] for run in runs) / (chances / 2**15)
            lines.append(
                f"| {case} | {name} | {middle_of(runs, 'distinct')} | {middle_of(runs, 'pairs')} | "
                f"{times(ratio_of(by, name, 'pairs')) if name != 'stock' else ''} | {to_chance:.3f} | "
                f"{middle_of(runs, 'most')} |"
            )
    return lines + [
        f"| chance alone, 31 bits | | | {chances / 2**31:,.0f} | | | |",
        f"| chance alone, 15 bits | | 32,768 | {chances / 2**15:,.0f} | | 1 | |",
        "| VEE 2010, ASH | | | | | at most 1.73, of its stock JVM | |",
    ]


def of_size(case, estimate):
    """C1's sizes have no noise in them: a small difference needs no more pairs than a large one. What C2 makes
    depends on the profile of the run."""
    if not case.endswith("C1"):
        return percent(estimate)
    same = estimate.low <= 1 <= estimate.high and estimate.low != estimate.high
    return estimate.percent() + (" " + bench_stats.NOT_KNOWN if same else "")


def code(results):
    lines = [
        "| program and tier | | methods that all have | their bytes | to stock | all methods | their bytes |",
        "|---|---|" + "---:|" * 5,
    ]
    for case, by in results.items():
        lines += [
            f"| {case} | {name} | {middle_of(runs, 'methods')} | {middle_of(runs, 'bytes')} | "
            f"{of_size(case, ratio_of(by, name, 'bytes')) if name != 'stock' else ''} | "
            f"{middle_of(runs, 'all_methods')} | {middle_of(runs, 'all_bytes')} |"
            for name, runs in by.items()
        ]
    return lines


def start_up(results):
    lines = [
        "| | ms from start to end | to stock | CPU time, ms | to stock |",
        "|---|" + "---:|" * 4,
    ]
    for by in results.values():
        for name, runs in by.items():
            cells = []
            for key in ("elapsed_s", "cpu_s"):
                cells.append(f"{statistics.median(run[key] for run in runs) * 1000:.1f}")
                cells.append(percent(ratio_of(by, name, key)) if name != "stock" else "")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def clones(results):
    lines = [
        "| workload | classes with objects | site-class pairs | more classes | with 1,000 objects: "
        "classes | pairs | more classes | bytes of a class | metaspace for all, MB | for the busy, MB | "
        "objects of classes with more than 1 clone | than 2 | a cache of 1 misses | of 2 |",
        "|---|" + "---:|" * 13,
    ]
    for name, by in results.items():
        run = by["traced"][0]
        extra, hot = run["clones"] - run["classes"], run["hot_clones"] - run["hot_classes"]
        shares = [f"{run[key] * 100:.1f} %" for key in ("many", "megamorphic", "miss", "miss_of_two")]
        lines.append(
            f"| {name} | {run['classes']:,} | {run['clones']:,} | {extra:,} | {run['hot_classes']:,} | "
            f"{run['hot_clones']:,} | {hot:,} | {run['klass_bytes']:.0f} | "
            f"{extra * run['klass_bytes'] / 1e6:.2f} | {hot * run['klass_bytes'] / 1e6:.2f} | "
            f"{' | '.join(shares)} |"
        )
    return lines


def spared(results):
    figures = {name: row[1] for _, name, *row in ICPE if name}
    lines = [
        "| workload | sites | objects of classes with a hashCode of their own | of classes that are not known "
        "| ICPE 2016, figure 15 |",
        "|---|" + "---:|" * 4,
    ]
    for name, by in results.items():
        run = by["traced"][0]
        lines.append(
            f"| {name} | {run['sites']:,} | {run['own_hash'] * 100:.1f} % | "
            f"{run['unknown_hash'] * 100:.1f} % | "
            f"{figures.get(name, '')} |"
        )
    return lines


PROBE_TABLES = {"collisions": collisions, "code": code, "start-up": start_up, "clones": clones}


def probe_head(data, name):
    """How, when and where: other words than those of workloads, as there are no iterations."""
    groups = {}
    for case, entry in data["studies"][name].items():
        s = entry["settings"]
        stock = stock_of(name, s)
        key = (s["quick"], s["date"], s["commit"], s["machine"], s["patched"], stock, s["pairs"])
        groups.setdefault(key, []).append(case)
    lines = [
        f"- {'**quick**, ' if quick else ''}{date}, commit {commit}, {machine}; JDK {patched}{stock}: "
        f"{pairs} run{'s' if pairs > 1 else ''} of each, taking turns: {', '.join(cases)}"
        for (quick, date, commit, machine, patched, stock, pairs), cases in groups.items()
    ]
    left = [case for case in STUDIES[name].workloads if case not in data["studies"][name]]
    return lines + ([f"- not measured: {', '.join(left)}"] if left else [])


HEAD = """\
# What it costs that objects carry their site, by where it lives

Written by `scripts/bench sites` and the studies beside it from the single values in
[benchmarks.json](benchmarks.json); do not edit. How it is measured, and what an interval and "not known"
say: [measuring.md](measuring.md). The schemes: [where the site
lives](decisions/0019-where-the-site-lives.md). No run has an agent, but those of the parts on censuses
and on traced programs and those that made traces to count in (sites, and a class for each site).

Which scheme wins where, and what a JVM with compact headers should use, is told
[there](decisions/0019-where-the-site-lives.md). What sites and tracing cost such a JVM is a study of its own,
`scripts/bench compact`, in [benchmarks-releases.md](benchmarks-releases.md).

The papers are other benchmarks, machines and JVMs; only ratios compare. ICPE 2016: Lengauer, Bitto,
Mössenböck, "Efficient and Viable Handling of Large Object Traces". VEE 2010: Odaira, Ogata, Kawachiya,
Onodera, Nakatani, "Efficient Runtime Tracking of Allocation Sites in Java".

A difference is the median of the pairs' ratios to the stock JDK with its 95 % interval, "not known" where
the interval holds no difference.
"""
RUNS = """\
Run time: steady iterations. CPU time and GC time: the whole run. Peak memory: the most that the process had
resident at a time; of the heap, whose size is fixed, only pages that were used count. "-": not measured.
"""
OF_ICPE = """\
Figures 14 to 16 are to rotation without sites, figure 17 (rotation, sites, elimination) to tracing without
rotation: all runs of the paper are traced. Ours are not, and to the stock JDK; the part on traced programs has
ours that are. Figures 15 and 16 are of the elimination that hash-eliminate has. The means of the paper are
those that it prints, of its own benchmarks; in figure 15 that is not the mean of the values, 35.9 %.
"""
OF_VEE = """\
By the slides of the talk, which have no numbered figures: "Performance Overhead", "Space Overhead Compared with
Physical Memory Usage". SPECjvm2008, DaCapo and SPECjbb2005 on J9, in heaps of four times the smallest; not
traced, as ours here. Ours: the workloads of the first part, to the stock JDK; means are geometric, memory is
peak memory. A maximum is the largest of their medians, which noise makes larger. ASC is not built (told below).
Its leak detector is in the next part; pretenuring: [benchmarks-pretenure.md](benchmarks-pretenure.md).
"""
OF_CENSUS = """\
The leak detector of VEE 2010 (slide "Performance Overhead of the Leak Detector") counts what is live by site at
each global collection. A census counts it by site and class. Most of our workloads have no collection of the
old space, so ours is taken each second, after the next collection of any kind (`every=1s`, scheme mark): far
more often than anyone needs. A program that collects less often has fewer. Censuses every five minutes, as in
production: [benchmarks-profile.md](benchmarks-profile.md).
"""
TRACED = """\
Every run is traced, all but those of a plain trace within a tight bound (rotation): ten data files stay, and
the last column says how many there were. Run time: steady iterations; GC time: the whole run. The paper has GC
time for figure 17 alone. Its figures 14 and 17 compare with tracing without sites, which does not exist here:
ours compare with the scheme mark, whose sites take nothing of the hash.
"""
WORST_CASE = """\
identity-hash: 10,000,000 objects in a HashSet, as many look-ups, half of them hits, as in ICPE 2016, section
4.2; each run is one iteration in a JVM of its own, its first. identity-hash-1m: the same with 1,000,000.
identity-maps: IdentityHashMaps of at most 2,048 fresh objects; identity-map-500k: one of at most 500,000.
With scheme hash the objects of a site have 32,768 hashes: a look-up visits objects in proportion to their
number, so ten times the objects should take a hundred times the time, and stock's ten (by the number of
look-ups alone; caches add to it). A run that was stopped says only that it takes longer.
"""
OWN_STRATEGIES = """\
The stock JDK with hashes of 31 bits. The paper's figure 19 has them cut to 15 bits, which the stock JDK
cannot; scheme hash takes its random part from the address, whatever the strategy. Of the paper's numbers its
text gives two: -18.5 % to the global counter, a time-out to the constant. The others are the figure's, whose
rows are shifted there: that of the address is inferred.
"""
COLLISIONS = """\
{objects:,} objects that live at the same time and are hashed when they are made, from so many places in turn;
compiled by all tiers, which are sites of their own. Median (lowest to highest). VEE 2010 compares with a JVM
that itself has 15 bits; stock here has 31. The random part of scheme hash is a product of the address, which
spreads neighbours evenly: objects side by side have fewer equal hashes than by chance. ash takes numbers that
differ as long as they can (decision 19). Scattered: an array of random length, which dies, is made after each
object.
"""
CODE = """\
Machine code with its stubs, by the JVM's own list (`jcmd Compiler.codelist`) at the end of a run. Compared
are the methods that all configurations of a round compiled. A profile decides what is inlined, so sizes
differ a little from run to run.
"""
START_UP = """\
A program that says hello, Parallel collector; a value is the mean of {starts} JVMs.
"""
SPARED = """\
Sites: those that the VM gave a number, of the 65,535 that hash and hash-eliminate have room for; a place counts
once for each tier and each way in which it is inlined. The other columns say, from traces, what hash-eliminate
spares of the hashes that hash makes: the share of the objects whose class has another hashCode than Object's.
The classes were asked in a run of their own; those that have no name by which they can be found, such as
lambdas, and those of other class loaders are not known. It is the most that can be spared: the interpreter
makes a hash for every object that it allocates, and so does compiled code that does not know the class.
"""
CLONES = """\
An **estimate** from traces: had each place that allocates objects of a class a clone of that class, how many
classes would there be, and how often would a call meet another clone than its inline cache knows? Places on
the same line count once; most that are not busy run once, in static initializers. Bytes of a class: all
classes of a run in the JVM's class space (no shared archive), by their number; a clone shares methods and
constants, so this is what it would take besides. The last columns leave out arrays. They assume that the
receiver of a call is drawn like an allocated object of its class, which is pessimistic: where a variable only
ever holds objects of one place, no cache misses. A cache of 1: one minus the sum of the squares of the
clones' shares; of 2: what the two commonest clones leave. C2 inlines at most two receivers.
"""
TAIL = """\
ASC is not built. It is for JVMs whose objects do not always have a field for the hash; HotSpot's have one,
also with compact headers. VEE 2010 changed what each load of a class pointer means, everywhere in a JVM of
the authors' own. In HotSpot a cloned class breaks what compares class pointers: inline caches, class
hierarchy analysis (a class with clones is no leaf) and exact type checks, and what C2 concludes from them.

## CPU shares

Not part of this study. `scripts/profile off mark ash hash hash-eliminate` profiles the JVM without an agent by
scheme, into [benchmarks-profile.md](benchmarks-profile.md). It sees functions of the patch; what compiled code
and HashMap take with equal hashes it does not.
"""
# Study, title, text, table.
PARTS = (
    ("sites", "All workloads", RUNS, run_tables),
    ("sites", "Beside the benchmarks of ICPE 2016", OF_ICPE, icpe_table),
    ("sites", "Beside VEE 2010", OF_VEE, vee_table),
    ("census", "The leak detector of VEE 2010, beside a census", OF_CENSUS, census_table),
    ("sites-traced", "Traced programs, as in ICPE 2016", TRACED, traced_table),
    ("sites", "The worst case: identity hashes in sets and maps", WORST_CASE, worst_case),
    ("strategies", "The worst case with HotSpot's own hash strategies", OWN_STRATEGIES, own_strategies),
    ("collisions", "Collisions", COLLISIONS.format(objects=bench_probes.OBJECTS), collisions),
    ("code", "Code size", CODE, code),
    ("start-up", "Start-up", START_UP.format(starts=bench_probes.STARTS), start_up),
    ("clones", "Sites, and objects that need no eager hash", SPARED, spared),
    ("clones", "A class for each site (ASC of VEE 2010): a simulation", CLONES, clones),
)


def page(data):
    shown = {*IN_TURN, "census", *STUDIES["sites-traced"].configurations}
    used = [name for name in CONFIGURATIONS if name in shown]
    lines = [HEAD, *meanings(used), ""]
    known = {name: data["studies"].get(name) for name in STUDIES}
    if any(e["settings"]["quick"] for name, _, _, _ in PARTS for e in (known[name] or {}).values()):
        lines.insert(1, "**Quick**: few workloads, few pairs. A first look, no figure to quote.\n")
    told = set()
    for name, title, text, table in PARTS:
        lines += [f"## {title}", ""]
        if not known[name]:
            papers_alone = [text, *table({}), ""] if table in (icpe_table, vee_table, census_table) else []
            lines += ["Not measured.", "", *papers_alone]
            continue
        if name not in told:
            lines += [*(probe_head if STUDIES[name].probe else study_head)(data, name), ""]
            told.add(name)
        lines += [text, *table(runs_of(known[name])), ""]
    return "\n".join([*lines, TAIL])
