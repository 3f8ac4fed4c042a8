# SPDX-License-Identifier: Apache-2.0
"""One JVM, measured: its command line, its times from its own output and log, its memory from the kernel, its
trace from the agent's counters."""

import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

import workloads
from bench_plan import CONFIGURATIONS, settings_of

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
BUILD = os.path.join(ROOT, "build")
AGENT = os.path.join(BUILD, "libanttracks.so")
ANALYZER = os.path.join(BUILD, "anttracks")
COMPRESS_BENCH = os.path.join(BUILD, "meson", "tests", "bench", "compress_bench")
COLLECTION = re.compile(r"GC\(\d+\) Pause (?:(Young|Full) \(.*?\)|Remark) .*->")
SAFEPOINT = re.compile(r'Safepoint "(\w+)".* At safepoint: (\d+) ns')
ITERATION = re.compile(r"^iteration \d+ ([0-9.]+) wall_ms (\d+) gc_ms (\d+) cpu_ms (\w+)$", re.M)
KEPT_COUNTERS = (
    "objects",
    "bytes",
    "raw_bytes",
    "stored_bytes",
    "walk_ns",
    "compress_ns",
    "write_ns",
    "blocked_ns",
    "queue_high_water_bytes",
    "skipped_bytes",
    "spent_ppm",
    "chunks",
    "compressed_chunks",
    "collections",
    "sync_points",
    "sync_pause_ns",
    "requested_collections",
    "files",
    "lost_bytes",
    "dropped_bytes",
    "provenance_files",
    "lost_provenance",
    "provenance_ns",
    "censuses",
    "census_objects",
    "census_ns",
)
COLLECTOR_SEGMENTS = ("MOVES", "SLIDES", "FILLERS", "GC_BEGIN", "GC_END")


class Failed(Exception):
    pass


def command(name, configuration, home, iterations, warmup, folder):
    agent = configuration.agent(name)
    flags = [f"-XX:+Use{configuration.collector}GC", f"-Xlog:gc,safepoint:file={folder}/gc.log:uptime"]
    flags += [
        flag.format(folder=folder, library=os.environ.get(configuration.library, ""))
        for flag in configuration.flags
    ]
    if configuration.pretenures:
        flags += pretenuring(configuration, folder + "/sites")
    if configuration.java_agent:
        flags.append(
            "-javaagent:" + os.path.join(BUILD, "java", configuration.java_agent.format(folder=folder))
        )
    line = workloads.start(
        name,
        home,
        "large",
        iterations,
        warmup,
        flags=flags,
        agent=f"{AGENT}=file={folder}/trace,stats={folder}/stats.json,{agent}" if agent else None,
    )
    if workloads.WORKLOADS[name].source == "Javac.java" and configuration.release != 17:
        # A stock JDK may have no sources; all of a release compile the same.
        line += ["--sources", os.path.join(BUILD, f"jdk{configuration.release}", "lib", "src.zip")]
    # The program puts its process id in.
    return line + (
        [
            "--after-warmup",
            configuration.command.format(analyzer=ANALYZER, library=AGENT, folder=folder, pid="{pid}"),
        ]
        if configuration.command
        else []
    )


@dataclass
class Ended:
    code: int
    stdout: str
    stderr: str
    elapsed_s: float
    usage: resource.struct_rusage  # of this process, and of those it waited for
    in_time: bool  # False: it was killed

    @property
    def cpu_s(self):
        return self.usage.ru_utime + self.usage.ru_stime

    @property
    def rss_mb(self):
        """The most that was resident at a time. Never less than this script has, whose memory the child shared
        until it became the JVM, which has more."""
        return self.usage.ru_maxrss / 1024


