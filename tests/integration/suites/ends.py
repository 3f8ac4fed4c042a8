# SPDX-License-Identifier: Apache-2.0
"""How a JVM ends by force, while threads allocate: its end is its own, and what was written until then is a trace."""

import os
import random
import re
import signal
import subprocess
import time

from judge import hprof
from judge.exact import dump_differences, rebuilt_objects, show
from judge.world import add, analyze, analyze_json, expect, java_command, run, tail, verified
from suites.exactness import COLLECTORS

CRASHES = ("-XX:-CreateCoredumpOnCrash",)
OUT_OF_MEMORY = ("-XX:-UseGCOverheadLimit",)


def without_numbers(text):
    """What two crashes of the same kind have in common."""
    return re.sub(r"0x[0-9a-f]+|\b\d+\b|\+0x\S+", "N", text)


def check_front(trace):
    """What was written until the end has no error, and something is in it."""
    result = verified(trace, clean_end=False)
    expect(result["gcs"] > 0 and result["chunks"] > 3, f"too little was written: {result}")
    analyze("heap", trace, "--end", "--top", "3")
    return result


def check_error_file(path, is_expected):
    """The VM's report of a crash is complete."""
    expect(os.path.exists(path) == is_expected, f"{path} {'is missing' if is_expected else 'exists'}")
    if is_expected:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        expect(text.rstrip().endswith("END."), f"the VM's report has no end: {tail(text)}")
        os.remove(path)


def forced(name, arguments, code, flags=(), clean=False, crashes=False, collectors=COLLECTORS):
    """clean: the trace has a clean end. crashes: the VM writes a report."""
    for collector in collectors:
        def body(t, collector=collector):
            report = t.path("hs_err.txt")
            all_flags = [f"-XX:+Use{collector}GC", "-Xmx48m", f"-XX:ErrorFile={report}", *flags]
            plain = run(java_command("Ends", arguments, all_flags), cwd=t.folder)
            expect(plain.returncode == code, f"without the agent it ends with {plain.returncode}: {tail(plain.stdout)}")
            check_error_file(report, crashes)
            traced = run(java_command("Ends", arguments, all_flags, f"file={t.path('trace')}"), cwd=t.folder)
            for what in ("stdout", "stderr"):
                mine, theirs = without_numbers(getattr(traced, what)), without_numbers(getattr(plain, what))
                expect(mine == theirs, f"{what} differs: {mine!r}, without the agent {theirs!r}")
            expect(traced.returncode == code, f"ended with {traced.returncode}, without the agent with {code}")
            check_error_file(report, crashes)
            result = check_front(t.path("trace"))
            expect(result["ended_cleanly"] == clean, f"a clean end: {result['ended_cleanly']}")
        add(f"With {collector} the trace is whole up to its end, and the end the program's own, {name}", body)


forced("when System.exit comes in the middle of collections", ("exit", "gc"), 7, clean=True)
forced("when Runtime.halt comes while threads allocate", ("halt",), 9, clean=True)
forced("when native code calls exit", ("native-exit",), 5)
forced("when native code calls _exit", ("native-_exit",), 6, collectors=("G1",))
forced("when native code aborts", ("abort", "gc"), -signal.SIGABRT, CRASHES, collectors=("Parallel",))
forced("when native code makes the JVM crash", ("segv", "gc"), 1, CRASHES, crashes=True)
forced("with -XX:+ExitOnOutOfMemoryError", ("fill",), 3, (*OUT_OF_MEMORY, "-XX:+ExitOnOutOfMemoryError"))
forced("with -XX:+CrashOnOutOfMemoryError", ("fill",), 1, (*OUT_OF_MEMORY, *CRASHES, "-XX:+CrashOnOutOfMemoryError"), crashes=True)


def crash_once(t, collector, seconds):
    """Somewhere: the moment is the clock's, the thread the system's, mostly that of a collector."""
    t.clear()
    flags = (f"-XX:+Use{collector}GC", "-Xmx48m", f"-XX:ErrorFile={t.path('hs_err.txt')}", *CRASHES)
    command = java_command("Ends", ("forever", "gc"), flags, f"file={t.path('trace')}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=t.folder) as process:
        try:
            while process.stdout.readline() != "running\n":
                expect(process.poll() is None, "the program did not start")
            time.sleep(seconds)
            process.send_signal(signal.SIGSEGV)
            process.communicate(timeout=60)
        finally:
            process.kill()
    expect(process.returncode == 1, f"ended with {process.returncode}")
    check_error_file(t.path("hs_err.txt"), True)
    expect(not check_front(t.path("trace"))["ended_cleanly"], "a crashed program cannot end its trace")


def crashes(collector):
    def body(t):
        randomly = random.Random(collector)
        for _ in range(4):
            crash_once(t, collector, randomly.random() * 0.3)
    add(f"With {collector} the trace is whole up to its end when the JVM crashes anywhere, in collections, too", body)


for collector_ in COLLECTORS:
    crashes(collector_)


def filled(objects):
    return sum(name.startswith("Ends$Filled") for name, *_ in objects.values())


def dump_of_no_memory(collector):
    """The JVM makes no collection for this dump: it has what the last one left and what was allocated since then."""
    def body(t):
        path, trace = t.path("oom.hprof"), t.path("trace")
        flags = (f"-XX:+Use{collector}GC", "-Xmx48m", *OUT_OF_MEMORY, "-XX:+HeapDumpOnOutOfMemoryError", f"-XX:HeapDumpPath={path}")
        plain = run(java_command("Ends", ("alone",), flags))
        os.remove(path)
        traced = run(java_command("Ends", ("alone",), flags, f"file={trace}"))
        expect(traced.returncode == plain.returncode == 4, f"ended with {traced.returncode}, without the agent with {plain.returncode}")
        for what in ("stdout", "stderr"):
            mine, theirs = (re.sub(r"\[.*\]", "[]", getattr(done, what)) for done in (traced, plain))
            expect(mine == theirs, f"{what} differs: {mine!r}, without the agent {theirs!r}")
        verified(trace)
        last = analyze_json("gcs", trace)["gcs"][-1]
        expect(last["kind"] == "full", f"the last collection was {last}")
        dump, left, end = hprof.read(path), rebuilt_objects(trace, last["id"]), rebuilt_objects(trace)
        expect(filled(dump.objects) == filled(end) > 50_000, f"{filled(dump.objects)} objects in the dump, {filled(end)} rebuilt")
        later = {address for address in end if address not in left and address not in dump.objects}
        lines = dump_differences({a: o for a, o in end.items() if a not in later}, dump)
        fillers = [line for line in lines if re.search(r" (int\[\]|java\.lang\.Object): only in the JVM's dump$", line)]
        expect(len(later) < 500, f"{len(later)} objects are said to be allocated after the dump")
        tlabs = analyze_json("info", trace)["counters"]["tlabs"]
        expect(len(lines) == len(fillers) <= tlabs, f"differences, {len(fillers)} of them ends of TLABs:\n" + show(lines))
    add(f"With {collector} the dump of -XX:+HeapDumpOnOutOfMemoryError is the rebuilt heap", body)


for collector_ in COLLECTORS:
    dump_of_no_memory(collector_)
