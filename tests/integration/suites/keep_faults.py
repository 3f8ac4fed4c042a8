# SPDX-License-Identifier: Apache-2.0
"""keep=yes when folding goes wrong: the program does not notice, the bound holds,
and nothing is left behind."""

import os
import random
import shutil
import signal
import time

from judge.attached import until
from judge.host import MemoryLimit, state_of_process
from judge.rotated import Running, SizeWatch, data_files, plain_output
from judge.world import (
    AGENT,
    ANALYZER,
    Failure,
    analyze,
    analyze_json,
    expect,
    java_command,
    run,
    tail,
    test,
    verified,
)

MB = 1 << 20
BOUND = "maxsize=8M,keep=yes"
LIMIT = 8 * MB + 8 * MB // 10
PROGRAM = ("FastAllocation", (4_000_000,), ("-XX:+UseParallelGC", "-Xmx24m", "-Xmn2m"))


def agent_with(t, script):
    """A copy of the agent in a folder of its own, beside the script that stands for anttracks; None:
    beside nothing."""
    folder = t.path("agent")
    os.mkdir(folder)
    shutil.copyfile(AGENT, os.path.join(folder, "libanttracks.so"))
    if script is not None:
        program = os.path.join(folder, "anttracks")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho $$ >>{folder}/pids\n{script}\n")
        os.chmod(program, 0o755)
    return os.path.join(folder, "libanttracks.so")


def command(agent, options):
    """The words of java_command, with another agent."""
    return [word.replace(AGENT, agent) for word in java_command(*PROGRAM, options)]


def left_over(t):
    """Processes that were started to fold and still live, files that they did not finish."""
    with open(os.path.join(t.path("agent"), "pids"), encoding="utf-8") as file:
        pids = file.read().split()
    expect(pids, "nothing was folded: the test tests nothing")
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")] + [
        name for name in os.listdir(t.folder) if ".tmp" in name or name.endswith(".origins")
    ]


@test("keep=yes without anttracks beside the agent is refused by name, and no file is made")
def no_program(t):
    agent = agent_with(t, None)
    done = run(command(agent, f"file={t.path('trace')},{BOUND}"), cwd=t.folder)
    expect(
        done.returncode == 1 and "sum" not in done.stdout, f"ended with {done.returncode}: {tail(done.stdout)}"
    )
    missing = os.path.join(os.path.dirname(agent), "anttracks")
    for word in ("keep=yes", missing):
        expect(word in done.stderr, f"{word!r} is not in {done.stderr!r}")
    expect(os.listdir(t.folder) == ["agent"], f"files: {os.listdir(t.folder)}")


def bad_fold(name, script, said):
    """The program ends as without the agent; stderr has one line with the words,
    and the bound holds throughout."""

    @test("A fold that " + name + " costs what it would have kept, not the program, and leaves nothing")
    def body(t):
        trace = t.path("trace")
        agent = agent_with(t, script)
        with SizeWatch(trace, LIMIT):
            done = run(command(agent, f"file={trace},{BOUND}"), cwd=t.folder)
        expected = plain_output(*PROGRAM)
        expect(
            (done.returncode, done.stdout) == expected,
            f"ended with {done.returncode}, {done.stdout!r}, not {expected}",
        )
        lines = done.stderr.splitlines()
        expect(len(lines) == 1, f"stderr: {tail(done.stderr)}")
        for word in ("keep=yes", trace, said):
            expect(word in lines[0], f"{word!r} is not in {lines[0]!r}")
        counters = analyze_json("info", trace)["counters"]
        expect(counters["folded_files"] == 0 and counters["unfolded_files"] > 3, f"counters {counters}")
        expect(min(data_files(trace)) > 3, f"data files {list(data_files(trace))}: too few were deleted")
        verified(trace)
        expect(not left_over(t), f"left over: {left_over(t)}")


# As the real one would leave it.
UNFINISHED = "i=${4##*.}; echo half >${4%.*}.$((i + 1)).origins.tmp-0123456789abcdef\n"
bad_fold("fails", UNFINISHED + "echo no luck today >&2; exit 1", "no luck today")
bad_fold("is killed", UNFINISHED + "kill -9 $$", "it was killed")
bad_fold("never ends", UNFINISHED + "exec sleep 1000", "it had to go before it was folded")


@test("After kill -9 in the middle of folding the trace loads, and the fold ends by itself")
def killed(t):
    randomly = random.Random(4)
    seen = 0
    for turn in range(8):
        t.clear()
        with Running(
            t,
            t.path("trace"),
            "Windows",
            (6, 100_000_000, 20_000),
            ("-XX:+UseParallelGC", "-Xmx32m", "-Xmn4m"),
            "maxsize=12M,keep=yes",
        ) as running:
            running.wait_for_file(6)
            deadline = time.monotonic() + 20
            while not folds_of(running.pid) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(randomly.random() * 0.05 * (turn % 2))
            folds = folds_of(running.pid)
            running.kill()
            seen += bool(folds)
            deadline = time.monotonic() + 20
            while any(os.path.exists(f"/proc/{pid}") for pid in folds) and time.monotonic() < deadline:
                time.sleep(0.01)
            expect(not any(os.path.exists(f"/proc/{pid}") for pid in folds), f"folds that go on: {folds}")
            verified(running.trace, clean_end=False)
            for arguments in (("info",), ("heap", "--end", "--by", "thread"), ("quality",)):
                analyze(arguments[0], running.trace, *arguments[1:])
    expect(seen > 3, f"only {seen} of 8 kills came in the middle of a fold")


