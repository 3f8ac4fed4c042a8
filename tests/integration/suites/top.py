# SPDX-License-Identifier: Apache-2.0
"""anttracks top: a trace while it is written. And what else depends on a terminal: pager, completions."""

import re
import shutil
import subprocess

from judge.rotated import data_files
from judge.terminal import Terminal
from judge.world import (
    ANALYZER,
    TIMEOUT,
    Skip,
    analyze,
    analyze_json,
    expect,
    java_command,
    run,
    run_traced,
    test,
)

FLAGS = ("-XX:+UseParallelGC", "-Xmx96m", "-Xmn8m")


class Leaker:
    """A program that allocates for a while, traced from its start."""

    def __init__(self, t, options="", rounds=60000):
        self.trace = t.path("trace")
        command = java_command("Leaking", ("listeners", rounds, 0, 400), FLAGS, f"file={self.trace}" + options)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        expect("growth begins" in self.process.stdout.readline(), "the program did not begin")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@test(
    "Top shows a program at a terminal, takes keys and other sizes of the window, and leaves the program alone"
)
def at_terminal(t):
    with Leaker(t, rounds=2_000_000) as program:
        screen = Terminal([ANALYZER, "top", str(program.process.pid)], rows=20, columns=120)
        expect(screen.wait_for("allocates") and screen.wait_for("after GC"), screen.text[-2000:])
        expect(screen.wait_for("Leaking") and screen.wait_for("Live bytes"), screen.text[-2000:])
        screen.type("l")
        screen.resize(10, 60)
        screen.text = ""
        expect(screen.wait_for("allocates", 20), f"nothing after another size: {screen.text[-2000:]}")
        screen.type("q")
        code = screen.end()
        expect(code == 0 and "left at your request" in screen.text, f"{code} {screen.text[-2000:]}")
        expect("\x1b[?1049l" in screen.text, "the terminal was not left as it was")
        expect(program.process.poll() is None, "the program has ended, too")


def status_is(text, trace):
    """The last status line has what the other commands say of the whole trace."""
    found = re.findall(r"in ([0-9,]+) objects? after GC (\d+) .*; ([0-9,]+) collections? in", text)
    heap, gcs = analyze_json("heap", trace), analyze_json("gcs", trace)["gcs"]
    expect(found, f"no status:\n{text[-2000:]}")
    objects, gc, collections = (int(number.replace(",", "")) for number in found[-1])
    expect(objects == heap["objects"], f"{objects} and {heap['objects']} objects")
    expect(gc == gcs[-1]["id"] and collections == len(gcs), f"{found[-1]} and {len(gcs)}, last {gcs[-1]['id']}")


