# SPDX-License-Identifier: Apache-2.0
"""Allocated bytes per thread equal ThreadMXBean.getThreadAllocatedBytes."""

import re

from judge.world import add, analyze_json, expect, run_traced, verified


def same_bytes(name, flags, collector="Parallel"):
    def body(test):
        trace, done = run_traced(test, "ThreadBytes", flags=(f"-XX:+Use{collector}GC", "-Xmx64m", *flags))
        verified(trace)
        jvm = {
            int(m[1]): (int(m[2]), m[3]) for m in re.finditer(r"^thread (\d+) (\d+) (.+)$", done.stdout, re.M)
        }
        expect(len(jvm) == 6, f"the program printed {done.stdout!r}")
        traced = {
            row["java_id"]: (row["bytes"], row["name"]) for row in analyze_json("threads", trace)["threads"]
        }
        for java_id, expected in jvm.items():
            expect(
                traced.get(java_id) == expected,
                f"thread {java_id}: traced {traced.get(java_id)}, JVM {expected}",
            )

    add("Allocated bytes per thread are the JVM's own " + name, body)


same_bytes("with the default compilers", ())
same_bytes("in the interpreter", ("-Xint",))
same_bytes("with tiny TLABs", ("-XX:TLABSize=2k", "-XX:-ResizeTLAB"))
same_bytes("with Serial", (), "Serial")
same_bytes("with G1", (), "G1")
