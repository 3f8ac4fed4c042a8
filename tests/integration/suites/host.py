# SPDX-License-Identifier: Apache-2.0
"""What runs beside the agent, and around it: the program's output is unchanged,
the heap and the sites are exact."""

import hashlib
import os
import re
import time

from judge.attached import AGENT_THREADS, Program, policies, until
from judge.exact import judge
from judge.host import MemoryLimit
from judge.world import (
    JAVA_AGENT,
    JDK,
    NEIGHBOUR,
    add,
    analyze_json,
    conclusive,
    expect,
    java_command,
    run,
    run_traced,
    tail,
    test,
    verified,
)
from suites.exactness import COLLECTORS

RECORDING = "recording.jfr"
COUNTS = "neighbour.txt"
# stdout of JFR and the VM's warnings would come with times.
FLIGHT_RECORDER = ("-Xlog:jfr*=error", f"-XX:StartFlightRecording=filename={RECORDING},settings=profile")
OTHER_AGENT = (f"-agentpath:{NEIGHBOUR}={COUNTS}",)
TRANSFORMER = (f"-javaagent:{JAVA_AGENT}=transform",)


def check_recording(t):
    """It is readable, and it recorded what this kind of program does."""
    done = run([JDK + "/bin/jfr", "summary", t.path(RECORDING)])
    expect(done.returncode == 0, f"the recording cannot be read: {tail(done.stderr)}")
    events = {m[1]: int(m[2]) for m in re.finditer(r"^ jdk\.(\w+) +(\d+) +\d+$", done.stdout, re.M)}
    for name in ("GarbageCollection", "ObjectAllocationSample"):
        expect(events.get(name, 0) > 0, f"no {name} was recorded: {events}")


def check_neighbour(t):
    """The other agent did all that it is for; returns its counts."""
    with open(t.path(COUNTS), encoding="utf-8") as file:
        counts = dict(line.split() for line in file)
    wrong = counts.pop("wrong", "no line")
    expect(wrong == "0", f"tags and hash codes of the other agent's objects: {wrong} are wrong")
    expect(
        len(counts) == 10 and all(int(count) > 0 for count in counts.values()), f"the other agent did {counts}"
    )
    return counts


def beside(name, main, flags, check=None, heap="-Xmx64m"):
    """The program with something beside it is the same with and without our agent, whose trace is exact."""
    for collector in COLLECTORS:

        def body(t, collector=collector):
            all_flags = (f"-XX:+Use{collector}GC", heap, *flags)
            plain = run(java_command(main, (), all_flags), cwd=t.folder)
            expect(
                plain.returncode == 0,
                f"without the agent it ends with {plain.returncode}: {tail(plain.stderr)}",
            )
            trace, done = run_traced(t, main, (), all_flags)
            for what in ("stdout", "stderr"):
                mine, theirs = getattr(done, what), getattr(plain, what)
                expect(mine == theirs, f"{what} differs: {tail(mine)!r}, without the agent {tail(theirs)!r}")
            if check:
                check(t)
            held = check == check_neighbour
            expect(judge(t.folder, trace, held=held) > 0, "nothing was judged")

        add(f"With {collector} the heap is exact when the JVM has {name}", body)


beside("JFR on", "Mix", FLIGHT_RECORDER, check_recording)
beside("another JVM TI agent, which walks the heap", "Locks", OTHER_AGENT, check_neighbour)
beside("a Java agent, which transforms classes", "Lambdas", TRANSFORMER)


def true_sites(name, flags, collector="Parallel", versions=6, objects=20_000):
    def body(t):
        flags_ = (f"-XX:+Use{collector}GC", "-Xmx64m", f"-javaagent:{JAVA_AGENT}", *flags)
        trace, done = run_traced(t, "Redefine", (versions, objects), flags_, judged=False)
        verified(trace)
        expected = {
            (m[1], f"({m[3]})"): int(m[2])
            for m in re.finditer(r"^expect (\S+) (\d+) (\d+)$", done.stdout, re.M)
        }
        expect(len(expected) == 2 * versions, f"the program printed {done.stdout!r}")
        found = {}
        for row in analyze_json("sites", trace, "--top", "0")["sites"]:
            if row["class"] in ("Redefine$Made", "Redefine$Looped"):
                method = "make" if row["class"].endswith("Made") else "loop"
                place = re.fullmatch(rf"Maker\.{method}\(Maker\.java:(\d+)\)", row["site"])
                key = row["class"], f"({place[1]})" if place else row["site"]
                found[key] = found.get(key, 0) + row["objects"]
        wrong = {
            key: (found.get(key), expected.get(key))
            for key in found.keys() | expected.keys()
            if found.get(key) != expected.get(key)
        }
        expect(not wrong, f"objects at (line), true numbers: {wrong}")

    add(f"Objects made by redefined methods have the lines of their version {name}", body)


true_sites("in the interpreter", ("-Xint",), objects=3000)
true_sites("in C2", ("-XX:-TieredCompilation",))
for collector_ in COLLECTORS:
    true_sites(f"in all tiers, with {collector_}", (), collector_)


LIMIT = 256 << 20


