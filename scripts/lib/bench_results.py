# SPDX-License-Identifier: Apache-2.0
"""benchmarks.json of a folder: by study and workload how, when and where it was measured, and by configuration
the values of each run, in the order of the rounds: the runs of one round are pairs. Numbers and names only, a
line a configuration, so that what is measured again changes its own lines."""

import datetime
import json
import os
import re
import shutil
import subprocess

from bench_plan import STUDIES
from bench_tables import measured, ratio

NAME = "benchmarks.json"
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
VALUES = ("wall_ms", "elapsed_s", "gc_ms", "cpu_s", "rss_mb")


class Unusable(Exception):
    pass


def java_version(home):
    done = subprocess.run([home + "/bin/java", "-version"], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    if done.returncode != 0 or len(lines) < 3:
        raise Unusable(f"{home}/bin/java does not run")
    return re.sub(r".*\(build ([^,)]*).*", r"\1", lines[2])  # the VM's own: the rest may be another's


def library_versions(home, libraries):
    """{configuration: version} of agent libraries that are not ours, {configuration: path}, as they tell it."""
    versions = {}
    for configuration, path in libraries.items():
        command = [home + "/bin/java", f"-agentpath:{path}=version", "-version"]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.match(r"\D*(\d+(?:\.\d+)+)", done.stdout)
        versions[configuration] = found[1] if found else "of unknown version"
    return versions


def unlike(patched, stock):
    """What is different between the sources of two versions as java_version has them; empty: nothing is."""

    def of(version):
        update, build = re.match(r"([\d.]*)(?:\+(\d+))?", version).groups()
        return update, build

    if of(patched)[0] != of(stock)[0]:
        return "another update"
    return "another build" if of(patched) != of(stock) else ""


def remark(study, settings):
    """What a page says behind the version of the stock JDK."""
    found = unlike(settings["patched"], settings["stock"]) if STUDIES[study].runs_stock() else ""
    return f" ({found}: the difference is in the ratios between the two)" if found else ""


def where(home_of):
    """The settings of a measurement that are not options."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(re.search(r"^MemTotal:\s+(\d+)", file.read(), re.M)[1]) >> 20
    machine = (
        f"{os.cpu_count()} cores of {match[1] if match else 'unknown processor'}, {memory} GB, "
        f"Linux {os.uname().release.split('-')[0]}"
    )
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine,
        **{name: java_version(home) for name, home in home_of.items()},
    }


def commit():
    """With a + when sources differ from it; unknown without git."""

    def git(*words):
        if shutil.which("git") is None:
            return ""
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + (
        "+" if git("status", "--porcelain", "--", ".", ":!docs") else ""
    )


def load(folder):
    """{"studies": {study: {workload: {"settings": ..., "runs": {configuration: [values of a run]}}}}}"""
    path = os.path.join(folder, NAME)
    return read(path) if os.path.exists(path) else {"studies": {}}


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            studies = json.load(file)["studies"]
        for entry in (entry for by_workload in studies.values() for entry in by_workload.values()):
            entry["runs"] = {name: rows(columns) for name, columns in entry["runs"].items()}
    except (OSError, ValueError) as e:
        raise Unusable(f"{path}: {e}") from None
    except (KeyError, TypeError, AttributeError):
        raise Unusable(f"{path} was not written by this version of scripts/bench") from None
    # What a later version no longer measures.
    return {"studies": {name: by_workload for name, by_workload in studies.items() if name in STUDIES}}


def columns_of(found):
    """Dicts with the same keys become one dict of lists, all the way down: names are written once."""
    if (
        found
        and all(isinstance(value, dict) and value.keys() == found[0].keys() for value in found)
        and found[0]
    ):
        return {key: columns_of([value[key] for value in found]) for key in found[0]}
    return found


def rows(columns):
    if not isinstance(columns, dict):
        return columns
    by_key = {key: rows(column) for key, column in columns.items()}
    return [dict(zip(by_key, values)) for values in zip(*by_key.values())]


def short(value):
    """Five digits are more than a run of a program repeats."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: short(v) for key, v in value.items()}
    return [short(v) for v in value] if isinstance(value, list) else value


def put(folder, study, workload, settings, by):
    """Replaces one workload of a study in the folder's file, which others may have changed meanwhile."""
    data = load(folder)
    runs = {
        name: [{key: value for key, value in run.items() if key != "checksum"} for run in runs]
        for name, runs in by.items()
    }
    data["studies"].setdefault(study, {})[workload] = {"settings": settings, "runs": runs}
    write(folder, data)


def write(folder, data):
    def dump(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def entry_text(entry):
        lines = ",\n".join(f"   {dump(name)}:{dump(columns_of(runs))}" for name, runs in entry["runs"].items())
        return f"{{\"settings\":{dump(entry['settings'])},\"runs\":{{\n{lines}}}}}"

    def study_text(name):
        by_workload = data["studies"][name]
        order = [w for w in STUDIES[name].workloads if w in by_workload] + [
            w for w in by_workload if w not in STUDIES[name].workloads
        ]
        return (
            f" {dump(name)}:{{\n" + ",\n".join(f"  {dump(w)}:{entry_text(by_workload[w])}" for w in order) + "}"
        )

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, NAME)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(
            '{"studies":{\n'
            + ",\n".join(study_text(name) for name in STUDIES if name in data["studies"])
            + "}}\n"
        )
    os.replace(path + ".tmp", path)


def compare(folder, old_path):
    """A table of what changed, the worst first: ratios to the base,
    which a slower or faster machine does not change."""
    old, new = read(old_path), load(folder)
    if not new["studies"]:
        raise Unusable("nothing to compare with: run scripts/bench first")
    found, alone, elsewhere = [], 0, 0
    for study, by_workload in new["studies"].items():
        base = STUDIES[study].base
        for workload, entry in by_workload.items():
            before = old["studies"].get(study, {}).get(workload)
            if before is None:
                alone += 1
                continue
            elsewhere += before["settings"]["machine"] != entry["settings"]["machine"]
            for name in [c for c in entry["runs"] if c != base and c in before["runs"]]:
                if all(measured(runs[c]) for runs in (entry["runs"], before["runs"]) for c in (name, base)):
                    was, now = (
                        [ratio(runs[name], runs[base], value) for value in VALUES]
                        for runs in (before["runs"], entry["runs"])
                    )
                    found += [
                        ((study, workload, name, value), *pair)
                        for value, *pair in zip(VALUES, was, now)
                        if all(pair)
                    ]
    found.sort(key=lambda row: row[1].middle / row[2].middle)
    # Two 95 % intervals without a common value: a change within them means nothing.
    slower, faster = ([row for row in found if row[i].high < row[j].low] for i, j in ((1, 2), (2, 1)))
    lines = [
        "| study | workload | configuration | value | ratio before | ratio now | change | |",
        "|---|---|---|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {' | '.join(names)} | {was.interval()} | {now.interval()} | "
        f"{(now.middle / was.middle - 1) * 100:+.1f} % | {mark} |"
        for rows_of, mark in ((slower, "slower"), (faster, "faster"))
        for names, was, now in rows_of
    ]
    lines += [
        "",
        f"{len(slower)} of {len(found)} values became slower: their 95 % intervals do not meet"
        + (f"; {alone} workloads of a study were not measured before" if alone else ""),
    ]
    if elsewhere:
        lines.append(f"Mind: {elsewhere} workloads of a study were measured on another machine before")
    return lines
