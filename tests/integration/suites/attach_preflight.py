# SPDX-License-Identifier: Apache-2.0
"""Why a process cannot be attached to: each reason by its own message and exit code,
and the process is not touched."""

import os
import signal
import subprocess
import time

from judge.attached import Program, client
from judge.exact import judge
from judge.world import AGENT, ANALYZER, JDK, Skip, expect, run, stock_java, tail, test, verified

SOMEBODY, OTHER = 1234, 4321  # users that no program of the system runs as


def only_root():
    if os.geteuid() != 0:
        raise Skip("only root can run programs as other users and in namespaces")


def as_user(uid):
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")


def public(*paths):
    """Whether other users can get at these files."""
    for path in paths:
        if run([*as_user(SOMEBODY), "test", "-r", os.path.realpath(path)]).returncode != 0:
            return False
    return True


class Copies:
    """JDK, agent and analyzer where every user can read them; a context manager."""

    def __init__(self):
        only_root()
        self.folder = f"/tmp/anttracks-test-{os.getpid()}-{time.monotonic_ns()}"
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.agent, self.anttracks, self.classes = (
            os.path.join(self.folder, name) for name in ("libanttracks.so", "anttracks", "classes")
        )
        run(["cp", "-L", AGENT, self.agent])
        run(["cp", "-L", ANALYZER, self.anttracks])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run(["rm", "-rf", self.folder])


def unchanged(program):
    """It prints nothing that is not its own, and works on."""
    program.tell("gc")
    program.end()
    expect(
        program.output == ["running", "done", program.output[-1]] and program.output[-1].startswith("kept"),
        f"its output changed: {program.output}",
    )
    expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")


@test("A process that is not there, no JVM, or without an agent: each is said with its own exit code")
def no_jvm(t):
    with subprocess.Popen(["sleep", "1000"]) as sleeping:
        try:
            expect(
                "no HotSpot JVM" in client("attach", sleeping.pid, code=6).stderr,
                "sleep was not told from a JVM",
            )
            expect(
                "no HotSpot JVM" in client("ctl", sleeping.pid, "status", code=6).stderr,
                "sleep was not told from a JVM",
            )
        finally:
            sleeping.kill()
    expect(
        "no process" in client("attach", 2**22 + 1, code=5).stderr, "a process was found that is not there"
    )
    with Program(t) as program:
        expect("has no agent" in program.ctl("status", code=13).stderr, "an agent was found that is not there")
        expect(
            "--lib" in run([ANALYZER, "attach", str(program.pid), "--lib", t.path("nothing.so")]).stderr,
            "no word of --lib",
        )
        for wrong in (
            ("attach",),
            ("attach", "x"),
            ("ctl", str(program.pid), "nonsense"),
            ("ctl", str(program.pid), "stop", "file=x"),
        ):
            expect(run([ANALYZER, *wrong]).returncode == 2, f"{wrong} is no usage error")
        unchanged(program)


def forbidden(name, flags, more=None):
    @test(f"A JVM {name} is refused without a word in its output")
    def body(t):
        environment = {**os.environ, **(more or {})}
        with Program(t, ("-XX:+UseSerialGC", "-Xmx64m", *flags), env=environment) as program:
            refused = program.attach(code=9)
            expect(
                "DisableAttachMechanism" in refused.stderr
                or "-Xrs" in refused.stderr
                or "UsePerfData" in refused.stderr,
                f"{refused.stderr!r}",
            )
            program.tell("gc")
            program.end()
            expect(
                program.output[:2] == ["running", "done"] and len(program.output) == 3,
                f"its output changed: {program.output}",
            )
            expect(
                "anttracks" not in program.stderr() and "thread dump" not in program.stderr().lower(),
                program.stderr(),
            )

    return body


forbidden("that forbids attaching", ("-XX:+DisableAttachMechanism",))
forbidden(
    "that forbids attaching and keeps no performance data", ("-XX:+DisableAttachMechanism", "-XX:-UsePerfData")
)
forbidden(
    "that forbids attaching by JAVA_TOOL_OPTIONS and keeps no performance data",
    ("-XX:-UsePerfData",),
    {"JAVA_TOOL_OPTIONS": "-XX:+DisableAttachMechanism"},
)


@test("A JVM that keeps no performance data, or starts listening with -Xrs, is attached to all the same")
def without_perf_data(t):
    for number, flags in enumerate((("-XX:-UsePerfData",), ("-Xrs",))):
        t.clear()
        with Program(t, ("-XX:+UseSerialGC", "-Xmx64m", *flags)) as program:
            program.attach(f"file={t.path(f'trace{number}')}")
            program.tell("both")
            program.end()
        expect(judge(t.folder, t.path(f"trace{number}")) == 2, "nothing was judged")


