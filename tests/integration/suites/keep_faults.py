# SPDX-License-Identifier: Apache-2.0
"""keep=yes when something goes wrong: the program does not notice, the bound holds,
and nothing is left behind."""

import os
import random
import signal
import time

from judge.rotated import Running, SizeWatch, data_files
from judge.world import ANALYZER, analyze, analyze_json, expect, run, tail, test, verified

MB = 1 << 20
PARALLEL = ("-XX:+UseParallelGC", "-Xmx32m", "-Xmn4m")


@test("Provenance that cannot be written costs what it would have kept, not the program, and is told once")
def not_written(t):
    trace = t.path("trace")
    with SizeWatch(trace, 10 * MB + MB):
        with Running(t, trace, "Windows", (6, 2_000_000, 20_000), PARALLEL, "maxsize=10M,keep=yes") as running:
            running.wait_for_file(1)
            os.kill(running.pid, signal.SIGSTOP)
            first = max(data_files(trace)) + 4
            taken = [f"{trace}.{first}.origins", f"{trace}.{first + 2}.origins"]
            for path in taken:
                os.mkdir(path)
            os.kill(running.pid, signal.SIGCONT)
            expect(running.finish() == 0, f"stderr: {tail(running.stderr())}")
    lines = running.stderr().splitlines()
    expect(len(lines) == 1, f"stderr: {tail(running.stderr())}")
    for word in ("keep=yes", taken[0], "provenance"):
        expect(word in lines[0], f"{word!r} is not in {lines[0]!r}")
    counters = analyze_json("info", trace)["counters"]
    expect(counters["lost_provenance"] == 2 and counters["provenance_files"] > 5, f"counters {counters}")
    verified(trace)
    expect(not [name for name in os.listdir(t.folder) if ".tmp" in name], f"left over: {os.listdir(t.folder)}")


@test("After kill -9 the trace loads, with the provenance that was written until then")
def killed(t):
    randomly = random.Random(4)
    for _ in range(6):
        t.clear()
        with Running(
            t, t.path("trace"), "Windows", (6, 100_000_000, 20_000), PARALLEL, "maxsize=12M,keep=yes"
        ) as running:
            running.wait_for_file(12)
            time.sleep(randomly.random() * 0.1)
            running.kill()
            verified(running.trace, clean_end=False)
            for arguments in (("info",), ("heap", "--end", "--by", "thread"), ("quality",)):
                analyze(arguments[0], running.trace, *arguments[1:])
            first = min(data_files(running.trace))
            expect(os.path.exists(f"{running.trace}.{first}.origins"), f"file {first} has no provenance")


@test("A provenance file that is deleted or damaged while the program runs costs what it kept, not the trace")
def provenance_lost(t):
    trace = t.path("trace")
    with Running(t, trace, "Windows", (6, 2_000_000, 20_000), PARALLEL, "maxsize=10M,keep=yes") as running:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not os.path.exists(f"{trace}.2.origins"):
            time.sleep(0.005)
        os.remove(f"{trace}.2.origins")
        expect(running.finish() == 0 and running.stderr() == "", f"stderr: {tail(running.stderr())}")
        verified(trace)
        first = min(data_files(trace))
        with open(f"{trace}.{first}.origins", "r+b") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"\xff\x00\xff")
        done = run([ANALYZER, "heap", trace, "--by", "thread"])
        expect(
            done.returncode == 4 and ".origins" in done.stderr and "<before trace>" in done.stdout,
            f"ended with {done.returncode}: {tail(done.stdout)} {tail(done.stderr)}",
        )
