# SPDX-License-Identifier: Apache-2.0
"""Requests at the wrong moment: two at once, at the end of the JVM, while the disk stands still."""

import glob
import json
import os
import random
import subprocess

from judge.attached import Program, until
from judge.exact import judge
from judge.host import SmallDisk, StoppedThread
from judge.world import AGENT, ANALYZER, analyze_json, expect, run, tail, test, verified

LOSS_KINDS = {"events lost by the agent", "event that cannot be checked after a loss"}
# Done; no process or JVM any more; it does not listen; no answer; refused by the agent.
AT_THE_END = (0, 5, 6, 9, 11, 12)


def begin(program, *words):
    """A client that runs beside the test."""
    command = [ANALYZER, words[0], str(program.pid), *words[1:], "--lib", AGENT]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=program.test.folder)


def outcome(client):
    out, err = client.communicate(timeout=300)
    return client.returncode, out + err


@test("Requests that come at once are done one after the other")
def at_once(t):
    with Program(t) as program:
        program.attach("file=first.trace,maxsize=16M")
        randomly = random.Random(1)
        for _ in range(6):
            clients = [begin(program, "ctl", randomly.choice(("stop", "start", "rotate", "status"))) for _ in range(4)]
            for code, text in map(outcome, clients):
                expect(code == 0 or code == 12 and ("traced already" in text or "nothing is traced" in text), f"{code}: {text}")
        if program.status()["state"] == "tracing":
            program.ctl("stop")
        program.attach("file=last.trace")
        program.tell("both")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    for trace in glob.glob(t.path("first*.trace")):
        verified(trace)
    expect(judge(t.folder, t.path("last.trace")) == 2, "nothing was judged")


@test("Requests while the JVM ends change neither its output nor its exit code, and the traces stay readable")
def at_the_end(t):
    for number, action in enumerate(("stop", "start", "status", "stop", "start", "rotate")):
        with Program(t) as program:
            program.attach(f"file={number}.trace,maxsize=16M")
            if action == "start":
                program.ctl("stop")
            client = begin(program, "ctl", action)
            program.end()
            code, text = outcome(client)
            expect(code in AT_THE_END, f"{action}: {code} {text}")
    for trace in glob.glob(t.path("*.trace")):
        verified(trace, clean_end=False)
    expect(len(glob.glob(t.path("*.trace"))) >= 6, "traces are missing")


@test("A stop while the disk stands still keeps the program running, and says what is missing", slow=True)
def stalled(t):
    with Program(t) as program:
        program.attach("file=trace,queue=64K,buffer=1K")
        writer = StoppedThread(program.pid, "anttracks")
        with writer:
            until(lambda: program.status()["trace"]["counters"]["waits"] > 0, "no thread waits for the disk")
            client = begin(program, "ctl", "stop")
            for _ in range(5):
                program.tell("gc")
            code, text = outcome(client)
            expect(code == 12 and "no progress" in text, f"{code}: {text}")
            expect(program.status()["state"] == "stopped", f"{program.status()}")
            program.ctl("start", f"file={t.path('second')}")
        until(lambda: analyze_json("info", t.path("trace"))["ended_cleanly"], "the writer does not go on")
        program.tell("both")
        program.end()
    # Threads waited for longer than they may: what was dropped is told, and nothing else is wrong.
    report = json.loads(run([ANALYZER, "verify", t.path("trace"), "--json"]).stdout)
    expect(set(report["by_kind"]) <= LOSS_KINDS and report["ended_cleanly"], f"{report['by_kind']}")
    expect(judge(t.folder, t.path("second")) == 2, "nothing was judged")


@test("A trace that failed on a full disk can be stopped, and another one begun elsewhere")
def failed(t):
    with SmallDisk(t, "1m") as folder, Program(t) as program:
        program.attach(f"file={os.path.join(folder, 'trace')},compress=off")
        until(lambda: program.status()["state"] == "failed", "the disk does not fill")
        expect("space" in program.ctl("status").stdout.lower(), "status does not say why")
        stopped = program.ctl("stop")
        expect("space" in stopped.stderr.lower(), f"stop does not say why: {stopped.stderr!r}")
        program.ctl("start", f"file={t.path('second')}")
        program.tell("both")
        program.end()
        verified(os.path.join(folder, "trace"), clean_end=False)
    expect(judge(t.folder, t.path("second")) == 2, "nothing was judged")
