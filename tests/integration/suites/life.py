# SPDX-License-Identifier: Apache-2.0
"""How a traced program ends: its output and exit code stay its own, and the trace is whole up to its end."""

import json
import os
import select
import signal
import subprocess
import time

from judge.attached import AGENT_THREADS, agent_threads, client, until
from judge.host import SmallDisk
from judge.world import add, analyze, expect, java_command, run, run_traced, tail, test, verified

FLAGS = ("-XX:+UseParallelGC", "-Xmx32m")


def same_end(how, code):
    def body(t):
        plain = run(java_command("Life", (how,), FLAGS))
        expect(plain.returncode == code, f"without the agent it ends with {plain.returncode}")
        traced = run(java_command("Life", (how,), FLAGS, f"file={t.path('trace')}"))
        for what in ("returncode", "stdout", "stderr"):
            mine, theirs = getattr(traced, what), getattr(plain, what)
            expect(mine == theirs, f"{what} differs: {mine!r}, without the agent {theirs!r}")
        verified(t.path("trace"), clean_end=how != "halt")

    add(f"Output and exit code are the same under the agent when a program ends by {how}", body)


for how, code in (("return", 0), ("exit", 7), ("halt", 9), ("throw", 1), ("daemon", 0)):
    same_end(how, code)


@test("A program that was started without standard streams prints nothing into its trace")
def no_streams(t):
    closed = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
    for options in ("", ",maxsize=4M,keep=yes"):
        t.clear()
        trace, _ = run_traced(
            t,
            "Mix",
            (20_000,),
            FLAGS,
            f",stats={t.path('stats')},log=debug" + options,
            judged=False,
            before=closed,
        )
        verified(trace)
        with open(t.path("stats"), encoding="utf-8") as file:
            expect(json.load(file)["state"] == "ended", "the counters are not whole")


def start_forever(t, options="", **more):
    # A command in the background of a shell ignores SIGINT, and the JVM then does, too.
    process = subprocess.Popen(
        java_command("Life", ("forever",), FLAGS, f"file={t.path('trace')}{options}", **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=t.folder,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(200):
        ready, _, _ = select.select([process.stdout], [], [], 0.3)
        line = process.stdout.readline() if ready else ""
        if line == "running\n":
            return process
        if process.poll() is not None:
            break
    process.kill()
    expect(False, f"the program did not start: {tail(process.stderr.read())}")


def let_run(process, seconds):
    """The program goes on; it must not end by itself."""
    try:
        process.wait(seconds)
        expect(False, f"the program ended with {process.returncode}")
    except subprocess.TimeoutExpired:
        pass


@test("SIGTERM ends the program as without the agent, and the trace cleanly")
def sigterm(t):
    process = start_forever(t)
    let_run(process, 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    expect(process.returncode == 143, f"ended with {process.returncode}, not 143")
    verified(t.path("trace"))


@test("After kill -9 the trace loads up to its last complete chunk")
def sigkill(t):
    process = start_forever(t)
    let_run(process, 3)
    process.kill()
    process.communicate(timeout=60)
    result = verified(t.path("trace"), clean_end=False)
    expect(not result["ended_cleanly"], "a killed program cannot end its trace")
    expect(result["chunks"] > 3 and result["gcs"] > 0, f"too little was written before the kill: {result}")
    analyze("heap", t.path("trace"), "--top", "3")


PROMPTLY = 30  # seconds; what would wait for a thread of the agent has no end, or one of its bounds


def end_promptly(process):
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    took = time.monotonic() - began
    expect(process.returncode == 130, f"ended with {process.returncode}, not 130")
    expect(took < PROMPTLY, f"it took {took:.1f} s to end")


@test("The agent's threads do not keep the program from ending, and all are gone after a stop")
def no_thread_stays(t):
    for stop in (False, True):
        t.clear()
        process = start_forever(t, ",maxsize=16M,compressors=2")
        try:
            until(
                lambda: set(agent_threads(process.pid)) == set(AGENT_THREADS),
                "not all threads of the agent are there",
            )
            if stop:
                client("ctl", process.pid, "stop")
                until(lambda: not agent_threads(process.pid), "threads of the agent are left")
            end_promptly(process)
        finally:
            process.kill()
        verified(t.path("trace"))


@test("A full disk ends tracing, not the program")
def full_disk(t):
    with SmallDisk(t, "1m") as folder:
        trace = os.path.join(folder, "trace")
        plain = run(java_command("Mix", (300_000,), FLAGS))
        traced = run(java_command("Mix", (300_000,), FLAGS, f"file={trace},compress=off"))
        expect(
            (traced.returncode, traced.stdout) == (0, plain.stdout),
            f"ended with {traced.returncode}: {traced.stdout!r} {tail(traced.stderr)}",
        )
        expect("space" in traced.stderr.lower(), f"it does not say that the disk is full: {traced.stderr!r}")
        verified(trace, clean_end=False)
