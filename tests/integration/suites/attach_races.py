# SPDX-License-Identifier: Apache-2.0
"""Requests at the wrong moment: two at once, at the end of the JVM, while the disk stands still."""

import contextlib
import glob
import json
import os
import random
import subprocess
import time

from judge.attached import Program, until
from judge.exact import judge
from judge.host import SmallDisk, StoppedThread, state_of_process
from judge.world import AGENT, ANALYZER, analyze_json, expect, run, tail, test, verified

LOSS_KINDS = {"events lost by the agent", "event that cannot be checked after a loss"}
# What a request at the end of the JVM may come to: exit code, and what the message says.
DONE = {
    "stop": "is traced no more",
    "start": "is traced to",
    "status": "state       tracing",
    "rotate": "begun",
}
TOO_LATE = {
    "stop": "nothing to stop",
    "start": "the JVM is ending",
    "status": "state       ended",
    "rotate": "nothing to rotate",
}
GONE = ("there is no process", "has ended", "has no memory")
NO_ANSWER = (
    "the JVM closed its socket",
    "the JVM ended, or does not want us to attach",
    "did not open its socket in time",
)


def begin(program, *words):
    """A client that runs beside the test."""
    command = [ANALYZER, words[0], str(program.pid), *words[1:], "--lib", AGENT]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=program.test.folder
    )


def outcome(client):
    out, err = client.communicate(timeout=300)
    return client.returncode, out + err


@test("Requests that come at once are done one after the other")
def at_once(t):
    with Program(t) as program:
        program.attach("file=first.trace,maxsize=16M")
        randomly = random.Random(1)
        for _ in range(6):
            clients = [
                begin(program, "ctl", randomly.choice(("stop", "start", "rotate", "status"))) for _ in range(4)
            ]
            for code, text in map(outcome, clients):
                expect(
                    code == 0 or code == 12 and ("traced already" in text or "nothing is traced" in text),
                    f"{code}: {text}",
                )
        if program.status()["state"] == "tracing":
            program.ctl("stop")
        program.attach("file=last.trace")
        program.tell("both")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    for trace in glob.glob(t.path("first*.trace")):
        verified(trace)
    expect(judge(t.folder, t.path("last.trace")) == 2, "nothing was judged")


def at_end(action, code, text):
    """Which of the right outcomes it is; any other one fails."""
    if code == 0 and DONE[action] in text:
        return "done"
    if code == (0 if action == "status" else 12) and (TOO_LATE[action] in text or "the JVM is ending" in text):
        return "too late"
    if code == 5 and any(word in text for word in GONE):
        return "gone"
    expect(
        code == 11 and any(word in text for word in NO_ANSWER),
        f"{action} at the end of the JVM: {code} {text!r}",
    )
    return "no answer"


def expect_untouched(program):
    """It has ended as without us."""
    expect(
        program.output == ["running", "kept 20001"] and program.stderr() == "",
        f"{program.output} {tail(program.stderr())}",
    )


def expect_readable(t, least):
    traces = glob.glob(t.path("*.trace"))
    expect(len(traces) >= least, f"traces are missing: {traces}")
    for trace in traces:
        verified(trace, clean_end=False)


@contextlib.contextmanager
def traced_for(t, action, work=True):
    """A traced program to which the action means something. work: see Program."""
    with Program(t, work=work) as program:
        program.attach("file=first.trace,maxsize=16M")
        if action == "start":
            program.ctl("stop")
        yield program


@test("Requests while the JVM ends change neither its output nor its exit code, and the traces stay readable")
def at_the_end(t):
    seen = []
    for lead in (0, 0.1, 0.5):
        for action in DONE:
            t.clear()
            with traced_for(t, action) as program:
                client = begin(program, "ctl", action)
                time.sleep(lead)
                program.end()
                seen.append(at_end(action, *outcome(client)))
                expect_untouched(program)
            expect_readable(t, 1)
    # The interleavings themselves have tests of their own.
    expect(len(seen) == 12, f"{seen}")


@test("A request that was answered before the JVM ends is done, one to a JVM that is gone says so")
def before_and_after(t):
    for action in DONE:
        t.clear()
        with traced_for(t, action) as program:
            expect(at_end(action, *outcome(begin(program, "ctl", action))) == "done", f"{action} was not done")
            program.process.stdin.write("end\n")
            program.process.stdin.flush()
            program.expect_line("kept 20001")
            until(
                lambda: state_of_process(program.pid) == "Z", "the program does not end"
            )  # nobody has waited for it yet
            expect(
                at_end(action, *outcome(begin(program, "ctl", action))) == "gone",
                f"{action} of a process that is gone",
            )
            program.process.communicate()
            expect(program.process.returncode == 0, f"the program ended with {program.process.returncode}")
            expect_untouched(program)
        expect_readable(t, 2 if action == "start" else 1)


def asked(program):
    """A client has made the file for its answer, and is about to send its request."""
    return glob.glob(f"/tmp/anttracks-{program.pid}-*")


@test("A request that comes while the agent ends with the JVM is refused, and the trace is whole")
def during_the_end(t):
    for action in DONE:
        t.clear()
        # No thread of the program waits for the writer and keeps the JVM from its end.
        with traced_for(t, "status", work=False) as program:
            with StoppedThread(program.pid, "anttracks"):
                program.process.stdin.write("end\n")
                program.process.stdin.flush()
                program.expect_line("kept 20001")
                time.sleep(0.5)  # the end of the agent begins, and waits for its writer
                client = begin(program, "ctl", action)
                until(lambda: asked(program), "the request was not made")
                time.sleep(0.5)
                expect(program.process.poll() is None, "the agent's end does not wait for its writer")
                expect(
                    client.poll() is None,
                    f"{action} while the agent ends: {client.poll() is not None and outcome(client)}",
                )
            how = at_end(action, *outcome(client))
            expect(how != "done", f"{action} was done")
            expect(
                program.process.wait(timeout=60) == 0, f"the program ended with {program.process.returncode}"
            )
            expect_untouched(program)
            expect(not asked(program), "files of the request are left")
        verified(t.path("first.trace"))


@test("A JVM that is killed while it is asked is told as gone, at once")
def killed_while_asked(t):
    for action in DONE:
        t.clear()
        with traced_for(t, action) as program:
            with StoppedThread(program.pid, "Attach Listener"):
                client = begin(program, "ctl", action)
                until(lambda: asked(program), "the request was not made")
                time.sleep(0.2)
                expect(client.poll() is None, "somebody has answered")
                program.process.kill()
                expect(at_end(action, *outcome(client)) == "gone", f"{action} of a JVM that was killed")
            expect(not asked(program), "files of the request are left")
        expect_readable(t, 1)


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
    with SmallDisk(t, "32m") as folder, Program(t) as program:
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
