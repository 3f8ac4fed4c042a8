# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-pretenure.md: what it saves to make objects old at once whose sites promote them anyway."""

from bench_page import study_head
from bench_papers import VEE_PRETENURING
from bench_plan import CONFIGURATIONS, STUDIES
from bench_tables import more, percent, ratio, runs_of

STUDIES_OF_PAGE = {"pretenure": "Parallel", "pretenure-serial": "Serial", "pretenure-g1": "G1"}
HOW = {"made": "made old", "copied": "copied there at once"}


def listed(run):
    """How many sites, and what was copied without and with the list."""
    found = run.get("pretenured")
    if not found:
        return ["-"] * 3
    return [str(found["sites"]), *(f"{found[key] / 2**20:,.1f} MiB" for key in ("copied", "copied_then"))]


def table(base, results):
    lines = [
        "| workload | its objects are | sites listed | copied by young collections | with the list | run time "
        "| CPU time | GC time |",
        "|---|---|" + "---:|" * 6,
    ]
    for name, by in results.items():
        for other in (key for key in by if key != base):
            how = HOW[CONFIGURATIONS[other].pretenures]
            cells = [more(by[other], by[base], key) for key in ("wall_ms", "cpu_s", "gc_ms")]
            lines.append(f"| {name} | {how} | " + " | ".join([*listed(by[other][0]), *cells]) + " |")
    return lines


def best(study, other, results):
    """The workload that gains most."""
    base = STUDIES[study].base
    found = {name: ratio(by[other], by[base], "wall_ms") for name, by in results.items() if other in by}
    found = {name: estimate for name, estimate in found.items() if estimate}
    if not found:
        return "not measured"
    name = min(found, key=lambda name: found[name].middle)
    return f"{percent(found[name])} ({name}, the best of {len(found)})"


def beside_vee(data):
    lines = ["| | heap | run time at best |", "|---|---|---:|"]
    lines += [f"| VEE 2010 | {heap} that the program runs in | {gain} |" for heap, gain in VEE_PRETENURING]
    for study, collector in STUDIES_OF_PAGE.items():
        results = runs_of(data["studies"].get(study, {}))
        for other in STUDIES[study].configurations:
            if other != STUDIES[study].base:
                how = HOW[CONFIGURATIONS[other].pretenures]
                lines.append(f"| {collector}, {how} | the workload's own | {best(study, other, results)} |")
    return lines


OF_VEE = """\
Odaira, Ogata, Kawachiya, Onodera, Nakatani: "Efficient Runtime Tracking of Allocation Sites in Java", VEE 2010,
by a slide of the talk, "Allocation-Site-Based Object Pretenuring for Generational GC". There the JVM, J9,
decides while the program runs, and copies. It gives speed-ups at maximum; ours are differences of run time.
"""


def page(data):
    lines = [
        "# What it saves to make objects old at once",
        "",
        f"Written by `scripts/bench {' '.join(STUDIES_OF_PAGE)}`. The sites whose objects are promoted anyway, "
        "taken from a trace of the",
        "same workload (`anttracks lifetimes --pretenure-list`), are given to a JVM without an agent "
        "(`-XX:AntTracksPretenure=`), which makes them old,",
        "or lets the first collection copy them there (`-XX:+AntTracksPretenureByCopy`); compared with "
        "that JVM without the list ([decision 20](decisions/0020-pretenuring.md)). Ratios with 95 % intervals: "
        "[measuring.md](measuring.md). What young collections copied",
        "is from two traces of as many iterations, of objects of the program that the trace saw allocated.",
        "",
    ]
    for name, collector in STUDIES_OF_PAGE.items():
        if data["studies"].get(name):
            lines += [f"## {collector}", "", *study_head(data, name), ""]
            lines += [*table(STUDIES[name].base, runs_of(data["studies"][name])), ""]
    return "\n".join([*lines, "## Beside VEE 2010", "", OF_VEE, *beside_vee(data), ""])
