# SPDX-License-Identifier: Apache-2.0
"""What runs the tests: failures of any kind are told and counted."""

import json
import os
import sys

from judge.world import HERE, ROOT, expect, run, tail, test

RUN_UNIT = os.path.join(ROOT, "tests", "run_unit.py")


def unit_run(t, programs, *words, before=(), script=RUN_UNIT):
    """run_unit.py on these programs: {name: shell script}. One that sleeps is given ten seconds."""
    tests = []
    for name, text in {"meson": f"cat {t.path('tests.json')}", **programs}.items():
        path = t.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
        if name != "meson":
            tests.append({"name": name, "cmd": [path], "timeout": 1 if "sleep 1000" in text else 30})
    with open(t.path("tests.json"), "w", encoding="utf-8") as file:
        json.dump(tests, file)
    return run(["env", f"PATH={t.folder}:" + os.environ["PATH"], *before, script, t.folder, *words])


FAILED = (
    '<Expression success="false" type="CHECK" filename="a.cc" line="7">'
    "<Original> a == b </Original><Expanded> 1 == 2 </Expanded></Expression>"
)


def case(name, passed=True, end=True):
    lines = [
        f'<TestCase name="{name}" filename="a.cc" line="1">',
        *([] if passed else [FAILED]),
        *(
            [
                f'<OverallResultsAsserts successes="1" failures="0" test_case_success="{str(passed).lower()}'
                '"/></TestCase>'
            ]
            if end
            else []
        ),
    ]
    return "".join(f"echo '{line}'\n" for line in lines)


BEGIN = (
    """echo 'loud'; echo '<?xml version="1.0" encoding="UTF-8"?>'; echo '<doctest binary="x"><TestSuite>'\n"""
)
END = "echo '</TestSuite></doctest>'\n"


@test("Unit tests: each case has a line, and what fails, crashes, hangs or is skipped is told and counted")
def unit(t):
    done = unit_run(
        t,
        {
            "fine": BEGIN + case("one") + case("two") + END,
            "wrong": BEGIN + case("three") + case("four", passed=False) + END + "exit 1",
            "crash": BEGIN + case("five") + case("six", end=False) + "echo a word >&2; kill -SEGV $$",
            "hang": BEGIN + case("seven", end=False) + "sleep 1000 & sleep 1000",
            "exit": BEGIN + case("eight") + END + "echo a leak >&2; exit 23",
            "plain": "exit 0",
            "absent": "exit 77",
            "broken": "echo no file >&2; exit 3",
        },
    )
    lines = done.stdout.splitlines()
    for line in (
        "ok    fine: one",
        "ok    fine: two",
        "ok    wrong: three",
        "FAIL  wrong: four",
        "      a.cc:7: a == b (1 == 2)",
        "ok    crash: five",
        "FAIL  crash was killed by SIGSEGV in the case: six",
        "      a word",
        "FAIL  hang did not end and was killed in the case: seven",
        "ok    exit: eight",
        "FAIL  exit ended with 23 after the case: eight",
        "      a leak",
        "ok    plain",
        "skip  absent ended with 77",
        "FAIL  broken ended with 3",
        "      no file",
    ):
        expect(line in lines, f"{line!r} is not in\n{done.stdout}{done.stderr}")
    expect(
        lines[-1] == "6 passed, 5 failed, 1 skipped" and done.returncode == 1, f"{done.returncode} {lines[-1]}"
    )
    done = unit_run(t, {"fine": BEGIN + case("one") + END, "wrong": "exit 1"}, "fine")
    expect(done.returncode == 0 and done.stdout.endswith("1 passed, 0 failed, 0 skipped\n"), done.stdout)


@test("Unit tests: a word chooses programs, and cases of the others")
def words(t):
    asked = """case "$*" in *"--test-case=*fine*,*a\\,b*"*) ;; *) exit 1 ;; esac\n"""
    programs = {
        "fine_test": BEGIN + case("one") + case("two") + END,
        "other_test": asked + BEGIN + case("three") + END,
        "plain": "exit 1",
    }
    done = unit_run(t, programs, "fine", "a,b")
    expect(
        done.stdout.endswith("3 passed, 0 failed, 0 skipped\n"),
        f"{done.returncode}\n{done.stdout}{done.stderr}",
    )


@test("Unit tests: a program that dies has told by then which case it was in")
def buffered(t):
    programs = json.loads(run(["meson", "introspect", os.path.join(ROOT, "build", "meson"), "--tests"]).stdout)
    program = next(p["cmd"][0] for p in programs if p["name"] == "agent")
    out = t.path("out")
    unit_run(
        t,
        {
            "agent": f"""{program} "$@" >{out} & tries=600
until grep -q '<TestCase ' {out} || [ $tries -eq 0 ]; do sleep 0.1; tries=$((tries - 1)); done
kill -KILL $!"""
        },
    )
    with open(out, encoding="utf-8") as file:
        text = file.read()
    # What a buffer of its own cuts off ends anywhere.
    expect("<TestCase " in text and text.endswith("\n"), f"it ends with {text[-100:]!r}")


@test("Unit tests: what a sanitizer reports is a failure, whatever the exit code")
def reported(t):
    os.makedirs(t.path("tests"))
    for name in ("run_unit.py", "sanitizers"):
        run(["cp", "-r", os.path.join(ROOT, "tests", name), t.path("tests")])
    program = {"quiet": 'path=${ASAN_OPTIONS#log_path=}; echo "ERROR: an overflow" >"${path%%:*}.1"'}
    environment = ("env", "ANTTRACKS_SANITIZE=address,undefined")
    done = unit_run(t, program, before=environment, script=t.path("tests/run_unit.py"))
    expect(
        "ERROR: an overflow" in done.stdout and done.returncode == 1,
        f"{done.returncode} {done.stdout} {done.stderr}",
    )
    done = unit_run(t, {"quiet": "exit 0"}, before=environment, script=t.path("tests/run_unit.py"))
    expect(done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}")


# Tests for the runner: what each of its runs does.
RUNS = """
import runpy, sys
runner = runpy.run_path(sys.argv[1], run_name="runner")
world = runner["world"]
world.OUT = sys.argv[2]
calls = []

def test(name, *runs):
    def body(t):
        calls.append(name)
        runs[min(calls.count(name), len(runs)) - 1]()
    return world.Test("of the runner, " + name, body, False)

def nothing():
    world.conclusive(False, "too slow")

def wrong():
    world.expect(False, "wrong")

def right():
    pass

tests = [test("late", nothing, right), test("right", right), test("wrong", wrong, right),
         test("never", nothing), test("worse", nothing, wrong)]
lines = runner["run_all"](tests, 2, False)
print("---")
print("\\n".join(lines))
print(*(calls.count(each) for each in ("late", "right", "wrong", "never", "worse")))
"""


@test("Integration tests: a run that says nothing is told and done once more, one that fails is not")
def again(t):
    done = run([sys.executable, "-c", RUNS, os.path.join(HERE, "run"), t.folder], cwd=t.folder)
    expect(done.returncode == 0, tail(done.stderr))
    told, _, lines = done.stdout.partition("---\n")
    *results, calls = lines.splitlines()
    expect([line[:5] for line in results] == ["ok   ", "ok   ", "FAIL ", "FAIL ", "FAIL "], f"{results}")
    expect(calls == "2 1 1 2 2", f"runs of each: {calls}")
    expect([line for line in told.splitlines() if line.startswith("again")] != [] and "too slow" in told, told)
