#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests that Meson knows and prints one line a test case, then `N passed, N failed, N skipped`.

    tests/run_unit.py BUILD_FOLDER [WORD...]     BUILD_FOLDER: such as build/meson

WORD keeps the programs whose name contains one of the words, and of the other test programs the cases whose
name does. Test programs (NAME_test) are doctest programs: their cases are listed and counted one by one. A
program that crashes or does not end counts as one failure more, and the case it was in is named. Of any other
program, such as one that Meson gives arguments, the exit code counts: 0 passed, 77 skipped. A program has ten
times its time-out in Meson, as machines are busy; then it is killed with all it started.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "sanitizers"))

import sanitizers  # noqa: E402

SKIPPED = 77
PATIENCE = 10
TAIL = 6000  # characters of a failed program's output that are shown


class Run:
    """A program that has ended: its exit code (None: it was killed, as it did not end) and its output."""

    def __init__(self, command, env, seconds):
        # Files, not pipes: what it has started may live on and keep a pipe open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, start_new_session=True
            )
            try:
                self.code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.code = None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            self.stdout, self.stderr = (self._text(file) for file in (out, err))

    @staticmethod
    def _text(file):
        file.seek(0)
        return file.read().decode(errors="replace")

    def how(self):
        """How it ended, as words after the program's name."""
        if self.code is None:
            return "did not end and was killed"
        return (
            f"was killed by {signal.Signals(-self.code).name}" if self.code < 0 else f"ended with {self.code}"
        )


def cases_of(text):
    """([(name, passed, element)], the case that has no end or None) of doctest's XML, which may break off;
    None: it is no XML of doctest's."""
    start = text.find("<?xml")
    if start < 0 or "<doctest" not in text:
        return None
    parser = xml.XMLPullParser(("start", "end"))
    cases, current = [], None
    try:
        parser.feed(text[start:])
        for event, element in parser.read_events():
            if element.tag != "TestCase":
                continue
            current = element.get("name") if event == "start" else None
            result = element.find("OverallResultsAsserts")
            if event == "end" and result is not None and element.get("skipped") != "true":
                cases.append((element.get("name"), result.get("test_case_success") == "true", element))
    except xml.ParseError:
        pass
    return cases, current


def indented(text):
    return re.sub("^", "      ", text.strip(), flags=re.M)


def describe_failure(case):
    for failure in case.iter("Expression"):
        if failure.get("success") == "false":
            original, expanded = (
                failure.findtext("Original", "").strip(),
                failure.findtext("Expanded", "").strip(),
            )
            print(f"      {failure.get('filename')}:{failure.get('line')}: {original} ({expanded})")
    for exception in case.iter("Exception"):
        print(f"      exception: {(exception.text or '').strip()}")


def arguments(test, words):
    """What the program is given beside Meson's own arguments; None: no word asks for it."""
    doctest = [] if len(test["cmd"]) > 1 else ["--reporters=xml", "--no-intro=true"]
    if not words or any(word in test["name"] or word in str(test["cmd"]) for word in words):
        return doctest
    if not doctest or not test["cmd"][0].endswith("_test"):
        return None
    return doctest + ["--test-case=" + ",".join("*" + word.replace(",", "\\,") + "*" for word in words)]


def run_test(test, extra, counts):
    name = test["name"]
    run = Run(
        test["cmd"] + extra,
        {**os.environ, **test.get("env", {})},
        test.get("timeout", 30) * PATIENCE,
    )
    reports = sanitizers.new_reports()
    if reports:
        counts["failed"] += 1
        print(f"FAIL  {name}: a sanitizer reports\n{indented(reports)}")
    found = cases_of(run.stdout)
    if not found:
        result = {0: "passed", SKIPPED: "skipped"}.get(run.code, "failed")
        counts[result] += 1
        print(
            {"passed": "ok    ", "skipped": "skip  ", "failed": "FAIL  "}[result]
            + name
            + ("" if result == "passed" else " " + run.how())
        )
        if result == "failed":
            print(indented((run.stdout + run.stderr)[-TAIL:]), flush=True)
        return
    cases, current = found
    for case, passed, element in cases:
        counts["passed" if passed else "failed"] += 1
        print(f"{'ok  ' if passed else 'FAIL'}  {name}: {case}")
        if not passed:
            describe_failure(element)
    # doctest's own exit code is 1 when a case failed, which is counted already.
    if current is not None or run.code != (0 if all(passed for _, passed, _ in cases) else 1):
        counts["failed"] += 1
        last = f" in the case: {current}" if current else f" after the case: {cases[-1][0]}" if cases else ""
        print(f"FAIL  {name} {run.how()}{last}\n{indented(run.stderr[-TAIL:])}")
    sys.stdout.flush()


def usage():
    print(__doc__)
    return 0 if sys.argv[1:2] == ["--help"] else 2


def main(folder, words):
    listed = subprocess.run(["meson", "introspect", folder, "--tests"], capture_output=True, text=True)
    tests = json.loads(listed.stdout if listed.returncode == 0 else "[]")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    sanitizers.prepare()
    if not tests:
        print(f"FAIL  no unit tests found in {folder}\n{listed.stderr}")
        counts["failed"] += 1
    for test in tests:
        extra = arguments(test, words)
        if extra is not None:
            run_test(test, extra, counts)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return 0 if counts["failed"] == 0 else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what runs ends with us
    asks = len(sys.argv) < 2 or sys.argv[1] == "--help"
    sys.exit(usage() if asks else main(sys.argv[1], sys.argv[2:]))
