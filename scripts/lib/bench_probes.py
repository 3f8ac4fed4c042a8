# SPDX-License-Identifier: Apache-2.0
"""Runs of scripts/bench that are no iterations of a workload: equal identity hashes, the size of compiled code,
the start of a JVM, and classes cloned for each site, which is simulated from traces. A case is what a study has
in the place of a workload."""

import os
import re
import resource
import shutil
import subprocess
import time

import bench_run
import workloads
from bench_plan import CONFIGURATIONS

PACKAGE = "anttracks.harness."
OBJECTS = 1_000_000  # of the study of collisions
STARTS = 10  # of which the mean is one value
HOT = 1000  # objects from which on a site is busy
TIERS = {"C1": ("-XX:TieredStopAtLevel=1",), "C2": ("-XX:-TieredCompilation",)}
FOUND = re.compile(r"^objects \d+ sites \d+ distinct (\d+) pairs (\d+) most (\d+)$", re.M)
KLASSES = re.compile(r"^klasses (\d+) of (\d+) classes$", re.M)
OF_CLASS = re.compile(r"^(own|unknown) (\S+)$", re.M)
# Number, level, state (0: in use), method [header, code - end of the code].
METHOD = re.compile(r"^\d+ ([1-4]) 0 (\S+) \[0x[0-9a-f]+, 0x([0-9a-f]+) - 0x([0-9a-f]+)\]$", re.M)


def programs(cases):
    """The workloads of the harness that cases run."""
    return [case.split()[0] for case in cases if case.split()[0] in workloads.WORKLOADS]


def output_of(line):
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise bench_run.Failed(f"{' '.join(line)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def java(home, configuration, *rest):
    flags = CONFIGURATIONS[configuration].flags
    return [home + "/bin/java", "-XX:+UseParallelGC", *flags, "-cp", workloads.CLASSES, *rest]


def collisions(case, configuration, home, _options):
    line = java(home, configuration, PACKAGE + "HashCollisions")
    line[2:2] = ["-Xmx1g"]
    between = "yes" if case.endswith("scattered") else "no"
    said = output_of([*line, "--objects", str(OBJECTS), "--sites", case.split()[0], "--scattered", between])
    distinct, pairs, most = FOUND.search(said).groups()
    return {"distinct": int(distinct), "pairs": int(pairs), "most": int(most)}


def start_up(_case, configuration, home, _options):
    line = java(home, configuration, PACKAGE + "Hello")
    line[2:2] = ["-Xms64m", "-Xmx64m"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for _ in range(STARTS):
        output_of(line)
    after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"elapsed_s": elapsed / STARTS, "cpu_s": cpu / STARTS}


def inside(name, home, size, iterations, flags):
    """What a workload and then the JVM that ran it say."""
    line = workloads.start(name, home, size, iterations, 0, flags=flags)
    line.insert(line.index(workloads.WORKLOADS[name].main), PACKAGE + "Inside")
    return output_of(line)


def code(case, configuration, home, _options):
    """sizes: of the methods that are in use at the end. Compiled while the program waits, so that what is
    compiled, and with which profile, hardly depends on time."""
    name, tier = case.split()
    flags = ("-Xbatch", "-XX:-UseCodeCacheFlushing", *TIERS[tier], *CONFIGURATIONS[configuration].flags)
    return {"sizes": sizes_of(inside(name, home, "small", 3, flags))}


def sizes_of(codelist):
    sizes, seen = {}, set()
    for level, method, begin, end in METHOD.findall(codelist):
        key = f"{level} {method}"
        if key in seen:
            sizes.pop(key, None)  # also compiled for the middle of a loop: not to be told apart
        else:
            sizes[key] = int(end, 16) - int(begin, 16)
        seen.add(key)
    return sizes


def of_common_methods(by):
    """Of the methods that every configuration of a round has compiled."""
    result = {name: [] for name in by}
    for found in zip(*by.values()):
        common = set.intersection(*(set(run["sizes"]) for run in found))
        for name, run in zip(by, found):
            result[name].append(
                {
                    "methods": len(common),
                    "bytes": sum(run["sizes"][key] for key in common),
                    "all_methods": len(run["sizes"]),
                    "all_bytes": sum(run["sizes"].values()),
                }
            )
    return result


def clones(case, _configuration, home, options):
    shutil.rmtree(options.scratch, ignore_errors=True)
    os.makedirs(options.scratch)
    trace = os.path.join(options.scratch, "trace")
    size = "small" if options.quick else "large"
    output_of(workloads.start(case, home, size, 1, 0, agent=f"{bench_run.AGENT}=file={trace}"))
    rows = bench_run.analyze("sites", trace)["sites"]
    sites = bench_run.analyze("info", trace)["counters"]["sites"]
    names = os.path.join(options.scratch, "classes")
    with open(names, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in sorted({row["class"] for row in rows}))
    # Without the shared archive all classes are in the class space.
    said = inside(case, home, "small", 1, ("-Xshare:off", f"-Danttracks.harness.classes={names}"))
    shutil.rmtree(options.scratch)
    found = KLASSES.search(said)
    if not found:
        raise bench_run.Failed(f"{case} has ended the JVM before {PACKAGE}Inside could ask it")
    klass_bytes, classes = (int(number) for number in found.groups())
    return (
        simulated(rows)
        | spared(rows, dict(reversed(found) for found in OF_CLASS.findall(said)))
        | {"klass_bytes": klass_bytes / classes, "loaded_classes": classes, "sites": sites}
    )


def spared(rows, hash_of):
    """Of the objects, those whose class has a hashCode of its own, and those of classes that were not found,
    as hidden ones are. An array has Object's."""
    objects = {"own": 0, "unknown": 0}
    for row in rows:
        known = "" if row["class"].endswith("[]") else hash_of.get(row["class"])
        if known in objects:
            objects[known] += row["objects"]
    total = sum(row["objects"] for row in rows) or 1
    return {"own_hash": objects["own"] / total, "unknown_hash": objects["unknown"] / total}


def simulated(rows):
    """What it would mean that each site has a clone of its class (ASC of VEE 2010), from what each site
    allocated of each class. Arrays count as clones, but not as receivers: they have no methods of their own.
    A call whose receiver is drawn like an allocated object of its class meets an inline cache that knows the
    clone of an earlier one."""
    by_class = {}
    for row in rows:
        by_class.setdefault(row["class"], []).append(row["objects"])
    receivers = {name: found for name, found in by_class.items() if not name.endswith("[]")}
    total = sum(sum(found) for found in receivers.values()) or 1

    def share(of):
        return sum(sum(found) * of(sorted(found, reverse=True)) for found in receivers.values()) / total

    return {
        "classes": len(by_class),
        "clones": len(rows),
        "hot_classes": sum(any(n >= HOT for n in found) for found in by_class.values()),
        "hot_clones": sum(row["objects"] >= HOT for row in rows),
        "many": share(lambda found: len(found) > 1),
        "megamorphic": share(lambda found: len(found) > 2),
        "miss": share(lambda found: 1 - sum((n / sum(found)) ** 2 for n in found)),
        "miss_of_two": share(lambda found: 1 - sum(found[:2]) / sum(found)),
    }


PROBES = {"collisions": collisions, "start-up": start_up, "code": code, "clones": clones}


def one_run(study, case, configuration, home, options):
    return PROBES[study](case, configuration, home, options)


def finished(study, by):
    """The values of all rounds, as they are kept."""
    return of_common_methods(by) if study == "code" else by