def small_container(collector, flags, main="Locks"):
    def body(t):
        with MemoryLimit(t, LIMIT) as limit:
            command = (*limit.command, "taskset", "-c", str(min(os.sched_getaffinity(0))))
            plain = run([*command, *java_command(main, (), flags)])
            expect(
                plain.returncode == 0,
                f"without the agent it ends with {plain.returncode}: {tail(plain.stderr)}",
            )
            trace, done = run_traced(
                t, main, (), (*flags, f"-Xlog:gc*:file={t.path('gc.log')}"), before=command
            )
            expect(
                (done.stdout, done.stderr) == (plain.stdout, plain.stderr),
                f"{tail(done.stdout)!r} {tail(done.stderr)!r}",
            )
            expect(0 < limit.peak() <= LIMIT, f"{limit.peak()} bytes were used")
        with open(t.path("gc.log"), encoding="utf-8") as file:
            log = file.read()
        expect(
            f"Using {collector}" in log and " total, 1 available" in log, f"the JVM runs with {tail(log[:600])}"
        )
        expect(f"Memory: {LIMIT >> 20}M" in log, f"the JVM does not see the limit: {tail(log[:600])}")
        expect(judge(t.folder, trace) > 0, "nothing was judged")

    add(
        f"With one core, {LIMIT >> 20} MB of memory and {' '.join(flags) or 'default options'} the heap is "
        "exact",
        body,
    )


small_container("Serial", ())  # what the JVM chooses on such a machine
small_container("Parallel", ("-XX:+UseParallelGC", "-Xmx96m"))
small_container("G1", ("-XX:+UseG1GC", "-Xmx96m"))


def digest(folder):
    """{file: hash} of the trace's files."""
    result = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("trace"):
            with open(os.path.join(folder, name), "rb") as file:
                result[name] = hashlib.sha256(file.read()).hexdigest()
    return result


def open_files(pid):
    """Where the descriptors of a process point to; none if it is gone."""
    try:
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:
        return []


def sleepers(folder):
    """Processes `sleep` that work in the folder."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read() == "sleep\n" and os.readlink(f"/proc/{pid}/cwd") == folder:
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def wait_until(condition, message, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < until, message)
        time.sleep(0.02)


def forks(name, options, collector, daemons=20):
    def body(t):
        flags, left = (f"-XX:+Use{collector}GC", "-Xmx32m", "-Xmn4m"), t.path("daemon")
        trace, done = run_traced(t, "Forks", (left, daemons, 3), flags, options, judged=False)
        files = digest(t.folder)
        numbers = [int(m) for m in re.findall(r"^daemon (\d+)$", done.stdout, re.M)]
        expect(len(numbers) == daemons and min(numbers) > 0, f"daemons: {done.stdout!r}")
        alive = [pid for pid in [*numbers, *sleepers(t.folder)] if open_files(pid)]
        conclusive(len(alive) > 2, f"only {alive} outlived the JVM: the test tests nothing")
        for pid in alive:
            kept = [path for path in open_files(pid) if path.startswith(t.folder + "/trace")]
            expect(not kept, f"process {pid} keeps {kept} open")
        wait_until(
            lambda: all(os.path.exists(f"{left}.{n}") and os.path.getsize(f"{left}.{n}") for n in numbers),
            "a daemon did not come to its end",
        )
        wait_until(lambda: not any(open_files(n) for n in numbers), "a daemon hangs in its end")
        expect(digest(t.folder) == files, "the trace changed after the JVM had ended")
        expect(done.stderr == "", f"stderr: {tail(done.stderr)}")
        verified(trace)

    add(f"Forked daemons outlive the JVM and leave {name} alone", body)


forks("the trace", "", "Parallel")
forks("a rotated trace that is folded, and its counters,", ",maxsize=2M,keep=yes,stats=trace.json", "G1")


@test("Each of five thousand short threads is in the trace with what it allocated")
def short_threads(t):
    trace, done = run_traced(t, "ShortThreads", (5000,), judged=False)
    verified(trace)
    # One that allocates nothing is not in a trace.
    jvm = {
        m[3]: (int(m[1]), int(m[2])) for m in re.finditer(r"^thread (\d+) ([1-9]\d*) (.+)$", done.stdout, re.M)
    }
    expect(len(jvm) == 4950, f"the program printed {tail(done.stdout)!r}")
    traced = {
        row["name"]: (row["java_id"], row["bytes"])
        for row in analyze_json("threads", trace)["threads"]
        if row["name"] in jvm
    }
    wrong = {name: (traced.get(name), jvm[name]) for name in jvm if traced.get(name) != jvm[name]}
    expect(not wrong, f"{len(wrong)} threads with other bytes (traced, JVM), such as {list(wrong.items())[:3]}")


WRITING_THREADS = ("anttracks", "anttracks-zip")


@test("The agent's threads have the policy that does not preempt others, or keep what the JVM was given")
def preempts_nothing(t):
    for before, size, wanted, of_writer in (
        ((), "64M", os.SCHED_BATCH, os.SCHED_BATCH),
        # A small file is full before a writer comes that is late.
        ((), "16M", os.SCHED_BATCH, os.SCHED_OTHER),
        (("chrt", "--idle", "0"), "64M", os.SCHED_IDLE, os.SCHED_IDLE),
    ):
        t.clear()
        # A thread has its name before it has its policy.
        right = {(name, of_writer if name in WRITING_THREADS else wanted) for name in AGENT_THREADS}
        with Program(t, agent=f"file={t.path('trace')},maxsize={size}", before=before) as program:
            until(
                lambda pid=program.pid, right=right: right
                == {row for row in policies(pid) if row[0] in AGENT_THREADS},
                f"not all of the agent's threads have their policy, {right}: {policies(program.pid)}",
            )
            others = {policy for name, policy in policies(program.pid) if name not in AGENT_THREADS}
            program.end()
        expect(others == {os.SCHED_IDLE if before else os.SCHED_OTHER}, f"{before}: {others}")
