# SPDX-License-Identifier: Apache-2.0
"""What the tests of rotated traces share: the files of a trace, their size at every moment,
a program to act upon."""

import os
import re
import subprocess
import threading
import time

from .world import TIMEOUT, Failure, analyze_json, expect, java_command, run, tail

EMERGENCY = re.compile(r"Pause Young (?:\(Normal\) )?\(JvmtiEnv ForceGarbageCollection\) .*->")


def data_files(trace):
    """{file index: path}, ascending."""
    folder, name = os.path.split(trace)
    found = {
        int(m[1]): os.path.join(folder, m[0])
        for m in (re.fullmatch(re.escape(name) + r"\.(\d+)", entry) for entry in os.listdir(folder))
        if m
    }
    return dict(sorted(found.items()))


def total_bytes(trace):
    """The size of all files whose name begins with the trace's, while the agent goes on.

    Never more than the true size at some moment between begin and end: what may still grow (symbols, the newest
    file) is looked at first, older files can only vanish until they are reached."""
    folder, name = os.path.split(trace)
    numbers = {}
    for entry in os.listdir(folder):
        if entry.startswith(name):
            number = entry[len(name) + 1 :]
            numbers[entry] = int(number) if number.isdecimal() else float("inf")
    total = 0
    for entry in sorted(numbers, key=numbers.get, reverse=True):
        try:
            total += os.stat(os.path.join(folder, entry)).st_size
        except FileNotFoundError:
            pass
    return total


class SizeWatch:
    """Adds up the files of a trace every two milliseconds from its start to its end (a context manager)."""

    def __init__(self, trace, limit):
        self.trace, self.limit = trace, limit
        self.samples = self.most = self.most_files = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        self._ended.set()
        self._thread.join()
        self._sample()
        if kind is None:
            self.check()

    def _sample(self):
        self.most = max(self.most, total_bytes(self.trace))
        self.most_files = max(self.most_files, len(data_files(self.trace)))
        self.samples += 1

    def _watch(self):
        while not self._ended.wait(0.002):
            self._sample()

    def check(self):
        expect(self.samples > 20, f"only {self.samples} samples of the size")
        expect(self.most <= self.limit, f"the files were {self.most} bytes together, the bound is {self.limit}")
        expect(self.most > 0, "no file was seen")


class Running:
    """A traced program that runs while the test does something to it;
    a context manager that ends it at the latest.

    before: words of a command in front of java's."""

    def __init__(self, test, trace, main, arguments, flags, options, before=()):
        self.trace = trace
        self._out, self._err = test.path("stdout"), test.path("stderr")
        command = [*before, *java_command(main, arguments, flags, f"file={trace},{options}")]
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=test.folder
            )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def wait_for_file(self, index, pause=0.001):
        """Until there is a data file with that index or a higher one; returns the newest index."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            files = data_files(self.trace)
            if files and max(files) >= index:
                return max(files)
            expect(
                self.process.poll() is None,
                f"the program ended with {self.process.returncode} before file {index}: "
                f"{tail(self.stderr())}",
            )
            time.sleep(pause)
        raise Failure(f"no data file {index} after a minute: {list(data_files(self.trace))}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def finish(self):
        """The exit code, when the program has ended by itself."""
        try:
            return self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired as e:
            raise Failure(f"no end after {TIMEOUT} s") from e

    def stdout(self):
        return _text(self._out)

    def stderr(self):
        return _text(self._err)


def _text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def emergencies(log):
    """Young collections that the agent asked for, by the JVM's own log."""
    return len(EMERGENCY.findall(_text(log)))


def young_collections(log):
    return len(re.findall(r"Pause Young .*->", _text(log)))


def check_known_stays_known(trace):
    """Once the heap is complete, it is after every later collection; returns how many those are."""
    exact = [gc["exact"] for gc in analyze_json("gcs", trace)["gcs"]]
    expect(exact == sorted(exact), f"the heap was known, then no more: {exact}")
    return sum(exact)


def check_quality(trace):
    """Every live object has class, size and site, wherever the heap is known."""
    rows = [row for row in analyze_json("quality", trace)["rows"] if row["known"]]
    expect(rows, "the heap is known nowhere")
    for row in rows:
        for what in ("with_class", "with_size", "with_site"):
            expect(row[what] == row["objects"] > 0, f"{what}: {row[what]} of {row['objects']} objects in {row}")


def plain_output(main, arguments, flags):
    """Exit code and stdout without the agent."""
    done = run(java_command(main, arguments, flags))
    return done.returncode, done.stdout
