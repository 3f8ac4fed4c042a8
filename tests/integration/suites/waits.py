# SPDX-License-Identifier: Apache-2.0
"""A disk that hangs or is slow makes the program wait for a bounded time only: at exit, in a pause,
when it is attached to."""

import fcntl
import json
import os
import re
import threading
import time

from judge.attached import Program, until
from judge.rotated import Running, plain_output
from judge.world import ANALYZER, HANG, JDK, expect, java_command, run, tail, test, verified
from suites.rotation import LOSS_KINDS

PARALLEL = ("-XX:+UseParallelGC", "-Xmx32m", "-Xmn8m")
SAFEPOINT = re.compile(r"Reaching safepoint: +(\d+) ns.*Total: +(\d+) ns")


class Fifo:
    """A FIFO with a reader that takes so many bytes a second, or none, and keeps them;
    all of them once it may hurry.

    A context manager."""

    def __init__(self, path, rate):
        self.path, self.rate, self.bytes = path, rate, bytearray()
        self._hurries, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self):
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self._fd, 1031, 4096)  # F_SETPIPE_SZ
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        os.close(self._fd)

    def hurry(self):
        self._hurries.set()

    def _read(self):
        while not self._ended.wait(0 if self._hurries.is_set() else 0.05):
            self._take(1 << 16 if self._hurries.is_set() else self.rate // 20)
        while self._take(1 << 16):
            pass

    def _take(self, most):
        """False: nothing was there."""
        try:
            taken = os.read(self._fd, most) if most else b""
        except BlockingIOError:
            taken = b""
        self.bytes += taken
        if not taken:
            time.sleep(0.01)
        return len(taken)

    def trace(self, path):
        """What was read, as a file."""
        with open(path, "wb") as file:
            file.write(self.bytes)
        return path


def pauses(log):
    """(time to reach the safepoint, all of it) in seconds, of all safepoints."""
    with open(log, encoding="utf-8") as file:
        return [(int(m[1]) / 1e9, int(m[2]) / 1e9) for m in SAFEPOINT.finditer(file.read())]


def kinds_of_errors(trace):
    return json.loads(run([ANALYZER, "verify", trace, "--json"]).stdout)["by_kind"]


@test(
    "An exit ends, with the program's own code and output, when the disk of trace and counters hangs", slow=True
)
def hung_exit(t):
    folder = t.path("disk")
    os.mkdir(folder)
    command = java_command("Life", ("return",), PARALLEL, f"file={folder}/trace,stats={folder}/stats")
    hang = ("env", f"LD_PRELOAD={HANG}", f"HANG_FOLDER={folder}", "HANG_AFTER=2")
    began = time.monotonic()
    done = run([*hang, *command], timeout=200, cwd=t.folder)  # 35 s by the agent's own limits
    expect(time.monotonic() - began > 25, "the disk did not hang")
    expect(
        (done.returncode, done.stdout) == plain_output("Life", ("return",), PARALLEL),
        f"{done.returncode}, {done.stdout!r}",
    )
    for word in ("the end of the trace could not be written", "cannot write the counters", "no answer"):
        expect(word in done.stderr, f"{word!r} is not in {tail(done.stderr)}")


@test("A request for the counters returns when their disk hangs, and SIGTERM still ends the program", slow=True)
def hung_request(t):
    folder = t.path("disk")
    os.mkdir(folder)
    hang = ("env", f"LD_PRELOAD={HANG}", f"HANG_FOLDER={folder}", "HANG_AFTER=1")
    with Running(
        t, t.path("trace"), "Life", ("forever",), PARALLEL, f"stats={folder}/stats", before=hang
    ) as running:
        until(lambda: "running" in running.stdout(), "the program does not run")
        asked = run(
            [JDK + "/bin/jcmd", str(running.pid), "JVMTI.data_dump"], timeout=100
        )  # 5 s by the agent's limit
        expect(asked.returncode == 0, f"jcmd: {tail(asked.stdout + asked.stderr)}")
        until(lambda: "cannot write the counters" in running.stderr(), "it does not say that the counters hang")
        running.process.terminate()
        expect(running.finish() == 143, f"ended with {running.process.returncode}")
        expect("since the last time" in running.stderr(), f"stderr: {tail(running.stderr())}")
    verified(t.path("trace"))


@test("A collection's pause is bounded when the disk is slow but steady, and what is lost is told", slow=True)
def slow_disk(t):
    program = ("Slowed", (300_000,), (*PARALLEL, f"-Xlog:safepoint:file={t.path('safepoints')}"))
    with Fifo(t.path("fifo"), 20_000) as fifo:
        options = "overwrite=yes,queue=64K,buffer=1K,compress=off"
        with Running(t, t.path("fifo"), *program, options) as running:
            until(
                lambda: running.stdout() or running.process.poll() is not None, "the program does not end", 250
            )
            fifo.hurry()
            code = running.finish()
            expect(
                (code, running.stdout()) == (0, "made 900000\n"),
                f"{code}, {running.stdout()!r}: {tail(running.stderr())}",
            )
            expect("is incomplete" in running.stderr(), f"stderr: {tail(running.stderr())}")
    trace = fifo.trace(t.path("trace"))
    found = pauses(t.path("safepoints"))
    expect(len(found) > 3, f"only {len(found)} safepoints")
    # A second to reach it, a second in it; without a bound some take more than ten.
    expect(max(total for _, total in found) < 6, f"pauses of {sorted(total for _, total in found)[-5:]} s")
    kinds = kinds_of_errors(trace)
    expect("events lost by the agent" in kinds and set(kinds) <= set(LOSS_KINDS), f"verify says {kinds}")


@test("An attach with on-overflow=drop to a disk that hangs does not hold up the program", slow=True)
def attach_to_hung_disk(t):
    flags = ("-XX:+UseParallelGC", "-Xmx400m", f"-Xlog:safepoint:file={t.path('safepoints')}")
    with Fifo(t.path("fifo"), 0) as fifo, Program(t, flags, objects=1_500_000) as program:
        program.tell("gc")
        said = program.attach(
            "file=fifo,overwrite=yes,on-overflow=drop,queue=64K,buffer=1K,compress=off", code=12
        ).stderr
        expect("first sync point" in said and "queue=" in said, f"attach says {said!r}")
        counters = program.status()["trace"]["counters"]
        expect(counters["waits"] == 0 and counters["blocked_ns"] == 0, f"the program waited: {counters}")
        program.tell("gc")
        fifo.hurry()
        program.end()
    expect(
        max(total for _, total in pauses(t.path("safepoints"))) < 9,
        f"pauses: {sorted(pauses(t.path('safepoints')))[-3:]}",
    )
