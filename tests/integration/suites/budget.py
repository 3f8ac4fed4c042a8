# SPDX-License-Identifier: Apache-2.0
"""Where only a share of what is allocated is read, the live heap is exact all the same."""

from judge.exact import judge
from judge.world import add, analyze_json, expect, run_traced
from suites.exactness import ATTEMPTS, COLLECTORS, says

SHARES = ("0.5", "0.125", "0.015625")


def exact(name, main, arguments=(), flags=("-Xmx64m",), collectors=COLLECTORS, shares=SHARES, log_says=None):
    """log_says: what the GC log must say for the test to have tested something."""
    for collector in collectors:
        for share in shares:
            _exact(f"With {collector} and a share of {share} the rebuilt heap is exact {name}", collector, share, main, arguments, flags,
                   log_says)


def _exact(name, collector, share, main, arguments, flags, log_says):
    def body(test):
        log = test.path("gc.log")
        all_flags = [f"-XX:+Use{collector}GC", *flags, f"-Xlog:gc*:file={log}"]
        for _ in range(ATTEMPTS):
            test.clear()
            trace, _ = run_traced(test, main, arguments, all_flags, f",share={share}")
            counters = analyze_json("info", trace)["counters"]
            expect(counters["skipped_bytes"] > 0 or share == "0.5", f"nothing was skipped: {counters}")
            only_full = counters["moves"] == 0  # those read what was skipped
            expect(counters["found_objects"] > 0 or only_full or share == "0.5", f"nothing was found by a collection: {counters}")
            expect(judge(test.folder, trace) > 0, "nothing was judged")
            if not log_says or says(log, log_says):
                return
        expect(False, f"in {ATTEMPTS} runs the GC log does not say {log_says!r}: the test tests nothing")
    add(name, body)


exact("for one thread that makes a bit of everything", "Mix")
exact("for eight allocating threads with short ones beside them", "Threads", shares=("0.125",))
exact("for arrays of all types and lengths, large ones too", "Arrays2", flags=("-Xmx160m",), shares=("0.125",))
exact("for objects locked and hashed while the collector runs", "Locks", shares=("0.125",))
exact("for thousands of class mirrors", "Mirrors", shares=("0.015625",))
exact("when classes are unloaded by the hundred", "Unloading", shares=("0.015625",))
exact("when promotion fails", "PromotionFailure", (4, 500_000), ("-Xms64m", "-Xmx64m", "-Xmn24m"),
      log_says="Promotion failed", collectors=("Parallel", "Serial"), shares=("0.125",))
exact("when objects cannot be evacuated", "PromotionFailure", (20, 300_000), ("-Xms64m", "-Xmx64m", "-Xmn24m"),
      log_says="To-space exhausted", collectors=("G1",), shares=("0.125",))
exact("without compressed class pointers", "Mix", (150_000,), ("-Xmx96m", "-XX:-UseCompressedClassPointers"), shares=("0.125",))
exact("with objects aligned to 16 bytes", "Mix", (150_000,), ("-Xmx96m", "-XX:ObjectAlignmentInBytes=16"), shares=("0.125",))