def watched(t, options, rounds=60000):
    with Leaker(t, options, rounds) as program:
        top = subprocess.Popen(
            [ANALYZER, "top", str(program.process.pid), "--interval", "0.2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        program.process.communicate(timeout=TIMEOUT)
        out, err = top.communicate(timeout=TIMEOUT)
        expect(top.returncode == 0, f"{top.returncode} {err}\n{out[-2000:]}")
        lines = [line for line in out.splitlines() if "allocates" in line]
        expect(len(lines) > 2 and len(set(lines)) > 2, out)
        expect("\x1b" not in out and "the trace has ended (the JVM ended)" in out, out[-2000:])
        return program.trace, out


@test("Top writes plain lines where there is no terminal, and ends when the JVM does")
def plain(t):
    trace, out = watched(t, "")
    status_is(out, trace)


@test("Top follows the files of a rotated trace")
def rotated(t):
    trace, out = watched(t, ",maxsize=1M,dev=0.1", rounds=20000)
    expect(min(data_files(trace)) > 0, f"nothing was deleted: {list(data_files(trace))}")
    expect("LOST EVENTS" not in out, out[-2000:])
    found = re.findall(r"after GC (\d+) ", out)
    expect(int(found[-1]) == analyze_json("gcs", trace)["gcs"][-1]["id"], f"{found[-1]}")


@test("Top says what is wrong with a process that writes no trace, that is none, and with samples")
def refused(t):
    with subprocess.Popen(["sleep", "60"]) as other:
        done = run([ANALYZER, "top", str(other.pid)])
        other.kill()
    expect(done.returncode == 13 and "writes no trace" in done.stderr, f"{done.returncode} {done.stderr}")
    done = run([ANALYZER, "top", "999999999"])
    expect(done.returncode == 5 and "no process" in done.stderr, f"{done.returncode} {done.stderr}")
    trace, _ = run_traced(t, "Mix", options=",mode=sample,interval=64K", judged=False)
    done = run([ANALYZER, "top", trace])
    expect(done.returncode == 2 and "mode=sample" in done.stderr, f"{done.returncode} {done.stderr}")


@test("Long text goes through the pager at a terminal, and nothing else does")
def pager(t):
    trace, _ = run_traced(t, "Mix", judged=False)

    def shown(words, **environment):
        terminal = Terminal([ANALYZER, *words, trace], rows=20, **environment)
        code = terminal.end()
        expect(code == 0, f"{words} {code} {terminal.text[-500:]}")
        return terminal.text

    mine = {"PAGER": "sed s/^/paged:/"}
    expect("paged:" in shown(("sites", "--top", "0"), **mine), "a long table is not paged")
    for words in (("sites", "--top", "3"), ("sites", "--json"), ("sites", "--csv")):
        expect("paged:" not in shown(words, **mine), f"{words} is paged")
    for none in ("cat", ""):
        expect("Site" in shown(("sites", "--top", "0"), PAGER=none), f"nothing with PAGER={none!r}")
    shown(("sites", "--top", "0"), PAGER="true")  # which reads nothing
    done = run(["env", "PAGER=sed s/^/paged:/", ANALYZER, "sites", "--top", "0", trace])
    expect("paged:" not in done.stdout and "Site" in done.stdout, "paged without a terminal")


@test("Bash completes commands, options, their values and files, from the table of commands")
def bash(t):
    with open(t.path("app.trace"), "w", encoding="utf-8"):
        pass

    def completed(*words):
        script = 'source <("$0" --completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _anttracks; '
        done = run(["bash", "-c", script + 'printf "%s\\n" "${COMPREPLY[@]}"', ANALYZER, *words], cwd=t.folder)
        expect(done.returncode == 0 and not done.stderr, done.stderr)
        return done.stdout.split()

    expect(completed("anttracks", "lea") == ["leaks"], completed("anttracks", "lea"))
    expect("--callers" in completed("anttracks", "sites", "--"), completed("anttracks", "sites", "--"))
    expect(completed("anttracks", "heap", "x", "--by", "cl") == ["class"], "values of --by")
    expect("status" in completed("anttracks", "ctl", "4711", ""), "actions of ctl")
    expect(completed("anttracks", "heap", "app") == ["app.trace"], completed("anttracks", "heap", "app"))


@test("The manual page has every command and option, and is well formed")
def manual(t):
    text = analyze("--man")
    names = re.findall(
        r"^  (\w+) ", analyze("--help").partition("First steps:")[2].partition("Exit codes")[0], re.M
    )
    expect(len(names) > 15, f"{names}")
    for name in names:
        expect(f".SS anttracks {name}" in text, f"no {name}")
        for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", analyze(name, "--help"), re.M):
            expect(option.replace("-", "\\-") in text, f"{name}: no {option}")
    if shutil.which("groff") is None:
        raise Skip("missing groff")
    with open(t.path("anttracks.1"), "w", encoding="utf-8") as file:
        file.write(text)
    done = run(["groff", "-man", "-ww", "-z", "-Tutf8", t.path("anttracks.1")])
    expect(done.returncode == 0 and not done.stderr, done.stderr)
