# SPDX-License-Identifier: Apache-2.0
"""stats=PATH: the agent's counters in a file, at the end and on request."""

import json
import os
import signal
import time

from judge.host import SmallDisk
from judge.rotated import Running
from judge.world import JDK, analyze_json, expect, java_command, run, run_traced, tail, test

PARALLEL = ("-XX:+UseParallelGC", "-Xmx32m")
# Of the chunks that END itself is in, and of what follows it.
BEHIND_END = ("raw_bytes", "stored_bytes", "chunks", "compressed_chunks", "compress_ns", "write_ns")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_same_counters(stats, trace):
    end = analyze_json("info", trace)["counters"]
    found = stats["counters"]
    expect(set(found) == set(end), f"counters {set(found) ^ set(end)} are in one place only")
    for name, value in end.items():
        if name in BEHIND_END:
            expect(found[name] >= value, f"{name} is {found[name]}, in END {value}")
        else:
            expect(found[name] == value, f"{name} is {found[name]}, in END {value}")


@test("stats= has the counters of END at exit")
def at_exit(t):
    for options in ("", ",maxsize=12M,keep=yes"):
        t.clear()
        trace, done = run_traced(
            t, "Windows", (6, 1_000_000, 20_000), PARALLEL, f",stats={t.path('stats')}{options}", judged=False
        )
        stats = read(t.path("stats"))
        expect((stats["trace"], stats["state"]) == (trace, "ended"), f"stats: {stats}")
        expect(stats["duration_ns"] > 0 and stats["counters"]["objects"] > 3_000_000, f"stats: {stats}")
        check_same_counters(stats, trace)
        expect(
            done.stderr == "" and not any(".tmp" in name for name in os.listdir(t.folder)),
            f"stderr: {tail(done.stderr)}",
        )


def ask_by_jcmd(running):
    done = run([JDK + "/bin/jcmd", str(running.pid), "JVMTI.data_dump"])
    expect(done.returncode == 0, f"jcmd: {tail(done.stdout + done.stderr)}")


def ask_by_signal(running):
    os.kill(running.pid, signal.SIGQUIT)


def until_newer(path, objects, pause=0.01):
    """The counters, once they count more objects than these."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        text = open(path, encoding="utf-8").read()
        if text and json.loads(text)["counters"]["objects"] > objects:
            return json.loads(text)
        time.sleep(pause)
    raise AssertionError(f"no counters with more than {objects} objects in {path}: {text!r}")


def on_request(name, ask):
    @test(f"stats= is written while the program runs, on {name}")
    def body(t):
        options = f"stats={t.path('stats')}"
        with Running(t, t.path("trace"), "FastAllocation", (1_000_000_000,), PARALLEL, options) as running:
            limit = time.monotonic() + 60
            while not (os.path.exists(t.path("trace")) and os.path.getsize(t.path("trace")) > 1 << 20):
                expect(
                    time.monotonic() < limit and running.process.poll() is None,
                    f"no trace: {tail(running.stderr())}",
                )
                time.sleep(0.01)
            expect(os.path.getsize(t.path("stats")) == 0, "counters were written before they were asked for")
            last = 0
            for _ in range(3):
                ask(running)
                stats = until_newer(t.path("stats"), last)
                last = stats["counters"]["objects"]
                expect((stats["trace"], stats["state"]) == (t.path("trace"), "running"), f"stats: {stats}")
                expect(running.process.poll() is None, "the program ended")
            running.process.terminate()
            running.finish()
            stats = read(t.path("stats"))
            expect(stats["state"] == "ended" and stats["counters"]["objects"] >= last, f"stats: {stats}")
            check_same_counters(stats, t.path("trace"))


on_request("jcmd JVMTI.data_dump", ask_by_jcmd)
on_request("SIGQUIT", ask_by_signal)


@test("An existing file of stats= is refused unless overwrite=yes, and no trace is left by the refusal")
def existing(t):
    path = t.path("stats")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious")
    options = f"file={t.path('trace')},stats={path}"
    done = run(java_command("Life", ("return",), PARALLEL, options), cwd=t.folder)
    expect(done.returncode == 1 and "begin" not in done.stdout, f"the program ran: {done.returncode}")
    for word in (path, "exists", "overwrite=yes"):
        expect(word in done.stderr, f"{word!r} is not in {done.stderr!r}")
    with open(path, encoding="utf-8") as file:
        expect(file.read() == "precious", "the file was changed")
    expect(os.listdir(t.folder) == ["stats"], f"files: {os.listdir(t.folder)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{\n  "trace": "another"\n}\n')
    done = run(java_command("Life", ("return",), PARALLEL, options + ",overwrite=yes"), cwd=t.folder)
    expect(
        done.returncode == 0 and read(path)["state"] == "ended",
        f"overwrite=yes: {done.returncode} {tail(done.stderr)}",
    )


@test("A full disk for stats= only warns: program and trace are whole")
def full_disk(t):
    with SmallDisk(t, "4k") as folder:
        with open(os.path.join(folder, "filler"), "wb") as file:
            file.write(bytes(4096))
        trace, done = run_traced(t, "Life", ("return",), PARALLEL, f",stats={folder}/stats", judged=False)
        lines = [line for line in done.stderr.splitlines() if "anttracks" in line]
        expect(
            len(lines) == 1 and f"{folder}/stats" in lines[0] and "space" in lines[0].lower(),
            f"stderr: {done.stderr!r}",
        )
        expect(analyze_json("info", trace)["counters"]["objects"] > 0, "the trace has no counters")
        expect(not any(".tmp" in name for name in os.listdir(folder)), "half of the counters are left")


@test("A JVM that does not come up leaves no file of stats=")
def no_start(t):
    # The agent is loaded, then the VM finds that it cannot go on.
    command = java_command(
        "Life", ("return",), PARALLEL, f"file={t.path('trace')},stats={t.path('stats')},log=debug"
    )
    command.insert(command.index("-cp"), "-agentlib:jdwp=no-such-option")
    done = run(command, cwd=t.folder)
    expect(done.returncode != 0 and "begin" not in done.stdout, f"the program ran: {done.returncode}")
    expect(not os.listdir(t.folder), f"files: {os.listdir(t.folder)}")
