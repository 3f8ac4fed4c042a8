# SPDX-License-Identifier: Apache-2.0
"""The interface of the patched VM, asked directly (vmpatch/abi/anttracks_abi.h); sites beside a heap walk."""

import math
import os

from judge.world import (
    ASK_SITES,
    ROOT,
    add,
    analyze_json,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
    tail,
    test,
    verified,
)


def sites_of_headers(collector, chosen, more=()):
    """chosen: the flags that the test's name has; more: others."""

    def body(t):
        flags = (f"-XX:+Use{collector}GC", "-Xmx64m", "-Xint", "-Dnative.ask_sites=" + ASK_SITES)
        flags = (*flags, *more, *chosen)
        done = run(java_command("AskSites", (), flags), cwd=t.folder)
        expect(
            done.returncode == 0 and done.stdout == "ok\n",
            f"java ended with {done.returncode}\n{tail(done.stdout)}\n{tail(done.stderr, 20)}",
        )

    where = f"With {collector}" + "".join(f" and {flag}" for flag in chosen)
    add(f"{where} any thread may ask for the site of an object, whatever its header holds", body)


# Other schemes than ash do not go with the compact headers that scripts/test --sites compact brings.
PLAIN_HEADERS = ("-XX:-UseCompactObjectHeaders",) if jdk_release() >= 25 else ()
for name in ("Parallel", "Serial", "G1"):
    sites_of_headers(name, ())
    for where in ("hash", "ash"):
        sites_of_headers(name, (f"-XX:AntTracksSites={where}",), PLAIN_HEADERS)


def _line(program):
    """Where the program's source says that objects are brought back."""
    with open(os.path.join(ROOT, "tests", "integration", "java", program + ".java"), encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if "// brought back" in text)


@test("An object that a heap walk of another thread brings back has the site of the frame it comes back to")
def brought_back(t):
    flags = ("-XX:+UseParallelGC", "-Xmx64m", "-Xbatch", "-XX:-TieredCompilation")
    methods = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,BroughtBack.pause")
    trace, _ = run_traced(t, "BroughtBack", (), (*flags, *methods, "-Dnative.ask_sites=" + ASK_SITES))
    verified(trace)
    rows = analyze_json("sites", trace, "--tiers", "--top", "0")["sites"]
    found = {(row["site"], row["tier"]): row["objects"] for row in rows if row["class"] == "BroughtBack$Point"}
    line = _line("BroughtBack")
    expect(found.get((f"BroughtBack.hold(BroughtBack.java:{line})", "C2")), f"not brought back: {found}")
    expect(all(site.startswith("BroughtBack.hold(") for site, _ in found), f"{found}")


@test("Objects that a thread's own heap walk brings back have the site and the call stack of their frames")
def brought_back_below(t):
    flags = ("-XX:+UseParallelGC", "-Xmx64m", "-Xbatch", "-XX:-TieredCompilation")
    methods = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,BroughtBackBelow.*")
    trace, _ = run_traced(
        t, "BroughtBackBelow", (), (*flags, *methods, "-Dnative.ask_sites=" + ASK_SITES), ",stacks=4K"
    )
    verified(trace)
    site = f"BroughtBackBelow.descend(BroughtBackBelow.java:{_line('BroughtBackBelow')})"
    chosen = ("--where", "class=BroughtBackBelow$Numbers", "--where", f"site={site}", "--where", "tier=C2")
    rows = analyze_json("sites", trace, *chosen, "--top", "0")["sites"]
    objects = sum(row["objects"] for row in rows)
    expect(objects > 900, f"{objects} of 1,000, or twice as many, were brought back: {rows}")
    tree = analyze_json("tree", trace, *chosen)
    expected = objects * 496 / 4096
    wrong = abs(tree["stacks"] - expected) > 5 * math.sqrt(expected)
    expect(not wrong, f"{tree['stacks']} stacks of {objects} objects, not {expected:.0f}")
    calls = {row["call"] for row in tree["calls"]}
    expect(not any("bottom" in call or "walkFromRoots" in call for call in calls), f"{calls}")
