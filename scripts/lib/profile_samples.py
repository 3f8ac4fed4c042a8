# SPDX-License-Identifier: Apache-2.0
"""The CPU samples of a JVM: which are those of the patch and the agent, and what part of them."""

import collections
import datetime
import random
import re
import subprocess
from dataclasses import dataclass

import bench_stats

HERTZ = 1999
# The head of a sample as perf script prints it: thread's name, process/thread, seconds.
HEAD = re.compile(r"^(?P<thread>\S.*?)\s+(?P<process>\d+)/(?P<number>\d+)\s+(?P<second>\d+)\.\d+:")
PATCH = re.compile(r"\bAntTracks\w*(?:::\w+)?")
LIBRARY = "libanttracks.so"
COLLECTOR_THREADS = ("GC Thread", "G1 ", "VM Thread")
# The agent's own threads, by name.
THREADS = {
    "anttracks-walk": "walkers",
    "anttracks-zip": "compressors",
    "anttracks-aside": "writer",
    "anttracks": "writer",
    "AntTracks": "sync points",
}
FOLD = "fold"
STACKS = "AntTracksStacks::"
# Functions of the patch that make or find sites: what they take is paid without an agent, too.
SITES = ("AntTracksSites::", "AntTracksCompilers::", "AntTracksSiteCache::")


def part_of(thread, block):
    """What the sample's time was spent for; None: not ours. Without the agent's library: the outermost function
    of the patch, which is what HotSpot called."""
    if thread in THREADS:
        return THREADS[thread]
    patch = PATCH.findall(block)
    if not patch and LIBRARY not in block:
        return None
    if STACKS in block:
        return "call stacks"
    if LIBRARY not in block:
        return patch[-1]
    return "collections" if thread.startswith(COLLECTOR_THREADS) else "application threads"


class Process:
    def __init__(self):
        self.ours, self.every, self.sites = collections.Counter(), collections.Counter(), collections.Counter()
        self.parts = collections.Counter()

    def add(self, head, block):
        self.every[head["second"]] += 1
        part = part_of(head["thread"], block)
        if part is not None:
            self.ours[head["second"]] += 1
            self.parts[part] += 1
            if part.startswith(SITES):
                self.sites[head["second"]] += 1


def count(text):
    """Of what perf script prints: ([ours, all, ours for sites] by second, {part: samples}) of the process that
    has most, the JVM, with those of its folds."""
    processes, folds = collections.defaultdict(Process), collections.Counter()
    heads = []
    for block in text.split("\n\n"):
        head = HEAD.match(block.lstrip("\n"))
        if head is not None:
            heads.append(head)
            processes[head["process"]].add(head, block)
    if not processes:
        return [], {}
    number, jvm = max(processes.items(), key=lambda item: item[1].every.total())
    for head in heads:
        if head["process"] != number and head["thread"] == "anttracks":
            folds[head["second"]] += 1
    jvm.ours.update(folds)
    jvm.every.update(folds)
    if folds:
        jvm.parts[FOLD] += folds.total()
    seconds = sorted(jvm.every)
    return [(jvm.ours[second], jvm.every[second], jvm.sites[second]) for second in seconds], jvm.parts


def read(data):
    script = subprocess.run(
        ["perf", "script", "-i", data, "-F", "comm,pid,tid,time,ip,sym,dso"],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    )
    counts, parts = count(script.stdout)
    return {"seconds": counts, "parts": dict(parts.most_common(6)), "date": datetime.date.today().isoformat()}


@dataclass(frozen=True)
class Share:
    """In percent, with the ends of its 95 % interval: the percentile interval of the bootstrap over seconds."""

    middle: float
    low: float
    high: float

    def verdict(self, most):
        if self.high <= most:
            return bench_stats.REACHED
        return bench_stats.MISSED if self.low > most else bench_stats.NOT_KNOWN


def share(counts, with_sites=True):
    """Of what count gives by second. Without sites: of what only an agent causes."""

    def of(drawn):
        ours = sum(second[0] - (0 if with_sites else second[2]) for second in drawn)
        return 100 * ours / max(1, sum(second[1] for second in drawn))

    draw = random.Random(bench_stats.SEED)
    draws = sorted(of(draw.choices(counts, k=len(counts))) for _ in range(bench_stats.DRAWS))
    return Share(of(counts), draws[int(len(draws) * 0.025)], draws[int(len(draws) * 0.975)])
