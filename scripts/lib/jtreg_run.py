# SPDX-License-Identifier: Apache-2.0
"""Runs OpenJDK's jtreg tests on a JDK, with or without the agent in every JVM, and judges the traces.

Folders, all below the one given: tests/ (of the JDK's source), CONFIGURATION/ (jtreg's work,
traces that are wrong)."""

import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import jtreg_list

HOTSPOT = "test/hotspot/jtreg"
WANTED = (
    HOTSPOT,
    "test/lib",
    "test/jtreg-ext",
    "test/jdk/lib",
    "test/jdk/jdk/jfr",
)  # the last two: libraries of some tests
# What the agent refuses to trace is sampled instead.
SAMPLED = (
    "-XX:+UseZGC",
    "-XX:+UseShenandoahGC",
    "-XX:+UseEpsilonGC",
    "-XX:+UseBiasedLocking",
    "-XX:-UseTLAB",
    "-XX:+EnableJVMCI",
    "-XX:+UseNUMA",
    "-XX:+UseCompactObjectHeaders",
)
JAVA = """#!/bin/sh
# The JDK's java with the agent. Every JVM of a test comes by here, and neither environment nor output shows it.
mode=full
for argument in "$@"; do
  case $argument in
    -Xshare:dump|-XX:ArchiveClassesAtExit=*) exec {java} "$@" ;;  # HotSpot dumps no archive with a native agent
    {sampled}) mode=sample ;;
  esac
done
exec {java} "-agentpath:{agent}=mode=$mode,overwrite=yes,file={traces}/%p.trace" "$@"
"""
JAVA_WITH = """#!/bin/sh
# The JDK's java with flags of its own.
exec {java} {flags} "$@"
"""


class Failed(Exception):
    pass


def clean_environment():
    return {
        k: v
        for k, v in os.environ.items()
        if not k.endswith("JAVA_OPTIONS") and k not in ("JAVA_TOOL_OPTIONS", "CLASSPATH", "ANTTRACKS_JDK_HOME")
    }


