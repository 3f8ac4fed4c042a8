# SPDX-License-Identifier: Apache-2.0
"""Tests of a build with sanitizers: where it is, how a JVM starts that loads its agent,
and what the sanitizers reported.

scripts/test --sanitize sets ANTTRACKS_SANITIZE to the kinds. Every process writes what it reports into a file
of its own in the folder REPORTS; whoever runs a test looks there after it, as a report need not change an exit
code.
"""

import os
import shutil
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
BUILDS = {"address,undefined": "meson-asan", "thread": "meson-tsan"}
KINDS = os.environ.get("ANTTRACKS_SANITIZE", "")
if KINDS and KINDS not in BUILDS:
    raise SystemExit(f"ANTTRACKS_SANITIZE is {' or '.join(BUILDS)}, not {KINDS!r}")
FOLDER = os.path.join(ROOT, "build", BUILDS.get(KINDS, "meson"))
REPORTS = os.path.join(FOLDER, "reports")
SHOWN = 6000  # characters of a report

# The JVM's signals are its own: it finds null pointers, safepoints and full stacks by them.
SIGNALS = (
    ":".join(f"handle_{name}=0" for name in ("segv", "sigbus", "sigfpe", "sigill", "abort"))
    + ":use_sigaltstack=0"
)
# ThreadSanitizer would take what libjvm copies for accesses of code that it knows;
# its locks count all the same.
OTHERS = ":ignore_noninstrumented_modules=1"
SUPPRESSIONS = "suppressions=" + os.path.join(ROOT, "tests", "sanitizers", "tsan.supp")


def _options(more=""):
    common = f"log_path={REPORTS}/report:print_stacktrace=1:exitcode=99"
    if KINDS == "thread":
        return {
            "TSAN_OPTIONS": ":".join(
                filter(None, (common, SUPPRESSIONS, "history_size=5:second_deadlock_stack=1", more))
            )
        }
    return {
        "ASAN_OPTIONS": ":".join(
            filter(None, (common, "detect_leaks=1:detect_stack_use_after_return=1", more))
        ),
        "UBSAN_OPTIONS": common,
    }


def prepare():
    """For programs of our own, which start with the sanitizers in them."""
    if KINDS:
        shutil.rmtree(REPORTS, ignore_errors=True)
        os.makedirs(REPORTS)
        os.environ.update(_options())


def _library(name):
    return subprocess.run(
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def jvm_words():
    """Words in front of a java's: the sanitizers must be there before the agent is.
    A JVM frees little at its end: no leaks are told."""
    if not KINDS:
        return []
    name, more = (
        ("libtsan.so", SIGNALS + OTHERS) if KINDS == "thread" else ("libasan.so", SIGNALS + ":detect_leaks=0")
    )
    return ["env", "LD_PRELOAD=" + _library(name), *(f"{key}={value}" for key, value in _options(more).items())]


def new_reports():
    """What came up since the last call, or ""; its files are deleted."""
    found = []
    for name in sorted(os.listdir(REPORTS)) if KINDS and os.path.isdir(REPORTS) else ():
        path = os.path.join(REPORTS, name)
        with open(path, encoding="utf-8", errors="replace") as file:
            found.append(f"{name}:\n{file.read()[:SHOWN]}")
        os.remove(path)
    return "\n".join(found)
