# SPDX-License-Identifier: Apache-2.0
"""Virtual threads, on a JDK that has them (scripts/test --jdk 21 or 25)."""

from judge.world import add, analyze_json, expect, jdk_release, run_traced, verified
from suites.exactness import exact

CARRIES = "(carries virtual threads)"


def told_by_their_carriers(mode):
    def body(t):
        trace, _ = run_traced(
            t, "VirtualThreads", flags=("-Xmx256m",), options=f",mode={mode}", judged=False
        )
        verified(trace)
        threads = analyze_json("sites", trace, "--group-by", "thread", "--top", "0")["sites"]
        names = [row["thread"] for row in threads]
        expect(len(names) < 50, f"{len(names)} threads are told, 6000 virtual ones ran: {names}")
        carried = sum(row["bytes"] for row in threads if CARRIES in row["thread"])
        total = sum(row["bytes"] for row in threads)
        expect(carried > total / 2, f"virtual threads have {carried} of {total} bytes: {names}")

    return body


if jdk_release() >= 21:
    exact("for thousands of virtual threads whose stacks lie in the heap", "VirtualThreads")
    for each in ("full", "sample"):
        add(f"Virtual threads are told by their carriers, mode={each}", told_by_their_carriers(each))
