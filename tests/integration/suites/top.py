# SPDX-License-Identifier: Apache-2.0
"""anttracks top: a trace while it is written. And what else depends on a terminal: pager, completions."""

import os
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
    """A program that allocates for a while, traced from its start. With a heap that is full after some 80,000
    rounds, unless it is of a kind that does not leak."""

    def __init__(self, t, options="", rounds=60000, full=0, kind="listeners"):
        self.trace = t.path("trace")
        arguments = (kind, rounds, 0, full or 400)
        command = java_command("Leaking", arguments, FLAGS, f"file={self.trace}" + options)
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
    with Leaker(t, rounds=2_000_000, kind="lru") as program:
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


def watched(t, options, rounds=60000, full=0, says="allocates"):
    with Leaker(t, options, rounds, full) as program:
        top = subprocess.Popen(
            [ANALYZER, "top", str(program.process.pid), "--interval", "0.2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        program.process.communicate(timeout=TIMEOUT)
        out, err = top.communicate(timeout=TIMEOUT)
        expect(top.returncode == 0, f"{top.returncode} {err}\n{out[-2000:]}")
        lines = [line for line in out.splitlines() if says in line]
        expect(len(lines) > 2 and len(set(lines)) > 2, out)
        expect("\x1b" not in out and "the trace has ended (the JVM ended)" in out, out[-2000:])
        return program.trace, out


@test("Top writes plain lines where there is no terminal, and ends when the JVM does")
def plain(t):
    trace, out = watched(t, "")
    status_is(out, trace)


@test("Top follows the files of a rotated trace")
def rotated(t):
    trace, out = watched(t, ",maxsize=2M,dev=0.1", rounds=40000)
    expect(min(data_files(trace)) > 0, f"nothing was deleted: {list(data_files(trace))}")
    expect("LOST EVENTS" not in out, out[-2000:])
    found = re.findall(r"after GC (\d+) ", out)
    expect(int(found[-1]) == analyze_json("gcs", trace)["gcs"][-1]["id"], f"{found[-1]}")


@test("Top of samples shows estimates by site, and at the end what heap shows")
def samples(t):
    # So many samples that the agent has full buffers to write again and again.
    trace, out = watched(t, ",mode=sample,interval=8K")
    found = re.findall(
        r"in ~([0-9,]+) objects? after GC (\d+) .*; ([0-9,]+) pauses? in .*; ([0-9,]+) samples", out
    )
    expect(found, out[-2000:])
    objects, gc, pauses, count = (int(number.replace(",", "")) for number in found[-1])
    heap, gcs = analyze_json("heap", trace), analyze_json("gcs", trace)["gcs"]
    expect(
        (objects, gc, pauses) == (heap["objects"], gcs[-1]["id"], len(gcs)), f"{found[-1]} {heap['objects']}"
    )
    expect(count == heap["samples"], f"{count} and {heap['samples']} samples")
    table = out[out.rindex("Est. bytes/s") :].splitlines()
    expect(all(line.count("~") == 4 for line in table[1:3]), f"{table[:3]}")
    expect("Leaking$Requests.handle" in table[1], f"{table[:3]}")


@test("Top of censuses shows what the last one counted, and ends when the JVM does")
def censuses(t):
    trace, out = watched(t, ",mode=census,every=gc", full=4000, says="after GC")
    found = re.findall(
        r"in ([0-9,]+) objects? after GC (\d+) .*; ([0-9,]+) censuses; allocated .*/s between", out
    )
    expect(found, out[-2000:])
    objects, gc, count = (int(number.replace(",", "")) for number in found[-1])
    heap, gcs = analyze_json("heap", trace), analyze_json("gcs", trace)["gcs"]
    expect((objects, gc, count) == (heap["objects"], heap["gc"], len(gcs)), f"{found[-1]} {heap['objects']}")
    table = out[out.rindex("Grown by") :].splitlines()
    expect("long[]" in table[1] and "Leaking$Listeners" in table[1] and "+" in table[1], f"{table[:3]}")


@test("Top fits on a screen of 40 columns, whatever the trace holds")
def narrow(t):
    for number, options in enumerate(("", ",mode=sample,interval=64K", ",mode=census,every=gc")):
        with Leaker(t, options + ",overwrite=yes" * (number > 0), 2_000_000, kind="lru") as program:
            screen = Terminal([ANALYZER, "top", str(program.process.pid)], rows=24, columns=40)
            expect(screen.wait_for("q: end"), f"{options}: {screen.text[-2000:]}")
            expect(screen.wait_for("Leaking"), f"{options}: {screen.text[-2000:]}")
            screen.type("l")
            screen.read(1.5)
            # Otherwise what is the same on both screens is not written again.
            screen.text = ""
            screen.resize(24, 39)
            expect(screen.wait_for("ive bytes", 20), f"{options}: {screen.text[-2000:]}")
            screen.type("q")
            code = screen.end()
            expect(code == 0 and "left at your request" in screen.text, f"{code} {screen.text[-2000:]}")


@test("Top says what is wrong with a process that writes no trace, and with one that is none")
def refused(t):
    with subprocess.Popen(["sleep", "60"]) as other:
        done = run([ANALYZER, "top", str(other.pid)])
        other.kill()
    expect(done.returncode == 13 and "writes no trace" in done.stderr, f"{done.returncode} {done.stderr}")
    done = run([ANALYZER, "top", "999999999"])
    expect(done.returncode == 5 and "no process" in done.stderr, f"{done.returncode} {done.stderr}")


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
    for none in ("cat", "", "no-such-program", "/no/such/program -x"):
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
    expect(completed("anttracks", "export", "ppr") == ["pprof"], completed("anttracks", "export", "ppr"))
    expect(completed("anttracks", "heap", "app") == ["app.trace"], completed("anttracks", "heap", "app"))


@test("Zsh completes commands, options, their values and files, from the table of commands")
def zsh(t):
    if shutil.which("zsh") is None:
        raise Skip("missing zsh: scripts/setup-packages --only zsh")
    with open(t.path("app.trace"), "w", encoding="utf-8"):
        pass
    with open(t.path("_anttracks"), "w", encoding="utf-8") as file:
        file.write(analyze("--completion", "zsh"))
    os.mkdir(t.path("bin"))
    os.symlink(ANALYZER, t.path("bin/anttracks"))
    # Its completion works at a prompt only. The prompt and the lists have no colours.
    shell = Terminal(["zsh", "-f", "-i"], rows=50, columns=150, HOME=t.folder, PS1="", TERM="dumb")
    for line in (
        f"cd {t.folder}; path=({t.path('bin')} $path)",
        "fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D; setopt nobeep noautomenu",
        "echo re''ady",
    ):
        shell.type(line + "\n")
    expect(shell.wait_for("ready"), shell.text)

    def completed(typed, wanted):
        shell.text = ""
        shell.type(typed + "\t\t")
        expect(shell.wait_for(wanted, 20), f"{typed!r}: no {wanted!r} in {shell.text!r}")
        shell.type("\x15")

    completed("anttracks lea", "anttracks leaks ")
    completed("anttracks ", "What piles up and is never freed")
    completed("anttracks sites --cal", "--callers")
    completed("anttracks heap app.trace --by cl", "--by class")
    completed("anttracks heap app", "app.trace")
    completed("anttracks export ppr", "anttracks export pprof ")
    completed("anttracks ctl 4711 dum", "dump-stats")
    shell.type("exit\n")
    expect(shell.end() == 0, shell.text[-500:])


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
