# SPDX-License-Identifier: Apache-2.0
"""Studies of scripts/profile, their values in docs/benchmarks-profile.json,
and the pages that are written from them."""

import json
import os
import platform
import re
from dataclasses import dataclass

import bench_plan
import bench_results
import bench_stats
import profile_samples
import workloads

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
JSON = os.path.join(ROOT, "docs", "benchmarks-profile.json")
PATCH_PAGE = os.path.join(ROOT, "docs", "benchmarks-patch.md")
PROFILE_PAGE = os.path.join(ROOT, "docs", "benchmarks-profile.md")
PATCH = "patch"
MOST_OF_PATCH = 0.5  # percent: the goal


@dataclass(frozen=True)
class Study:
    meaning: str
    agent: str | None  # its options; None: without
    most: float | None = None  # percent, if there is a goal
    flags: tuple = ()  # of the JVM


STUDIES = {
    PATCH: Study("the patched JDK without an agent", None, MOST_OF_PATCH),
    "traced": Study("every object traced, the agent's defaults", ""),
    "budget": Study(
        "with `budget=3%`: a share of the TLAB stretches is read, the live heap is exact", "budget=3%", 3
    ),
    "rotated": Study("traced, rotating in ten files within a bound that leaves them room", "maxsize={wide}"),
    "census": Study(
        "`mode=census,every=5m`: what is live is counted every five minutes; `--seconds 700` has two",
        "mode=census,every=5m",
        0.5,
    ),
    "kept": Study("traced, rotating within a tight bound, keep=yes", "maxsize={narrow},keep=yes"),
}
STUDIES |= {
    name: Study(bench_plan.CONFIGURATIONS[name].meaning, None, flags=bench_plan.CONFIGURATIONS[name].flags)
    for name in bench_plan.SCHEMES
}


def load():
    if not os.path.exists(JSON):
        return {"studies": {}}
    with open(JSON, encoding="utf-8") as file:
        return json.load(file)


def key_of(study, collector):
    return study if study == PATCH and collector == "Parallel" else f"{study}, {collector}"


def put(results, study, collector, workload, result):
    """Keeps the value in the file, in the place of an older one."""
    result |= {"machine": machine(), "commit": bench_results.commit()}
    known = results["studies"].setdefault(key_of(study, collector), {})
    known[workload] = result
    results["studies"][key_of(study, collector)] = {
        name: known[name] for name in workloads.WORKLOADS if name in known
    }
    with open(JSON, "w", encoding="utf-8") as file:
        file.write(json.dumps(results).replace('}, "', '},\n"') + "\n")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        name = re.search(r"model name\s*: (.*)", text.read())
    return (
        f"{os.cpu_count()} cores of {name[1] if name else platform.machine()}, "
        f"Linux {platform.release().split('-')[0]}"
    )


def goal_text(verdicts, most):
    """verdicts: by workload."""
    of_kind = {
        kind: [name for name, verdict in verdicts.items() if verdict == kind]
        for kind in (bench_stats.REACHED, bench_stats.MISSED, bench_stats.NOT_KNOWN)
    }
    reached = of_kind.pop(bench_stats.REACHED)
    others = [f"{kind} on {', '.join(names)}" for kind, names in of_kind.items() if names]
    return (
        f"at most {most:g} % of the CPU time of any workload: "
        + "; ".join([f"reached on {len(reached)} of the {len(verdicts)} that were measured", *others])
    )


