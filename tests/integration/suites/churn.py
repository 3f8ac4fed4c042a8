# SPDX-License-Identifier: Apache-2.0
"""Classes that come and go: what the agent knows of them goes with them."""

from judge.world import analyze_json, expect, run_traced, add, verified

MB = 1 << 20


def churn(collector):
    def body(t):
        rounds, classes = 20, 400
        trace, done = run_traced(
            t, "Churn", (rounds, classes), (f"-XX:+Use{collector}GC", "-Xmx64m"), judged=False
        )
        expect(
            done.stdout == f"made {rounds * classes * 2}\n" and done.stderr == "",
            f"{done.stdout!r} {done.stderr!r}",
        )
        counters = analyze_json("info", trace)["counters"]
        made = rounds * classes * 2
        # A class and that of its arrays, a pair with a site for each.
        expect(counters["classes"] > 2 * made and counters["site_classes"] > 2 * made, f"counters: {counters}")
        expect(
            counters["live_site_classes"] < counters["site_classes"] / 4,
            f"{counters['live_site_classes']} of {counters['site_classes']} pairs are left",
        )
        # Where nothing is freed the table of so many pairs alone has that much.
        expect(
            counters["table_bytes"] < 3 * MB // 2,
            f"the agent's tables have {counters['table_bytes']} bytes: {counters}",
        )
        verified(trace)

    add(f"The agent's tables do not grow with classes that come and go ({collector})", body)


for each in ("Parallel", "Serial", "G1"):
    churn(each)
