# SPDX-License-Identifier: Apache-2.0
"""Real programs: what they compute is the same under the agent, and the trace of it has no error."""

import os
import re
import subprocess

import workloads
from judge.harness import prepare
from judge.world import AGENT, JDK, ROOT, add, expect, run, tail, test, verified

HARNESS = os.path.join(ROOT, "scripts", "harness")
QUICK = ("serial", "xml.transform", "javac")
SKIPPED = 77


def checksums(name, agent=None):
    done = run(workloads.start(name, JDK, "small", iterations=2, warmup=0, agent=agent))
    expect(
        done.returncode == 0,
        f"{name} ended with {done.returncode}\n{tail(done.stdout)}\n{tail(done.stderr, 30)}",
    )
    found = re.findall(r"^iteration \d+ [\d.]+ wall_ms \d+ gc_ms \d+ cpu_ms (\w{16})$", done.stdout, re.M)
    expect(len(found) == 2 and found[0] == found[1], f"{name} printed {done.stdout!r}")
    return found[0], done.stderr


def same_under_agent(name):
    def body(t):
        prepare(name)
        plain, plain_says = checksums(name)
        trace = t.path("trace")
        traced, traced_says = checksums(name, f"{AGENT}=file={trace}")
        expect(traced == plain, f"the checksum is {traced} under the agent, {plain} without")
        expect(
            traced_says == plain_says,
            f"stderr differs: {tail(traced_says)!r}, without the agent {tail(plain_says)!r}",
        )
        verified(trace)

    add(
        f"The workload {name} computes the same under the agent, and its trace has no error",
        body,
        slow=name not in QUICK,
    )


for workload in workloads.WORKLOADS:
    same_under_agent(workload)


@test("A workload whose package is missing is skipped, and the package is named")
def skipped(t):
    # The harness where one package's files are somewhere else.
    os.makedirs(t.path("scripts"))
    for what in ("scripts/harness", "scripts/lib"):
        subprocess.run(["cp", "-r", os.path.join(ROOT, what), t.path("scripts")], check=True)
    table = t.path("scripts/lib/workloads.py")
    with open(table, encoding="utf-8") as file:
        text = file.read()
    with open(table, "w", encoding="utf-8") as file:
        file.write(text.replace('jars("h2")', 'jars("h2", folder="/nonexistent/")'))
    done = run([t.path("scripts/harness"), "h2"])
    expect(
        done.returncode == SKIPPED and "libh2-java" in done.stderr and "--install" in done.stderr,
        f"{done.returncode}: {done.stdout}{done.stderr}",
    )
    listed = run([t.path("scripts/harness"), "--list"])
    expect(listed.returncode == 0 and "missing: libh2-java" in listed.stdout, listed.stdout)


@test("The harness names what is wrong with its command line")
def wrong(t):
    for arguments, word in (
        (("nothing",), "no workload nothing"),
        ((), "--list"),
        (("serial", "h2"), "one workload"),
        (("serial", "--size", "huge"), "small"),
        (("serial", "--java", "/nonexistent"), "/nonexistent/bin/java"),
        (("serial", "--frobnicate"), "--frobnicate"),
        (("serial", "--iterations", "-1"), "negative"),
    ):
        done = run([HARNESS, *arguments])
        expect(done.returncode == 2 and word in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