def table(measured, most, parts_title, agent):
    """(lines, verdicts). With an agent there is a column for what it causes, which the goal is about."""
    head = [
        "workload",
        "samples",
        "share",
        "95 % interval",
        *(["by the agent", "95 % interval", "in pauses", "95 % interval"] if agent else []),
        *(["goal"] if most else []),
        parts_title,
        "measured",
    ]
    numbers = head.index("goal" if most else parts_title) - 1
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * numbers + "---|" * (len(head) - 1 - numbers)]
    verdicts = {}
    for name, result in measured.items():
        seconds = [profile_samples.Second(*second) for second in result["seconds"]]
        shares = [profile_samples.share(seconds)]
        if agent:
            shares += [profile_samples.by_agent(seconds), profile_samples.in_pauses(seconds)]
        if most:
            verdicts[name] = shares[1 if agent else 0].verdict(most)
        samples = sum(second.every for second in seconds)
        parts = (
            ", ".join(f"{part} {count * 100 / samples:.2f} %" for part, count in result["parts"].items())
            or "none"
        )
        cells = [
            name,
            f"{samples:,}",
            *(cell for share in shares for cell in share.cells()),
            *([verdicts[name]] if most else []),
            parts,
            f"{result['date']}, commit {result['commit']}" if "commit" in result else result["date"],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    left = [name for name in workloads.WORKLOADS if name not in measured]
    if left:
        lines += ["", "Not measured: " + ", ".join(left) + "."]
    return lines, verdicts


PATCH_HEAD = """# What the patch costs a JVM without an agent

Written by `scripts/profile patch`. Workloads of the harness ([harness.md](harness.md)) run on the patched \
JDK without an
agent, warm-up included, under `perf record`. The share is that of the JVM's CPU samples that have a function \
of the patch
on the stack, including what HotSpot's functions do for it. The parts are the functions that HotSpot calls. \
A few
instructions that the patch adds to HotSpot's own functions and to compiled code are not seen.
"""
PROFILE_HEAD = """# What tracing costs, by profile

Written by `scripts/profile`. Workloads of the harness ([harness.md](harness.md)) run with the agent \
(the studies of where the site lives: without), warm-up included,
under `perf record`. The share is that of the process' CPU samples that are the agent's or the patch's: \
in the agent's
threads, or with a function of `libanttracks.so` or of the patch on the stack. \
*By the agent* is that without what the patch does for allocation sites, which a JVM without \
an agent pays as
well ([benchmarks-patch.md](benchmarks-patch.md)); a budget is about that share.
*In pauses* says by how much the agent adds to the CPU time of the threads that collect while the program \
stands still. \
Pairs of runs ([benchmarks.md](benchmarks.md)) measure run time; their noise on a shared machine is
larger than most of these shares.

Not seen: caches that the application shares with the agent, the allocation slow path that a program takes \
once per TLAB
stretch instead of once per TLAB, and what the C library does for the agent in an application's thread. \
The agent itself
measures its cost for `budget=`; this is an independent look at it.

Parts: *application threads* read TLABs at the end of a stretch; *walkers* do it in their place; \
*collections* is what is
done in pauses and by GC threads (moves, events); *compressors* predict and compress; *writer* writes; \
*sync points* is the
agent's Java thread, which lists old objects; *call stacks* is what samples of them take (`stacks=`); \
the rest are functions of the patch.
"""


def about(studies):
    """On which machines, when, and with how many samples. studies: the values by workload of each."""
    days = {}
    for measured in studies:
        for result in measured.values():
            days.setdefault(result["machine"], set()).add(result["date"])
    lines = [f"- {name}: on {', '.join(sorted(dates))}" for name, dates in sorted(days.items())]
    lines.append(
        f"- {profile_samples.HERTZ} samples per second of CPU time ({profile_samples.HERTZ_OF_LONG} in runs of "
        "more than ten minutes)"
    )
    return "\n".join(lines) + "\n"


def write(results):
    """The paths of the pages that were written."""
    studies, written = results["studies"], []
    if PATCH in studies:
        lines, verdicts = table(studies[PATCH], MOST_OF_PATCH, "parts", False)
        goal = f"- goal: {goal_text(verdicts, MOST_OF_PATCH)}\n"
        written.append(page(PATCH_PAGE, PATCH_HEAD + "\n" + about([studies[PATCH]]) + goal, lines))
    sections = []
    for name, study in STUDIES.items():
        for collector in bench_plan.COLLECTORS:
            measured = studies.get(key_of(name, collector))
            if not measured or key_of(name, collector) == PATCH:
                continue
            lines, verdicts = table(measured, study.most, "parts", study.agent is not None)
            sections += ["", f"## {name}, {collector}", "", study.meaning[0].upper() + study.meaning[1:] + "."]
            sections += [f"Goal: {goal_text(verdicts, study.most)}."] if study.most else []
            sections += [""] + lines
    if sections:
        others = [measured for key, measured in studies.items() if key != PATCH]
        written.append(page(PROFILE_PAGE, PROFILE_HEAD + "\n" + about(others), sections[1:]))
    return written


def page(path, head, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "\n" + "\n".join(lines) + "\n")
    return path
