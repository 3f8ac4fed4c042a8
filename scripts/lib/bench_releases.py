# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-releases.md: what tracing costs on JDKs after 17."""

from bench_page import study_head
from bench_plan import RELEASES, STUDIES, of_release
from bench_tables import meanings, more, runs_of, spread

NAMES = ("stock", "traced", "budget")
VALUES = {"wall_ms": "run time", "cpu_s": "CPU time", "gc_ms": "GC time"}


def table(release, results):
    base = of_release("patched", release)
    lines = [
        "| workload | | ms a steady iteration | " + " | ".join(VALUES.values()) + " |",
        "|---|---|" + "---:|" * (1 + len(VALUES)),
    ]
    for workload, by in results.items():
        lines.append(f"| {workload} | {base} | {spread(by[base], 'wall_ms')} |" + " |" * len(VALUES))
        for name in (of_release(n, release) for n in NAMES):
            cells = [spread(by[name], "wall_ms"), *(more(by[name], by[base], key) for key in VALUES)]
            lines.append(f"| {workload} | {name} | " + " | ".join(cells) + " |")
    return lines


def page(data):
    lines = [
        "# What tracing costs on JDKs after 17",
        "",
        f"Written by `scripts/bench {' '.join(f'jdk{r}' for r in RELEASES)}`; do not edit. All is compared "
        "with the patched JDK of that release without an agent, with Parallel. Ratios with",
        "95 % intervals: [measuring.md](measuring.md). For 17: [benchmarks.md](benchmarks.md).",
        "",
    ]
    for release in RELEASES:
        study = f"jdk{release}"
        if not data["studies"].get(study):
            continue
        lines += [f"## JDK {release}", "", *study_head(data, study)]
        lines += meanings(STUDIES[study].configurations)
        lines += ["", *table(release, runs_of(data["studies"][study])), ""]
    return "\n".join(lines)
