#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests that Meson knows and prints one line a test case, then `N passed, N failed`.

    run_unit.py BUILD_FOLDER [WORD...]

Test programs are doctest programs: their cases are listed and counted one by one. A program that
crashes counts as one failure more.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml


def run_doctest(program, env, timeout):
    done = subprocess.run(program + ["--reporters=xml", "--no-intro=true"], capture_output=True, text=True,
                          timeout=timeout, env=env, errors="replace")
    cases = []
    try:
        root = xml.fromstring(done.stdout[done.stdout.index("<"):])
    except (ValueError, xml.ParseError):
        return None, done
    for case in root.iter("TestCase"):
        result = case.find("OverallResultsAsserts")
        if case.get("skipped") == "true" or result is None:
            continue
        cases.append((case.get("name"), result.get("test_case_success") == "true", case))
    return cases, done


def describe_failure(case):
    for failure in case.iter("Expression"):
        if failure.get("success") == "false":
            original, expanded = failure.findtext("Original", "").strip(), failure.findtext("Expanded", "").strip()
            print(f"      {failure.get('filename')}:{failure.get('line')}: {original} ({expanded})")
    for exception in case.iter("Exception"):
        print(f"      exception: {(exception.text or '').strip()}")


def main(folder, words):
    listed = subprocess.run(["meson", "introspect", folder, "--tests"], capture_output=True, text=True)
    tests = json.loads(listed.stdout or "[]")
    passed = failed = 0
    for test in tests:
        env = {**os.environ, **test.get("env", {})}
        if not any(word in test["name"] for word in words) and words and \
                not any(word in str(test["cmd"]) for word in words):
            continue
        try:
            cases, done = run_doctest(test["cmd"], env, max(test.get("timeout", 30), 30) * 10)
        except subprocess.TimeoutExpired:
            print(f"FAIL  {test['name']} (timed out)")
            failed += 1
            continue
        if cases is None:
            ok = done.returncode == 0
            print(f"{'ok  ' if ok else 'FAIL'}  {test['name']}")
            if not ok:
                print(re.sub("^", "      ", (done.stdout + done.stderr)[-3000:], flags=re.M))
            passed, failed = passed + ok, failed + (not ok)
            continue
        for name, ok, case in cases:
            print(f"{'ok  ' if ok else 'FAIL'}  {test['name']}: {name}")
            if not ok:
                describe_failure(case)
            passed, failed = passed + ok, failed + (not ok)
        if done.returncode != 0 and all(ok for _, ok, _ in cases):
            print(f"FAIL  {test['name']} ended with {done.returncode}\n{done.stderr[-2000:]}")
            failed += 1
    if not tests:
        print(f"FAIL  no unit tests found in {folder}\n{listed.stderr}")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
