# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the files of a rotated trace, the program does not notice,
and what was good stays readable."""

import os
import random
import shutil
import time

from judge.host import SmallDisk, StoppedThread, Unchangeable, wait_until_idle
from judge.rotated import Running, SizeWatch, data_files, plain_output, total_bytes
from judge.world import ANALYZER, analyze, analyze_json, conclusive, expect, run, tail, test, verified

PROGRAM = ("FastAllocation", (4_000_000,), ("-XX:+UseParallelGC", "-Xmx24m", "-Xmn2m"))
BOUND = "maxsize=8M"
LIMIT = (8 << 20) + (8 << 20) // 10


def check_program(running, said, program=PROGRAM):
    """Ends as without the agent; stderr has one line with all the words, or none."""
    code = running.finish()
    expected = plain_output(*program)
    expect(
        (code, running.stdout()) == expected,
        f"ended with {code}, {running.stdout()!r}; without the agent {expected}",
    )
    lines = running.stderr().splitlines()
    expect(len(lines) == (1 if said else 0), f"stderr: {tail(running.stderr())}")
    for word in said:
        expect(word.lower() in lines[0].lower(), f"{word!r} is not in {lines[0]!r}")


def check_good_part(trace):
    """No error up to where the trace was good, and a heap is known in it."""
    result = verified(trace, clean_end=False)
    expect(result["gcs"] > 0 and result["sync_points"]["taken"] > 0, f"too little is left: {result}")
    analyze("heap", trace, "--top", "3")
    analyze("quality", trace)
    return result


@test("A disk that is full before the bound is reached ends tracing, not the program")
def full_disk(t):
    with SmallDisk(t, "4m") as folder, Running(t, os.path.join(folder, "trace"), *PROGRAM, BOUND) as running:
        check_program(running, ("space", running.trace))
        check_good_part(running.trace)


@test("A file size limit below a file's share ends tracing, not the program")
def file_size_limit(t):
    limited = ("prlimit", f"--fsize={400 << 10}", "--")
    with Running(t, t.path("trace"), *PROGRAM, BOUND, before=limited) as running:
        check_program(running, ("too large", "ulimit -f"))
        check_good_part(running.trace)


@test("A file size limit far above a file's share never matters, however long the trace")
def file_size_limit_kept(t):
    # A program that is faster than its collections fills a file to more than twice its share.
    limited = ("prlimit", f"--fsize={4 << 20}", "--")
    with Running(t, t.path("trace"), *PROGRAM, BOUND, before=limited) as running:
        check_program(running, ())
        expect(min(data_files(running.trace)) > 0, "nothing was deleted")
        verified(running.trace)


@test("When the current data file is deleted tracing ends, not the program")
def current_deleted(t):
    with Running(t, t.path("trace"), *PROGRAM, BOUND) as running:
        running.wait_for_file(3)
        with StoppedThread(running.pid, "anttracks"):  # or the newest may be the one before when it is deleted
            newest = max(data_files(running.trace))
            os.remove(data_files(running.trace)[newest])
        check_program(running, ("deleted", running.trace))
        expect(max(data_files(running.trace)) <= newest + 1, f"it went on: {list(data_files(running.trace))}")
        check_good_part(running.trace)


@test("When the symbols file is deleted tracing ends, not the program")
def symbols_deleted(t):
    with Running(t, t.path("trace"), *PROGRAM, BOUND) as running:
        running.wait_for_file(3)
        os.remove(running.trace)
        check_program(running, ("deleted", running.trace))
        code = run([ANALYZER, "verify", running.trace]).returncode
        expect(code == 3, f"verify without a symbols file ended with {code}")


@test("When old data files are deleted by hand the trace goes on")
def old_deleted(t):
    with Running(t, t.path("trace"), *PROGRAM, BOUND) as running:
        running.wait_for_file(5)
        with StoppedThread(running.pid, "anttracks"):  # or it may delete them first
            gone = list(data_files(running.trace).items())[:3]
            for _, path in gone:
                os.remove(path)
        check_program(running, ())
        expect(min(data_files(running.trace)) > max(index for index, _ in gone), "nothing was deleted later")
        verified(running.trace)


@test("When the whole folder is deleted tracing ends, not the program")
def folder_deleted(t):
    folder = t.path("folder")
    os.mkdir(folder)
    with Running(t, os.path.join(folder, "trace"), *PROGRAM, BOUND) as running:
        running.wait_for_file(3)
        shutil.rmtree(folder, ignore_errors=True)
        check_program(running, (running.trace,))


@test("When the folder can no more be changed tracing ends, not the program, and the bound holds")
def folder_unchangeable(t):
    folder = t.path("folder")
    os.mkdir(folder)
    with Running(t, os.path.join(folder, "trace"), *PROGRAM, BOUND) as running:
        running.wait_for_file(3)
        with Unchangeable(folder), SizeWatch(running.trace, LIMIT):
            check_program(running, ("permitted" if os.geteuid() == 0 else "denied", "folder"))
            check_good_part(running.trace)


def kill_at(t, randomly, turn):
    """Every second time just when a new file appears, else somewhere between two of them."""
    t.clear()
    with Running(t, t.path("trace"), "FastAllocation", (1_000_000_000,), PROGRAM[2], BOUND) as running:
        running.wait_for_file(randomly.randrange(1, 30), pause=0)
        if turn % 2:
            time.sleep(randomly.random() * 0.02)
        running.kill()
        size = total_bytes(running.trace)
        expect(size <= LIMIT, f"{size} bytes after the kill")
        result = verified(running.trace, clean_end=False)
        expect(result["chunks"] > 0 and not result["ended_cleanly"], f"after the kill: {result}")
        for command in ("info", "gcs", "quality", "sites"):
            analyze(command, running.trace)
        analyze("heap", running.trace, "--end", "--top", "3")
        return sum(gc["exact"] for gc in analyze_json("gcs", running.trace)["gcs"])


@test("After kill -9 in the middle of a rotation the trace loads and has no error up to its last chunk")
def killed(t):
    randomly = random.Random(3)
    known = [kill_at(t, randomly, turn) for turn in range(20)]
    expect(sum(k > 0 for k in known) > 15, f"collections with a known heap after each kill: {known}")


@test("A writer that stands still for three seconds costs time, but no event, and the bound holds")
def stalled(t):
    main, _, flags = PROGRAM
    program = main, (16_000_000,), flags  # many times what the queue holds
    # A thread or a collection waits for a second, then queues what it has, up to twice the bound. A collection
    # has a buffer of each thread: a small queue would be full of them before the writer goes on.
    with Running(t, t.path("trace"), *program, BOUND + ",queue=8M") as running, SizeWatch(running.trace, LIMIT):
        running.wait_for_file(3)
        with StoppedThread(running.pid, "anttracks"):
            before = total_bytes(running.trace)
            # Where a thread waits depends on where the writer was stopped, which may be while it holds a lock.
            conclusive(wait_until_idle(running.pid, 20), "the program did not wait")
            time.sleep(3)
            expect(total_bytes(running.trace) == before, "the writer went on")
            expect(running.process.poll() is None, "the program ended without its writer")
        check_program(running, (), program)
        verified(running.trace)


@test(
    "A writer that stands still for longer than threads wait loses events, not the program, "
    "and the heap is repaired",
    slow=True,
)
def stalled_long(t):
    main, _, flags = PROGRAM
    program = main, (60_000_000,), flags  # long enough for sync points after the loss, in which it is fast
    with Running(t, t.path("trace"), *program, BOUND + ",queue=1M") as running, SizeWatch(running.trace, LIMIT):
        running.wait_for_file(3)
        with StoppedThread(running.pid, "anttracks"):
            time.sleep(10.3)
        check_program(running, ("dropped", "queue="), program)
        counters = analyze_json("info", running.trace)["counters"]
        conclusive(counters["lost_segments"] > 0, f"nothing was lost: the test tests nothing; {counters}")
        gcs = analyze_json("gcs", running.trace)["gcs"]
        expect(gcs[-1]["exact"], "the heap is not known at the end")
