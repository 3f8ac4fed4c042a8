# SPDX-License-Identifier: Apache-2.0
"""Everything at once (Chaos.java), with JFR, another JVM TI agent and a Java agent beside ours, on each
collector, with and without rotation: the output is that of an untraced run, the trace has no error, the heap is
the JVM's."""

import threading

from judge.exact import judge, judge_rotated
from judge.rotated import SizeWatch, check_known_stays_known, check_quality, data_files
from judge.world import JAVA_AGENT, add, expect, java_command, run, run_traced, tail
from suites.exactness import COLLECTORS
from suites.host import FLIGHT_RECORDER, OTHER_AGENT, check_neighbour, check_recording
from suites.rotation import MB, Bound

SEED, STEPS = 17, 3000
BESIDE = (f"-javaagent:{JAVA_AGENT}", *FLIGHT_RECORDER, *OTHER_AGENT)
BOUND = Bound(4 * MB, 0.25)  # definitions take a third of it

_plain_lock = threading.Lock()
_plain = []


def plain_output(t):
    """Of a run without our agent; the seed decides it, so that one is enough for all tests."""
    with _plain_lock:
        if not _plain:
            done = run(
                java_command("Chaos", (SEED, STEPS), ("-XX:+UseParallelGC", "-Xmx128m", *BESIDE)), cwd=t.folder
            )
            expect(
                (done.returncode, done.stderr) == (0, ""),
                f"without the agent: {done.returncode}, {tail(done.stderr)}",
            )
            expect(done.stdout.count("\n") == 17, f"without the agent: {done.stdout}")
            _plain.append(done.stdout)
        return _plain[0]


def chaos(collector, rotates):
    def body(t):
        expected = plain_output(t)
        flags = (f"-XX:+Use{collector}GC", "-Xmx128m", *BESIDE)
        with SizeWatch(t.path("trace"), BOUND.limit if rotates else 1 << 40):
            trace, done = run_traced(t, "Chaos", (SEED, STEPS), flags, BOUND.options if rotates else "")
        expect(done.stdout == expected, f"stdout differs: {done.stdout}, without the agent {expected}")
        expect(done.stderr == "", f"stderr: {tail(done.stderr, 30)}")
        check_recording(t)
        check_neighbour(t)
        if not rotates:
            expect(judge(t.folder, trace, held=True) >= 4, "too little was judged")
            return
        expect(min(data_files(trace)) > 0, f"data files {list(data_files(trace))}: nothing was deleted")
        expect(check_known_stays_known(trace) > 0, "the heap is known after no collection")
        check_quality(trace)
        expect(judge_rotated(t.folder, trace, held=True) >= 2, "too little was judged")

    how = f"in a rotated trace of {BOUND.size // MB} MB" if rotates else "in one file"
    add(
        f"Chaos with {collector}, JFR and two other agents changes no output and makes no error, "
        f"and the heap is exact {how}",
        body,
    )


for collector_ in COLLECTORS:
    for rotates_ in (False, True):
        chaos(collector_, rotates_)