def folds_of(pid):
    """Children of the process that fold."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
                found += file.read().split()
        except FileNotFoundError:
            pass
    return found


@test(
    "A fold goes before the program does: first where memory is short, last where time is, "
    "with bounds and without a core dump"
)
def lowered(t):
    with Running(
        t,
        t.path("trace"),
        "Windows",
        (6, 100_000_000, 20_000),
        ("-XX:+UseParallelGC", "-Xmx32m", "-Xmn4m"),
        "maxsize=12M,keep=yes",
    ) as running:
        deadline = time.monotonic() + 120
        seen = None
        while seen != LOWERED and time.monotonic() < deadline and running.process.poll() is None:
            for pid in folds_of(running.pid):
                seen = lowered_state(pid) or seen
            time.sleep(0.0005)
        expect(
            seen == LOWERED,
            f"the last fold that was seen: {seen}, the program: {running.process.poll()} "
            f"{tail(running.stderr())}",
        )
        expect(lowered_state(running.pid) not in (None, LOWERED), "the program itself is lowered")


# oom_score_adj, scheduling policy, bytes of data and of a core dump. 32 MB of heap and what a small one needs.
LOWERED = ("1000", os.SCHED_BATCH, str(288 * MB), "0")


def lowered_state(pid):
    """None: it is gone."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
            score = file.read().strip()
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            limits = {line[:26].strip(): line[26:].split()[0] for line in file}
        return score, os.sched_getscheduler(int(pid)), limits["Max data size"], limits["Max core file size"]
    except (OSError, KeyError):
        return None


@test(
    "Where memory is short for program and fold together, the kernel kills the fold, and the program goes on",
    slow=True,
)
def short_of_memory(t):
    program = (
        "Windows",
        (4, 16_000_000, 4_000_000),
        ("-XX:+UseParallelGC", "-Xms1280m", "-Xmx1280m", "-Xmn32m", "-XX:+AlwaysPreTouch"),
    )
    with MemoryLimit(t, None) as limit:
        with Running(
            t, t.path("trace"), *program, "maxsize=128M,keep=yes,queue=4M", before=limit.command
        ) as running:
            fold = first_fold(running)
            try:
                limit.leave(ROOM)
                os.kill(fold, signal.SIGCONT)
                until(lambda: state_of_process(fold) == "Z", "the fold does not end")
                killed = limit.kills()
            finally:
                os.kill(running.pid, signal.SIGCONT)
            code = running.finish()
            expect(
                killed == 1,
                f"the kernel killed {killed} processes in the time of the first fold; "
                f"the program ended with {code}",
            )
            expect(
                (code, running.stdout()) == plain_output(*program),
                f"ended with {code}: {running.stdout()!r} {tail(running.stderr())}",
            )
            lines = running.stderr().splitlines()
        expect(len(lines) == 1 and "keep=yes" in lines[0] and "it was killed" in lines[0], f"stderr: {lines}")
    expect(analyze_json("info", t.path("trace"))["counters"]["unfolded_files"] > 0, "nothing went")
    verified(t.path("trace"))


# Memory beyond what there is when the first fold begins. It takes 68 MB, the program 14 more until its end.
# Not less than the JVM has of mapped files, 22 MB: another control group has paid for them, but the kernel
# counts them when it chooses whom to kill. And some for the start of later folds, before they have told the
# kernel to choose them.
ROOM = 36 * MB


def first_fold(running):
    """Stops the program while it folds, and the fold, which has then done little or nothing."""
    while running.process.poll() is None:
        folds = folds_of(running.pid)
        if not folds:
            time.sleep(0.0005)
            continue
        fold = int(folds[0])
        for pid in (running.pid, fold):  # in this order: nobody takes note of the fold's end
            os.kill(pid, signal.SIGSTOP)
        until(
            lambda: state_of_process(running.pid) == "T" and state_of_process(fold) in "TZ",
            "a process does not stop",
        )
        if state_of_process(fold) == "T":
            return fold
        os.kill(running.pid, signal.SIGCONT)
    raise Failure(f"nothing was folded: {running.process.returncode} {tail(running.stderr())}")


@test("A provenance file that is deleted or damaged while the program runs costs what it kept, not the trace")
def provenance_lost(t):
    trace = t.path("trace")
    with Running(
        t,
        trace,
        "Windows",
        (6, 2_000_000, 20_000),
        ("-XX:+UseParallelGC", "-Xmx32m", "-Xmn4m"),
        "maxsize=10M,keep=yes",
    ) as running:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not os.path.exists(f"{trace}.2.origins"):
            time.sleep(0.005)
        time.sleep(0.15)  # until the agent has seen that it is there
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
