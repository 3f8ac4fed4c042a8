# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks-releases.md: what tracing costs on JDKs after 17."""

from bench_page import study_head
from bench_plan import RELEASES, STUDIES
from bench_tables import meanings, more, runs_of, spread

VALUES = {"wall_ms": "run time", "cpu_s": "CPU time", "gc_ms": "GC time", "rss_mb": "peak memory"}
COMPACT = """\
With `-XX:+UseCompactObjectHeaders` the class lies in the mark word, and a site can lie in the identity hash
alone (`-XX:AntTracksSites=ash`, [decision 19](decisions/0019-where-the-site-lives.md)). All is compared with
the JVM without the patch that has compact headers, too; the row of the one without them says what they give
by themselves.
"""


def table(base, others, results):
    """The ratios of others to base."""
    lines = [
        "| workload | | ms a steady iteration | " + " | ".join(VALUES.values()) + " |",
        "|---|---|" + "---:|" * (1 + len(VALUES)),
    ]
    for workload, by in results.items():
        lines.append(f"| {workload} | {base} | {spread(by[base], 'wall_ms')} |" + " |" * len(VALUES))
        for name in others:
            cells = [spread(by[name], "wall_ms"), *(more(by[name], by[base], key) for key in VALUES)]
            lines.append(f"| {workload} | {name} | " + " | ".join(cells) + " |")
    return lines


def part(data, study, title, text=""):
    """Of one study."""
    if not data["studies"].get(study):
        return [f"## {title}", "", "Not measured.", ""]
    plan = STUDIES[study]
    others = [name for name in plan.configurations if name != plan.base]
    lines = [f"## {title}", "", *([text] if text else []), *study_head(data, study)]
    lines += meanings(plan.configurations)
    return [*lines, "", *table(plan.base, others, runs_of(data["studies"][study])), ""]


def page(data):
    lines = [
        "# What tracing costs on JDKs after 17",
        "",
        f"Written by `scripts/bench {' '.join(f'jdk{r}' for r in RELEASES)} compact`; do not edit. With "
        "Parallel. A release is compared with its patched JDK without an agent.",
        "Ratios with 95 % intervals: [measuring.md](measuring.md). For 17: [benchmarks.md](benchmarks.md).",
        "",
    ]
    for release in RELEASES:
        lines += part(data, f"jdk{release}", f"JDK {release}")
    return "\n".join([*lines, *part(data, "compact", "Compact headers, on JDK 25", COMPACT)])