def tests_of(source, folder):
    """The folder test/ of a JDK's source, unpacked once when that is a tarball."""
    if os.path.isdir(source):
        return os.path.join(source, HOTSPOT)
    identity = f"{os.path.realpath(source)} {os.path.getsize(source)} {' '.join(WANTED)}\n"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "from"), "a+", encoding="utf-8") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        if stamp.read() != identity:
            stamp.truncate(0)
            shutil.rmtree(os.path.join(folder, "test"), ignore_errors=True)
            done = subprocess.run(
                [
                    "tar",
                    "-C",
                    folder,
                    "--strip-components=1",
                    "--wildcards",
                    "-xf",
                    source,
                    *("*/" + path for path in WANTED),
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                raise Failed(f"cannot unpack the tests of {source}: {done.stderr.strip()}")
            accept_any_jtreg(os.path.join(folder, HOTSPOT, "TEST.ROOT"))
            stamp.write(identity)
    return os.path.join(folder, HOTSPOT)


def accept_any_jtreg(path):
    """A suite asks for the newest jtreg of its time. The packaged one runs the listed tests of later ones."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^requiredVersion=", "#requiredVersion=", text, flags=re.M))


def release_of(jdk):
    """Of a JDK's home, such as 17."""
    try:
        with open(os.path.join(jdk, "release"), encoding="utf-8") as file:
            return re.search(r'^JAVA_VERSION="(\d+)', file.read(), re.M)[1]
    except (OSError, TypeError):
        raise Failed(f"{jdk}/release does not say what release this JDK is") from None


def those_in(tests, plan):
    """(the plan without the tests that this release does not have, these). tests: folder of HotSpot's tests."""
    there = {
        collector: [test for test in chosen if os.path.exists(os.path.join(tests, test))]
        for collector, chosen in plan.items()
    }
    absent = {test for collector, chosen in plan.items() for test in chosen if test not in there[collector]}
    return {collector: chosen for collector, chosen in there.items() if chosen}, sorted(absent)


def linked_jdk(jdk, folder, java):
    """A JDK of links whose java is a script of that text."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "bin"))
    for where in ("", "bin"):
        for name in os.listdir(os.path.join(jdk, where)):
            if os.path.join(where, name) not in ("bin", "bin/java"):
                os.symlink(os.path.join(jdk, where, name), os.path.join(folder, where, name))
    path = os.path.join(folder, "bin", "java")
    with open(path, "w", encoding="utf-8") as file:
        file.write(java)
    os.chmod(path, 0o755)
    return folder


def traced_jdk(jdk, agent, folder, traces):
    """Its java starts that of the JDK with the agent."""
    java = os.path.join(jdk, "bin", "java")
    return linked_jdk(
        jdk, folder, JAVA.format(sampled="|".join(SAMPLED), java=java, agent=agent, traces=traces)
    )


def jdk_with(jdk, flags, folder):
    """Its java starts that of the JDK with these flags."""
    return linked_jdk(jdk, folder, JAVA_WITH.format(java=os.path.join(jdk, "bin", "java"), flags=flags))


class Traces:
    """Verifies each trace when its JVM has ended, and deletes it; one that is wrong is kept in `bad`.
    A thread of its own."""

    def __init__(self, analyzer, folder, bad):
        self.analyzer, self.folder, self.bad = analyzer, folder, bad
        self.counts = {"verified": 0, "killed": 0, "exited": 0, "empty": 0, "bytes": 0, "largest": 0}
        self.wrong = []
        for path in (folder, bad):
            os.makedirs(path, exist_ok=True)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._sweep()

    def _work(self):
        while not self._stop.wait(1):
            self._sweep()

    def _sweep(self):
        for path in glob.glob(os.path.join(self.folder, "*.trace")):
            if not os.path.exists("/proc/" + os.path.basename(path).split(".")[0]):
                self._judge(path)

    @staticmethod
    def _only_exited(report):
        """Whether nothing is wrong but that the process ended without its JVM,
        as -XX:+ExitOnOutOfMemoryError makes it: the trace says so."""
        try:
            report = json.loads(report)
        except ValueError:
            return False
        return report["errors"] == 1 and report["first"][0]["text"].startswith(
            "0 segments with 0 bytes lost: the process exited without the end"
        )

    def _judge(self, path):
        size = os.path.getsize(path)
        done = subprocess.run(
            [self.analyzer, "verify", "--json", path], capture_output=True, text=True, errors="replace"
        )
        # A JVM that aborts while it starts leaves no more than the header.
        if size <= 64:
            self.counts["empty"] += 1
        elif done.returncode == 0 or self._only_exited(done.stdout):
            self.counts["exited"] += done.returncode != 0
            self.counts["verified"] += 1
            self.counts["killed"] += not json.loads(done.stdout)["ended_cleanly"]
        else:
            kept = os.path.join(self.bad, os.path.basename(path))
            shutil.move(path, kept)
            self.wrong.append({"trace": kept, "said": (done.stdout + done.stderr)[-2000:]})
            return
        self.counts["bytes"] += size
        self.counts["largest"] = max(self.counts["largest"], size)
        os.remove(path)


RESULT = re.compile(r"^(?:execStatus|elapsed|id|\$file|\$root)=.*$", re.M)


def parse(path):
    """(test, {result, seconds, detail}) of a .jtr file; None when the test did not come to an end."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(200_000)
    fields = dict(line.split("=", 1) for line in reversed(RESULT.findall(text)))
    if "execStatus" not in fields:
        return None
    test = os.path.relpath(fields["$file"], fields["$root"]) + ("#" + fields["id"] if "id" in fields else "")
    status, _, detail = fields["execStatus"].replace("\\", "").partition(".")
    detail = detail.strip()
    result = {"Passed": "passed", "Failed": "failed", "Error": "error", "Not run": "not run"}.get(
        status, status
    )
    if result == "passed" and re.search(r"Skipped", detail):
        result = "skipped"
    return test, {
        "result": result,
        "seconds": int(fields.get("elapsed", "0").split()[0]) / 1000,
        "detail": "" if result == "passed" else detail[:300],
    }


class Runner:
    """Runs jtreg on one JDK. `root` is the folder of HotSpot's tests, `java` what jtreg itself runs on."""

    def __init__(self, root, jdk, java, folder, factor, jobs):
        self.root, self.jdk, self.java, self.folder, self.factor, self.jobs = (
            root,
            jdk,
            java,
            folder,
            factor,
            jobs,
        )

    def command(self, collector, tests, work, excluded):
        jtreg = shutil.which("jtreg") or "/usr/share/jtreg/bin/jtreg"
        flag = jtreg_list.COLLECTORS[collector]
        return [
            jtreg,
            f"-jdk:{self.jdk}",
            "-agentvm",
            f"-conc:{self.jobs}",
            f"-timeoutFactor:{self.factor}",
            "-ignore:quiet",
            "-a",
            "-k:!stress",
            f"-exclude:{os.path.join(self.root, 'ProblemList.txt')}",
            f"-exclude:{excluded}",
            f"-w:{work}",
            "-nr",
            "-verbose:summary",
            *([f"-vmoptions:{flag}"] if flag else []),
            *(os.path.join(self.root, test) for test in tests),
        ]

    def results(self, collector):
        """What came to an end until now: {test: entry}."""
        found = (
            parse(path)
            for path in glob.glob(os.path.join(self.folder, collector, "**", "*.jtr"), recursive=True)
        )
        return {test: entry for test, entry in filter(None, found)}

    def run(self, collector, tests, said):
        """{test: entry} of the tests with a collector; `said` gets each line of jtreg. Raises Failed when
        nothing ran, unless no test is meant for this collector."""
        work = os.path.join(self.folder, collector)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        excluded = os.path.join(self.folder, "excluded")
        with open(excluded, "w", encoding="utf-8") as file:
            file.write("".join(f"{test} 0 generic-all\n" for test in jtreg_list.excluded(release_of(self.jdk))))
        environment = clean_environment() | {"JT_JAVA": self.java}
        process = subprocess.Popen(
            self.command(collector, tests, work, excluded),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=self.folder,
            start_new_session=True,
        )
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                said(line.rstrip())
            process.wait()
        finally:
            if process.poll() is None:  # interrupted: JVMs of tests are in its group
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        results = self.results(collector)
        if not results and not re.search("no tests selected|did not meet", "".join(lines)):
            raise Failed("jtreg ran no test:\n" + "".join(lines[-20:]))
        return results


def describe(jdk):
    """The line of `java -version` that names the VM."""
    done = subprocess.run(
        [os.path.join(jdk, "bin", "java"), "-version"], capture_output=True, text=True, env=clean_environment()
    )
    if done.returncode != 0 or len(done.stderr.splitlines()) < 3:
        raise Failed(f"{jdk}/bin/java does not run")
    return done.stderr.splitlines()[2].strip()


def now():
    return time.strftime("%Y-%m-%d", time.localtime())
