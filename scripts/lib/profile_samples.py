# SPDX-License-Identifier: Apache-2.0
"""The CPU samples of a JVM: which are those of the patch and the agent, and what part of them."""

import collections
import datetime
import random
import re
import subprocess
from dataclasses import dataclass
from typing import NamedTuple

import bench_stats

HERTZ = 1999
HERTZ_OF_LONG = 199  # of runs of more than two minutes, whose samples would fill the memory
# The head of a sample as perf script prints it: thread's name, process/thread, seconds.
HEAD = re.compile(r"^(?P<thread>\S.*?)\s+(?P<process>\d+)/(?P<number>\d+)\s+(?P<second>\d+)\.\d+:")
PATCH = re.compile(r"\bAntTracks\w*(?:::\w+)?")
LIBRARY = "libanttracks.so"
COLLECTOR_THREADS = ("GC Thread", "G1 ", "VM Thread")
PAUSE_THREADS = ("GC Thread", "VM Thread")
# The agent's own threads, by name.
THREADS = {
    "anttracks-walk": "walkers",
    "anttracks-zip": "compressors",
    "anttracks-aside": "writer",
    "anttracks": "writer",
    "AntTracks": "sync points",
}
STACKS = "AntTracksStacks::"
# Functions of the patch that make or find sites: what they take is paid without an agent, too.
SITES = ("AntTracksSites::", "AntTracksCompilers::", "AntTracksSiteCache::")


def hertz(seconds):
    return HERTZ if seconds <= 600 else HERTZ_OF_LONG


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


class Second(NamedTuple):
    """Samples of a process in a second of time."""

    ours: int
    every: int
    sites: int = 0  # of ours: what a JVM without an agent pays, too
    pause_ours: int = 0  # of ours: in threads that collect while the program stands
    pause: int = 0


class Process:
    def __init__(self):
        self.seconds = collections.defaultdict(collections.Counter)
        self.parts = collections.Counter()

    def add(self, head, block):
        second = self.seconds[head["second"]]
        part = part_of(head["thread"], block)
        names = ["every"]
        if part is not None:
            self.parts[part] += 1
            names += ["ours"] + (["sites"] if part.startswith(SITES) else [])
        if head["thread"].startswith(PAUSE_THREADS):
            names += ["pause"] + (["pause_ours"] if part is not None else [])
        second.update(names)

    def samples(self):
        return sum(second["every"] for second in self.seconds.values())


def count(text):
    """Of what perf script prints: (seconds, {part: samples}) of the process that has most, the JVM."""
    processes = collections.defaultdict(Process)
    for block in text.split("\n\n"):
        head = HEAD.match(block.lstrip("\n"))
        if head is not None:
            processes[head["process"]].add(head, block)
    if not processes:
        return [], {}
    jvm = max(processes.values(), key=Process.samples)
    return [
        Second(*(second[name] for name in Second._fields)) for _, second in sorted(jvm.seconds.items())
    ], jvm.parts


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

    def cells(self):
        return [f"{self.middle:.2f} %", f"{self.low:.2f} to {self.high:.2f} %"]

    def verdict(self, most):
        if self.high <= most:
            return bench_stats.REACHED
        return bench_stats.MISSED if self.low > most else bench_stats.NOT_KNOWN


def ratio(seconds, part_of_second, whole_of_second):
    """A Share of sums over the seconds."""

    def of(drawn):
        whole = sum(whole_of_second(second) for second in drawn)
        return 100 * sum(part_of_second(second) for second in drawn) / max(1, whole)

    draw = random.Random(bench_stats.SEED)
    draws = sorted(of(draw.choices(seconds, k=len(seconds))) for _ in range(bench_stats.DRAWS))
    return Share(of(seconds), draws[int(len(draws) * 0.025)], draws[int(len(draws) * 0.975)])


def share(seconds):
    """Of all samples: ours."""
    return ratio(seconds, lambda second: second.ours, lambda second: second.every)


def by_agent(seconds):
    """Of all samples: those of ours that only an agent causes."""
    return ratio(seconds, lambda second: second.ours - second.sites, lambda second: second.every)


def in_pauses(seconds):
    """Of the samples of threads that collect while the program stands: by how much ours add to the others."""
    return ratio(seconds, lambda second: second.pause_ours, lambda second: second.pause - second.pause_ours)
