# SPDX-License-Identifier: Apache-2.0
"""How a JVM ends by force, while threads allocate: its end is its own,
and what was written until then is a trace."""

import json
import os
import random
import re
import signal
import subprocess
import time

from judge import hprof
from judge.attached import until
from judge.exact import dump_differences, rebuilt_objects, show
from judge.rotated import Running
from judge.world import (
    AGENT,
    ANALYZER,
    add,
    analyze_json,
    conclusive,
    expect,
    java_command,
    jdk_release,
    run,
    tail,
    test,
)
from suites.exactness import COLLECTORS

CRASHES = ("-XX:-CreateCoredumpOnCrash",)
OUT_OF_MEMORY = ("-XX:-UseGCOverheadLimit",)


def without_numbers(text):
    """What two crashes of the same kind have in common. Other threads may crash while the VM reports; what it
    says of them lands anywhere, and so does the end of that line: within another one, too."""
    first = re.sub(r"\[thread \d+ also had an error\]", "", text).replace("\n", "")
    return re.sub(r"0x[0-9a-f]+|\b\d+s?\b|\+0x\S+", "N", first)


CRASHED, EXITED, ENDED = "crashed", "exited", "ended"
# With -XX:+ExitOnOutOfMemoryError; later JVMs run no exit handlers then.
OUT_OF_MEMORY_END = EXITED if jdk_release() < 21 else CRASHED


def check_front(trace, end):
    """What was written until the end has no error, and something is in it.

    Of a process that exited without the JVM's end the trace says that threads had something left,
    and nothing else.
    """
    done = run([ANALYZER, "verify", trace, "--json"])
    expect(done.returncode == (end == EXITED), f"verify ended with {done.returncode}: {tail(done.stdout, 40)}")
    result = json.loads(done.stdout)
    losses = [problem["text"] for problem in result["first"]]
    expect(
        losses
        == (
            [
                "0 segments with 0 bytes lost: the process exited without the end of the JVM while threads "
                "were running"
            ]
            if end == EXITED
            else []
        ),
        f"verify: {losses}",
    )
    expect(result["gcs"] > 0, f"too little was written: {result}")
    expect(result["ended_cleanly"] == (end != CRASHED), f"a clean end: {result['ended_cleanly']}")
    expect(
        all(gc["exact"] for gc in analyze_json("gcs", trace)["gcs"]),
        "the heap is not known after each collection",
    )


def check_error_file(path, is_expected):
    """The VM's report of a crash is complete."""
    expect(os.path.exists(path) == is_expected, f"{path} {'is missing' if is_expected else 'exists'}")
    if is_expected:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        expect(text.rstrip().endswith("END."), f"the VM's report has no end: {tail(text)}")
        os.remove(path)


def forced(
    name, arguments, code, flags=(), end=CRASHED, report=False, collectors=COLLECTORS, runs=1, plain_runs=1
):
    """report: the VM writes one, as of each crash that it notices. runs: with the agent, all of which must be
    right; plain_runs: without it, of which one must, as the JVM's own end is not always what it should be."""
    for collector in collectors:

        def body(t, collector=collector):
            error_file = t.path("hs_err.txt")
            all_flags = [f"-XX:+Use{collector}GC", "-Xmx48m", f"-XX:ErrorFile={error_file}", *flags]
            for left in reversed(range(plain_runs)):
                plain = run(java_command("Ends", arguments, all_flags), cwd=t.folder)
                if "fatal error" not in plain.stdout or not left:
                    break
                t.clear()
            expect(
                plain.returncode == code,
                f"without the agent it ends with {plain.returncode}: {tail(plain.stdout)}",
            )
            check_error_file(error_file, report)
            for _ in range(runs):
                t.clear()
                traced = run(
                    java_command("Ends", arguments, all_flags, f"file={t.path('trace')}"), cwd=t.folder
                )
                for what in ("stdout", "stderr"):
                    mine, theirs = without_numbers(getattr(traced, what)), without_numbers(getattr(plain, what))
                    expect(mine == theirs, f"{what} differs: {mine!r}, without the agent {theirs!r}")
                expect(
                    traced.returncode == code, f"ended with {traced.returncode}, without the agent with {code}"
                )
                check_error_file(error_file, report)
                check_front(t.path("trace"), end)

        add(f"With {collector} program and trace end as they should {name}", body)


forced("when System.exit comes in the middle of collections", ("exit", "gc"), 7, end=ENDED)
forced("when Runtime.halt comes while threads allocate", ("halt",), 9, end=ENDED)
# Without agent one exit in some hundreds crashes: a collection comes upon objects of the JVM that exit() has
# destroyed.
forced("when native code calls exit", ("native-exit",), 5, end=EXITED, runs=5, plain_runs=3)
forced("when native code ends it without exit handlers", ("native-_exit",), 6, collectors=("G1",))
forced("when native code aborts", ("abort", "gc"), -signal.SIGABRT, CRASHES, collectors=("Parallel",))
forced("when native code makes the JVM crash", ("segv", "gc"), 1, CRASHES, report=True)
forced(
    "with -XX:+ExitOnOutOfMemoryError",
    ("fill",),
    3,
    (*OUT_OF_MEMORY, "-XX:+ExitOnOutOfMemoryError"),
    end=OUT_OF_MEMORY_END,
)
forced(
    "with -XX:+CrashOnOutOfMemoryError",
    ("fill",),
    1,
    (*OUT_OF_MEMORY, *CRASHES, "-XX:+CrashOnOutOfMemoryError"),
    report=True,
)


