# SPDX-License-Identifier: Apache-2.0
"""results.json of a folder: where it was measured, and by study, workload and configuration the values of each run, with
their medians and ratios for other programs to read."""

import json
import os
import re
import statistics
import subprocess

from bench_plan import STUDIES

NAME = "results.json"
VALUES = ("wall_ms", "gc_ms", "cpu_s")


class Unusable(Exception):
    pass


def java_version(home):
    done = subprocess.run([home + "/bin/java", "-version"], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    if done.returncode != 0 or len(lines) < 2:
        raise Unusable(f"{home}/bin/java does not run")
    return re.sub(r".*\(build ([^,)]*).*", r"\1", lines[1])


def where(home_of):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(re.search(r"^MemTotal:\s+(\d+)", file.read(), re.M)[1]) >> 20
    machine = f"{os.cpu_count()} cores of {match[1] if match else 'unknown processor'}, {memory} GB, Linux {os.uname().release.split('-')[0]}"
    return {"machine": machine, **{name: java_version(home) for name, home in home_of.items()}}


def load(folder, place=None):
    """What is there; with a place: of that machine and those JDKs, else a new beginning."""
    path, data = os.path.join(folder, NAME), None
    if os.path.exists(path):
        data = read(path)
    if place is not None and (data is None or data["where"] != place):
        data = {"where": place, "studies": {}}
    return data


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as e:
        raise Unusable(f"{path}: {e}") from None
    if not isinstance(data, dict) or "studies" not in data or "where" not in data:
        raise Unusable(f"{path} was not written by this version of scripts/bench; delete it")
    return data


def put(folder, data, study, workload, settings, by):
    data["studies"].setdefault(study, {})[workload] = {"settings": settings, "summary": summary(STUDIES[study].base, by), "runs": by}
    path = os.path.join(folder, NAME)
    os.makedirs(folder, exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    os.replace(path + ".tmp", path)


def summary(base, by):
    """By configuration and value: median, lowest, highest, ratio of the median to the base's."""
    result = {}
    for name, runs in by.items():
        if "wall_ms" not in runs[0]:
            result[name] = runs[0]
            continue
        result[name] = {}
        for value in VALUES:
            found = [run[value] for run in runs]
            other = statistics.median(run[value] for run in by[base])
            middle = statistics.median(found)
            result[name][value] = {"median": middle, "lowest": min(found), "highest": max(found),
                                   "ratio": middle / other if other else None}
    return result


def compare(folder, old_path):
    """A table of what changed, the worst first: ratios to the base, which a slower or faster machine does not change."""
    old, new = read(old_path), load(folder)
    if new is None:
        raise Unusable("nothing to compare with: run scripts/bench first")
    rows, alone = [], 0
    for study, by_workload in new["studies"].items():
        for workload, entry in by_workload.items():
            before = old["studies"].get(study, {}).get(workload)
            if before is None:
                alone += 1
                continue
            for configuration, values in entry["summary"].items():
                was = before["summary"].get(configuration, {})
                for value in VALUES:
                    if value in values and value in was and values[value]["ratio"] and was[value]["ratio"]:
                        rows.append(row(study, workload, configuration, value, was[value], values[value]))
    rows.sort(key=lambda r: -r[0])
    slower = [r for r in rows if r[1] == "slower"]
    lines = ["| study | workload | configuration | value | ratio before | ratio now | change | |", "|---|---|---|---|---:|---:|---:|---|"]
    lines += [f"| {' | '.join(r[2])} | {r[3]:.3f} | {r[4]:.3f} | {r[0] * 100 - 100:+.1f} % | {r[1]} |" for r in rows if r[1]]
    lines += ["", f"{len(slower)} of {len(rows)} values became slower by more than the spread of their runs"
              + (f"; {alone} workloads of a study were not measured before" if alone else "")]
    if old["where"] != new["where"]:
        lines.append(f"Mind: the old values are of {old['where']}, the new ones of {new['where']}")
    return lines


def row(study, workload, configuration, value, was, now):
    change = now["ratio"] / was["ratio"]
    # The spread of both, as ratios: a change within it means nothing.
    spread = max(v["highest"] / v["median"] for v in (was, now)), min(v["lowest"] / v["median"] for v in (was, now))
    mark = "slower" if change > spread[0] else "faster" if change < spread[1] else ""
    return change, mark, (study, workload, configuration, value), was["ratio"], now["ratio"]
