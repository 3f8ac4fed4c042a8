# SPDX-License-Identifier: Apache-2.0
"""Files that the agent makes or is to replace, and files that are none:
what belongs to others is left alone."""

import os
import stat

from judge.rotated import data_files
from judge.world import ANALYZER, add, expect, java_command, run, run_traced, tail, test

PARALLEL = ("-XX:+UseParallelGC", "-Xmx32m")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def refused(name, options, taken, kind, make=write):
    """With overwrite=yes the program does not start, the message names file, kind and remedy,
    and what is there stays."""

    def body(t):
        make(t.path(taken), "my diary")
        write(t.path("trace.4"), "ANTTRACK")
        done = run(java_command("Life", ("return",), PARALLEL, options(t) + ",overwrite=yes"), cwd=t.folder)
        expect(
            done.returncode == 1 and "begin" not in done.stdout,
            f"the program ran: {done.returncode} {tail(done.stderr)}",
        )
        for word in (t.path(taken), kind, "overwrite=yes", "choose another", "remove it"):
            expect(word in done.stderr, f"{word!r} is not in {tail(done.stderr)}")
        with open(t.path(taken), encoding="utf-8") as file:
            expect(file.read() == "my diary", "the file was changed")
        expect(os.path.exists(t.path("trace.4")), "a file was deleted before the refusal")

    add(name, body)


def link(path, text):
    write(path + "-target", text)
    os.symlink(path + "-target", path)


refused(
    "overwrite=yes replaces no file that is no trace",
    lambda t: f"file={t.path('trace')}",
    "trace",
    "something else",
)
refused("overwrite=yes follows no link", lambda t: f"file={t.path('trace')}", "trace", "a symbolic link", link)
for at in ("trace", "trace.3", "trace.3.origins", "trace.0"):
    refused(
        f"overwrite=yes of a rotated trace deletes no file that is no trace, {at}",
        lambda t: f"file={t.path('trace')},maxsize=4M",
        at,
        "something else",
    )
refused(
    "overwrite=yes replaces no file of stats= that has no counters",
    lambda t: f"file={t.path('new')},stats={t.path('stats')}",
    "stats",
    "something else",
)


@test("All files of a trace are for their owner alone, whatever the umask")
def modes(t):
    before = os.umask(0)
    try:
        run_traced(
            t,
            "Windows",
            (6, 1_000_000, 20_000),
            PARALLEL,
            f",stats={t.path('stats')},maxsize=12M,keep=yes",
            judged=False,
        )
    finally:
        os.umask(before)
    found = {name: stat.S_IMODE(os.lstat(t.path(name)).st_mode) for name in os.listdir(t.folder)}
    expect({"trace", "stats"} < set(found) and len(data_files(t.path("trace"))) > 1, f"files: {sorted(found)}")
    expect(set(found.values()) == {0o600}, f"modes: { {name: oct(mode) for name, mode in found.items()} }")


@test("A FIFO in the place of a trace, or of one of its data files, does not stop the analyzer")
def fifos(t):
    trace, _ = run_traced(t, "FastAllocation", (400_000,), PARALLEL, ",maxsize=4M", judged=False)
    os.mkfifo(t.path("trace.77"))
    os.mkfifo(t.path("fifo"))
    done = run([ANALYZER, "info", trace], timeout=120)
    expect(
        done.returncode == 0 and "trace.77: is a FIFO" in done.stdout + done.stderr,
        f"{done.returncode}: {tail(done.stdout)} {tail(done.stderr)}",
    )
    for each in ("fifo", "trace.77"):
        done = run([ANALYZER, "info", t.path(each)], timeout=120)
        expect(done.returncode == 3 and "is a FIFO" in done.stderr, f"{done.returncode}: {tail(done.stderr)}")