@test("A JVM that was stopped by a signal is named as that, and attached to when it goes on")
def stopped_by_signal(t):
    with Program(t) as program:
        program.process.send_signal(signal.SIGSTOP)
        while open(f"/proc/{program.pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        expect("kill -CONT" in program.attach(code=11).stderr, "no word of kill -CONT")
        program.process.send_signal(signal.SIGCONT)
        program.attach(f"file={t.path('trace')}")
        program.end()
    verified(t.path("trace"))


@test("mode=full on a stock JVM is refused before the agent is loaded")
def stock_full(t):
    with Program(t, jdk=stock_java()) as program:
        refused = program.attach(f"file={t.path('trace')},mode=full", code=10)
        expect("not patched" in refused.stderr and "libjvm.so" in refused.stderr, f"{refused.stderr!r}")
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as file:
            expect("libanttracks" not in file.read(), "the agent was loaded")
        expect(not os.path.exists(t.path("trace")), "a trace was made")
        unchanged(program)


@test("The JVM of another user is refused, root and its own user attach")
def other_user(t):
    with Copies() as copies:
        if not public(JDK + "/bin/java"):
            java = stock_java(17)
        else:
            java = JDK
        if not public(java + "/bin/java"):
            raise Skip("no JDK that other users can read")
        run(["cp", "-r", os.path.join(os.path.dirname(t.folder), "classes"), copies.classes])
        command = [
            *as_user(SOMEBODY),
            java + "/bin/java",
            "-Xmx64m",
            "-cp",
            copies.classes,
            "Attached",
            "1",
            "100",
            "idle",
        ]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=copies.folder
        ) as process:
            try:
                expect(process.stdout.readline() == "running\n", "the program did not start")
                for command in (("attach",), ("ctl",)):
                    words = [
                        copies.anttracks,
                        command[0],
                        str(process.pid),
                        *(["status"] if command[0] == "ctl" else []),
                    ]
                    refused = run([*as_user(OTHER), *words], cwd=copies.folder)
                    expect(
                        refused.returncode == 7 and f"user {SOMEBODY}" in refused.stderr,
                        f"{refused.returncode} {refused.stderr!r}",
                    )
                own = run(
                    [*as_user(SOMEBODY), copies.anttracks, "attach", str(process.pid), "file=own,mode=sample"],
                    cwd=copies.folder,
                )
                expect(
                    own.returncode == 0 and copies.folder + "/own" in own.stdout,
                    f"{own.returncode} {own.stdout!r} {own.stderr!r}",
                )
                for action in ("stop", "start", "status"):
                    done = run([copies.anttracks, "ctl", str(process.pid), action], cwd=copies.folder)
                    expect(done.returncode == 0, f"root's {action}: {done.returncode} {done.stderr!r}")
                expect(process.communicate("end\n", timeout=60)[0].startswith("kept"), "its output changed")
            finally:
                process.kill()
        # Others attach here, too: the names have the process' number in them.
        own = (f"anttracks-{process.pid}-", f".attach_pid{process.pid}")
        left = [name for name in os.listdir("/tmp") if name.startswith(own[0]) or name == own[1]]
        expect(not left, f"left in /tmp: {left}")
        verified(os.path.join(copies.folder, "own"))
        verified(os.path.join(copies.folder, "own-2"))


@test(
    "A JVM in other namespaces is attached to by root; a library that it cannot see is named, "
    "and where to put it"
)
def other_namespace(t):
    only_root()
    hidden = t.path("hidden")
    os.makedirs(hidden)
    run(["cp", "-L", AGENT, os.path.join(hidden, "libanttracks.so")])
    before = (
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        f'mount -t tmpfs tmpfs "{hidden}" && exec "$@"',
        "sh",
    )
    if run(["unshare", "--mount", "--pid", "--fork", "true"]).returncode != 0:
        raise Skip("the system lets nobody make namespaces")
    with Program(t, before=before) as program:
        with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="utf-8") as file:
            inner = int(file.read().split()[0])
        refused = run(
            [ANALYZER, "attach", str(inner), "--lib", os.path.join(hidden, "libanttracks.so")], cwd=t.folder
        )
        expect(
            refused.returncode == 8
            and "another mount namespace" in refused.stderr
            and "--lib" in refused.stderr,
            f"{refused.returncode} {refused.stderr!r}",
        )
        program.attach(f"file={t.path('trace')}", pid=inner)
        program.tell("both")
        program.end()
    expect(judge(t.folder, t.path("trace")) == 2, "nothing was judged")
