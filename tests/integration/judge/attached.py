# SPDX-License-Identifier: Apache-2.0
"""What the tests of attaching share: a program that runs without an agent,
and what is asked of it from outside."""

import json
import os
import re
import select
import subprocess
import time

from .world import AGENT, ANALYZER, HERE, JDK, TIMEOUT, expect, java_command, run, tail

AGENT_THREADS = ("anttracks", "anttracks-walk", "anttracks-zip", "AntTracks")


_DYNAMIC_AGENT = re.compile(
    r"WARNING: A JVM TI agent has been loaded dynamically .*\n"
    r"(WARNING: (If a serviceability tool|Dynamic loading of agents) .*\n)+"
)


def policies(pid):
    """[(name, scheduling policy)] of the threads that the kernel knows."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
                found.append((file.read().strip(), os.sched_getscheduler(int(task))))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def agent_threads(pid):
    """The names of the agent's threads that the kernel knows."""
    return [name for name, _ in policies(pid) if name in AGENT_THREADS]


def marked_line(word):
    with open(os.path.join(HERE, "java", "Attached.java"), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("// @" + word))


class Program:
    """Attached.java; a context manager that ends it at the latest. before: words in front of java's."""

    def __init__(
        self,
        test,
        flags=("-XX:+UseParallelGC", "-Xmx128m"),
        threads=3,
        objects=20_000,
        work=True,
        agent=None,
        jdk=JDK,
        before=(),
        main="Attached",
        **more,
    ):
        self.test = test
        command = [
            *before,
            *java_command(
                main,
                (threads, objects, "work" if work else "idle"),
                (*flags, f"-Djudge.dir={test.folder}"),
                agent,
                jdk,
            ),
        ]
        self._err = test.path("stderr")
        with open(self._err, "wb") as err:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                cwd=test.folder,
                **more,
            )
        self.pid = self.process.pid
        self.output = []

    def __enter__(self):
        self.expect_line("running")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def expect_line(self, wanted):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        line = self.process.stdout.readline().rstrip("\n") if ready else "(nothing)"
        self.output.append(line)
        expect(line == wanted, f"the program says {line!r} instead of {wanted!r}: {tail(self.stderr())}")

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        self.expect_line("done")

    def end(self, code=0):
        """Ends the program; what it printed last is its own."""
        rest, _ = self.process.communicate("end\n", timeout=TIMEOUT)
        self.output += rest.splitlines()
        expect(
            self.process.returncode == code,
            f"the program ended with {self.process.returncode}: {tail(self.stderr())}",
        )
        expect(self.output[-1].startswith("kept "), f"it printed {self.output}")

    def stderr(self):
        """Without what JDK 21 and later say of each agent that is attached."""
        with open(self._err, encoding="utf-8", errors="replace") as file:
            return _DYNAMIC_AGENT.sub("", file.read())

    def attach(self, options="", code=0, words=(), before=(), pid=None):
        return client(
            "attach",
            pid or self.pid,
            *([options] if options else []),
            *words,
            code=code,
            cwd=self.test.folder,
            before=before,
        )

    def ctl(self, action, *options, code=0):
        return client("ctl", self.pid, action, *options, code=code, cwd=self.test.folder)

    def status(self):
        return json.loads(self.ctl("status", "--json").stdout)

    def agent_threads(self):
        return agent_threads(self.pid)

    def open_files(self):
        """The files under the test's folder that the process has open, but for stderr."""
        found = []
        for descriptor in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                path = os.readlink(f"/proc/{self.pid}/fd/{descriptor}")
            except FileNotFoundError:
                continue
            if path.startswith(self.test.folder) and path != self._err:
                found.append(path)
        return found

    def resident(self):
        """Bytes of memory that are no file's."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))


def client(*arguments, code=0, cwd=None, before=()):
    """anttracks; its library is named, as tests may run it from elsewhere."""
    library = () if "--lib" in arguments else ("--lib", AGENT)
    done = run([*before, ANALYZER, *map(str, arguments), *library], cwd=cwd)
    expect(
        done.returncode == code,
        f"anttracks {' '.join(map(str, arguments))} ended with {done.returncode}, not {code}\n"
        f"{tail(done.stdout)}\n{tail(done.stderr)}",
    )
    return done


def until(condition, what, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < limit, f"after {seconds} s: {what}")
        time.sleep(0.01)