def ended(line, folder, limit_s):
    """Runs a command to its end, or kills it. The usage of a single process is known to who reaps it, so that
    is done here and not by the subprocess module; the output goes to files in the folder, which need no
    reader."""
    paths = [os.path.join(folder, name) for name in ("stdout", "stderr")]
    began, in_time = time.monotonic(), False
    with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
        process = subprocess.Popen(line, stdout=out, stderr=err)
    watched = os.pidfd_open(process.pid)
    try:
        in_time = bool(select.select([watched], [], [], limit_s)[0])
    finally:
        if not in_time:
            signal.pidfd_send_signal(watched, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed, process.returncode = time.monotonic() - began, os.waitstatus_to_exitcode(status)
        os.close(watched)
    said = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            said.append(file.read())
    return Ended(process.returncode, *said, elapsed, usage, in_time)


def one_run(name, key, home, options, limit_s, look_inside):
    """Values of one JVM. limit_s: when it is killed, which is a result for a baseline. look_inside: also what
    takes long to find out from the trace. Files are in options.scratch, which is deleted unless the run
    fails."""
    configuration, iterations = CONFIGURATIONS[key], options.iterations * settings_of(name).repeat
    folder = options.scratch
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    listed = pretenured(name, configuration, home, iterations, options) if configuration.pretenures else None
    line = command(name, configuration, home, iterations, options.warmup, folder)
    done = ended(line, folder, limit_s)
    if not done.in_time:
        if configuration.whole:
            raise Failed(f"{name}, {key}: no end after {limit_s:.0f} s")
        return {"stopped_s": limit_s}
    said = f"{name}, {key}: java ended with {done.code}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
    lines = ITERATION.findall(done.stdout)
    if done.code != 0 or len(lines) != iterations:
        why = re.search(r"OutOfMemoryError: [^\n]*|\w+(?:Error|Exception)\b", done.stderr)
        # Of a JVM without other people's tools only a full heap is a result.
        if configuration.whole or not why or not (configuration.java_agent or "OutOfMemory" in why[0]):
            raise Failed(said)
        return {"died": why[0]}
    log = os.path.join(folder, "gc.log")
    pauses = pauses_of(log)
    result = {
        "iterations_ms": [float(wall) for wall, *_ in lines],
        "iterations_cpu_s": sum(int(cpu) for _, _, cpu, _ in lines) / 1000,
        "gc_ms": sum(pauses),
        "pauses": len(pauses),
        "cpu_s": done.cpu_s,
        "elapsed_s": done.elapsed_s,
        "rss_mb": done.rss_mb,
        "checksum": lines[0][3],
    }
    if configuration.attaches:
        result |= attach_pauses(log)
    if configuration.agent(name) or configuration.attaches:
        result["stats"] = stats_of(folder, said)
        result["inside"] = inside_of(key, os.path.join(folder, "trace")) if look_inside else None
    if configuration.command.endswith("dump-stats"):
        # Printed between warm-up and the first iteration that counts.
        result["objects_before"] = int(re.search(r'"objects": (\d+)', done.stdout)[1])
    if listed:
        result["pretenured"] = listed
    if key == "dumps":
        with open(os.path.join(folder, "dumps.json"), encoding="utf-8") as file:
            result["dumps"] = json.load(file)["dumps"]
    shutil.rmtree(folder)
    return result


def pretenuring(configuration, sites):
    by_copy = ["-XX:+AntTracksPretenureByCopy"] if configuration.pretenures == "copied" else []
    return ["-XX:+UnlockExperimentalVMOptions", f"-XX:AntTracksPretenure={sites}", *by_copy]


LISTED = {}  # by workload and collector: the list, and what young collections copied without it
COPIED = {}  # by workload, collector and how they are made old: what they copied with it


def pretenured(name, configuration, home, iterations, options):
    """Writes the list of sites into the run's folder. Returns how many there are, and what young collections
    copied of the program's objects without and with the list: from two traced runs, once for all rounds."""
    key = (name, configuration.collector)
    path = os.path.join(options.scratch, "sites")
    if key not in LISTED:
        LISTED[key] = traced_lifetimes(name, configuration, home, iterations, options, None)
    before, text = LISTED[key]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    how = (*key, configuration.pretenures)
    if how not in COPIED:
        COPIED[how], _ = traced_lifetimes(name, configuration, home, iterations, options, path)
    sites = sum(not line.startswith("#") for line in text.splitlines())
    return {"sites": sites, "copied": before, "copied_then": COPIED[how]}


def traced_lifetimes(name, configuration, home, iterations, options, sites):
    """(bytes that young collections copied, the list of sites)."""
    trace = os.path.join(options.scratch, "trace")
    flags = [f"-XX:+Use{configuration.collector}GC"]
    if sites:
        flags += pretenuring(configuration, sites)
    line = workloads.start(
        name, home, "large", iterations, options.warmup, flags=flags, agent=f"{AGENT}=file={trace}"
    )
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{name}, traced: java ended with {done.returncode}: {done.stderr[-2000:]}")
    copied = analyze("lifetimes", trace)["pretenuring"]["of_copied_bytes"]
    listed = subprocess.run([ANALYZER, "lifetimes", trace, "--pretenure-list"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise Failed(f"anttracks lifetimes ended with {listed.returncode}: {listed.stderr}")
    os.remove(trace)
    return copied, listed.stdout


def stats_of(folder, said):
    """The agent's counters, of everything that was written, in files that were deleted, too."""
    with open(os.path.join(folder, "stats.json"), encoding="utf-8") as file:
        stats = json.load(file)
    counters = stats["counters"]
    if stats["state"] != "ended" or counters["lost_segments"] or counters["dropped_chunks"]:
        raise Failed(f"the trace is not whole: {stats}\n{said}")
    return {name: counters[name] for name in KEPT_COUNTERS if name in counters}


def safepoints(log):
    """(operation, ms, the kinds of the collections in it: "Young", "Full", "" for a remark) of each, in order.
    What the agent does in a pause is part of it."""
    collections = []
    with open(log, encoding="utf-8") as file:
        for line in file:
            if match := COLLECTION.search(line):
                collections.append(match[1] or "")
            elif match := SAFEPOINT.search(line):
                yield match[1], int(match[2]) / 1e6, collections
                collections = []


def pauses_of(log):
    """ms of each safepoint in which a collection ran."""
    return [ms for _, ms, collections in safepoints(log) if collections]


def attach_pauses(log):
    """The longest pause in which the agent comes (or goes), and the longest young collection of the same run
    before that: later ones are traced, and may wait for the list of objects."""
    found = list(safepoints(log))
    first = next(i for i, (operation, *_) in enumerate(found) if operation == "AntTracks")
    return {
        "attach_ms": max(ms for operation, ms, _ in found if operation == "AntTracks"),
        "longest_young_ms": max(ms for _, ms, collections in found[:first] if collections == ["Young"]),
    }


def analyze(verb, trace):
    done = subprocess.run([ANALYZER, verb, trace, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"anttracks {verb} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def inside_of(key, trace):
    info = analyze("info", trace)
    segments = info["segments"]
    inside = {}
    if key == "traced":
        collections = info["young_gcs"] + info["full_gcs"]
        inside["bytes_per_gc"] = sum(segments[k]["bytes"] for k in COLLECTOR_SEGMENTS if k in segments) / max(
            1, collections
        )
    if CONFIGURATIONS[key].attaches:
        inside["listed"] = info["in_sync_points"]
    if CONFIGURATIONS[key].rotates:
        points = info["sync_points"] - info["abandoned_sync_points"] - info["incomplete_sync_points"]
        listed = info["in_sync_points"]["objects"]
        inside.update(
            bytes_per_sync=segments["SYNC_OBJECTS"]["bytes"] / points,
            live_objects=listed / points,
            bytes_per_live=segments["SYNC_OBJECTS"]["bytes"] / listed,
            quality=[
                {name: row[name] for name in ("objects", "with_site", "complete")}
                for row in analyze("quality", trace)["rows"]
                if row["known"]
            ][:10],
        )
    if key == "uncompressed":
        done = subprocess.run([COMPRESS_BENCH, trace], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"compress_bench ended with {done.returncode}: {done.stderr}")
        inside["compression"] = json.loads(done.stdout)
    return inside
