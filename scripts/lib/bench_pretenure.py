# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-pretenure.md: what it saves to make objects old at once whose sites promote them anyway."""

from bench_page import study_head
from bench_plan import CONFIGURATIONS, STUDIES
from bench_tables import more, runs_of

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
    return "\n".join(lines)