def crash_once(t, collector, seconds):
    """Somewhere: the moment is the clock's, the thread the system's, mostly that of a collector."""
    t.clear()
    flags = (f"-XX:+Use{collector}GC", "-Xmx48m", f"-XX:ErrorFile={t.path('hs_err.txt')}", *CRASHES)
    command = java_command("Ends", ("forever", "gc"), flags, f"file={t.path('trace')}")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=t.folder
    ) as process:
        try:
            while process.stdout.readline() != "running\n":
                expect(process.poll() is None, "the program did not start")
            time.sleep(seconds)
            process.send_signal(signal.SIGSEGV)
            process.communicate(timeout=60)
        finally:
            process.kill()
    # The JVM of 25 crashes again, without any agent, in one report of four.
    expect(
        process.returncode == 1 or jdk_release() >= 25 and process.returncode == -signal.SIGABRT,
        f"ended with {process.returncode}",
    )
    if process.returncode == 1:
        check_error_file(t.path("hs_err.txt"), True)
    check_front(t.path("trace"), CRASHED)


def crashes(collector):
    def body(t):
        randomly = random.Random(collector)
        for _ in range(4):
            crash_once(t, collector, randomly.random() * 0.3)

    add(f"With {collector} program and trace end as they should when the JVM crashes anywhere", body)


for collector_ in COLLECTORS:
    crashes(collector_)


def filled(objects):
    return sum(name.startswith("Ends$Filled") for name, *_ in objects.values())


def dump_of_no_memory(collector):
    """The JVM makes no collection for this dump: it has what the last one left,
    and the little that was made since then."""

    def body(t):
        path, trace = t.path("oom.hprof"), t.path("trace")
        # Where exit handlers run the program ends there; later the trace would lack its end.
        exits = OUT_OF_MEMORY_END == EXITED
        flags = (
            f"-XX:+Use{collector}GC",
            "-Xmx48m",
            *OUT_OF_MEMORY,
            "-XX:+HeapDumpOnOutOfMemoryError",
            f"-XX:HeapDumpPath={path}",
            *(("-XX:+ExitOnOutOfMemoryError",) if exits else ()),
        )
        plain = run(java_command("Ends", ("alone",), flags))
        os.remove(path)
        traced = run(java_command("Ends", ("alone",), flags, f"file={trace}"))
        expect(
            traced.returncode == plain.returncode == (3 if exits else 1),
            f"ended with {traced.returncode}, without the agent with {plain.returncode}",
        )
        for what in ("stdout", "stderr"):
            mine, theirs = (re.sub(r"\[.*\]", "[]", getattr(done, what)) for done in (traced, plain))
            expect(mine == theirs, f"{what} differs: {mine!r}, without the agent {theirs!r}")
        dump, gcs = hprof.read(path), analyze_json("gcs", trace)["gcs"]
        if exits:
            check_front(trace, EXITED)
            expect(gcs[-1]["kind"] == "full", f"the last collection was {gcs[-1]}")
            left = rebuilt_objects(trace, gcs[-1]["id"])
        else:  # what is kept is in the way until the end, with more collections: the dump is of one before
            full = [rebuilt_objects(trace, gc["id"]) for gc in gcs if gc["kind"] == "full"]
            left = min(full, key=lambda left: sum(address not in left for address in dump.objects))
        new = {address for address in dump.objects if address not in left}
        expect(
            filled(left) > 50_000 and len(new) < 500,
            f"{filled(left)} objects were kept, and {len(new)} made after the last collection",
        )
        for address in new:
            del dump.objects[address]
        lines = dump_differences(left, dump)
        expect(not lines, f"{len(lines)} differences:\n" + show(lines))

    add(f"With {collector} the dump of -XX:+HeapDumpOnOutOfMemoryError is the rebuilt heap", body)


for collector_ in COLLECTORS:
    dump_of_no_memory(collector_)


@test("When native code calls exit while a rotation is awaited, the trace ends as it does without the request")
def exit_during_request(t):
    # Whoever answers requests has to be there before: no memory is left while collections are held off.
    flags = ("-XX:+UseParallelGC", "-Xmx48m", "-XX:+StartAttachListener")
    with Running(t, t.path("trace"), "Ends", ("held-exit",), flags, "maxsize=64M") as running:
        until(lambda: "held" in running.stdout(), "the critical section does not begin")
        command = [ANALYZER, "ctl", str(running.pid), "rotate", "--lib", AGENT]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            time.sleep(3)  # it waits for a collection now, for 10 s by the agent's limit
            conclusive(client.poll() is None, "the request does not wait: the test tests nothing")
            with open(t.path("asked"), "wb"):
                pass
            code = running.finish()
            client.communicate(timeout=60)
        expect(code == 5 and "no end" not in running.stderr(), f"ended with {code}: {tail(running.stderr())}")
    check_front(t.path("trace"), EXITED)
