# SPDX-License-Identifier: Apache-2.0
"""Every object's recorded site is the true method and line, in each tier."""

import os
import re

from judge.world import HERE, add, analyze_json, expect, run_traced, verified

# Made by library or native code below the marked line: what the innermost frame may be instead of the line
# itself.
_BELOW = {
    "copyOf": r"java\.util\.Arrays\.copyOf\(|java\.lang\.reflect\.Array\.new(Array|Instance)\(",
    "boxed": r"java\.lang\.Float\.valueOf\(",
    "clone": r"java\.lang\.Object\.clone\(",
}
_METHOD_OF = {
    "inner": "inner",
    "deep0": "deep0",
    "elements": "elements",
    "loopedArray": "looped",
    "looped": "looped",
    "first": "both",
    "secondOfTwo": "both",
    "copyOf": "copied",
    "boxed": "boxed",
    "clone": None,
}


def marked_lines():
    with open(os.path.join(HERE, "java", "Sites.java"), encoding="utf-8") as file:
        return {m[1]: number for number, line in enumerate(file, 1) if (m := re.search(r"// @(\w+)$", line))}


def place(lines, name):
    owner = "Sites$Sheep" if name == "clone" else "Sites"
    method = "clone" if name == "clone" else _METHOD_OF.get(name, name)
    return f"{owner}.{method}(Sites.java:{lines[name]})"


def is_below(row, name, here):
    """Library code allocates for the marked line; the chain of callers goes up to it as far as the tier
    inlined."""
    if name not in _BELOW or not re.match(_BELOW[name], row["site"]):
        return False
    above = [c for c in row["callers"] if not re.match(_BELOW[name], c)]
    return not above or above[0] == here


def check_class(rows, type_name, count, name, lines):
    here = place(lines, name)
    found = [row for row in rows if row["class"] == type_name]
    right = wrong = 0
    for row in found:
        if row["site"] == here or is_below(row, name, here):
            right += row["objects"]
        elif type_name.startswith("Sites") or "[]" not in type_name:
            wrong += row["objects"]
    if name in ("clone", "copyOf"):  # the one original
        wrong -= 1
    if name == "boxed":  # the zero of every wrapper type that sun.invoke.util.Wrapper's initializer boxes
        count += 1
    expect(
        right == count and wrong <= 0,
        f"{type_name}: {right} of {count} at {here}, {wrong} elsewhere:\n"
        + "\n".join(f"  {row['objects']} {row['tier']} {row['site']} <- {row['callers']}" for row in found[:8]),
    )


def check_inlined_chain(rows, lines):
    """Where C2 inlined a callee, the callers are the true ones."""
    chains = {tuple(row["callers"]) for row in rows if row["class"] == "Sites$DeepInlined" and row["callers"]}
    expect(chains, "no inlined callers were recorded")
    for chain in chains:
        expected = [place(lines, "deep1"), place(lines, "deep2")]
        expect(list(chain[:2]) == expected[: len(chain)], f"callers {chain}")
    callers = {row["callers"][0] for row in rows if row["class"] == "Sites$Inlined" and row["callers"]}
    expect(callers == {place(lines, "callerA"), place(lines, "callerB")}, f"callers of inner(): {callers}")


def true_sites(name, flags, tiers, rounds=15_000, inlined=False, collector="Parallel"):
    def body(test):
        trace, done = run_traced(
            test, "Sites", (rounds,), (f"-XX:+Use{collector}GC", "-Xmx256m", "-Xbatch", *flags)
        )
        verified(trace)
        lines = marked_lines()
        rows = analyze_json("sites", trace, "--tiers", "--callers", "--top", "0")["sites"]
        expected = re.findall(r"^expect (\S+) (\d+) (\w+)$", done.stdout, re.M)
        expect(len(expected) == 19, f"the program printed {done.stdout!r}")
        for type_name, count, marker in expected:
            check_class(rows, type_name, int(count), marker, lines)
        lambdas = sum(row["objects"] for row in rows if row["class"].startswith("Sites$$Lambda"))
        expect(lambdas == rounds, f"{lambdas} objects of the lambda, not {rounds}")
        seen = {row["tier"] for row in rows if row["class"] == "Sites$Plain"}
        expect(tiers <= seen <= tiers | {"interpreter"}, f"Sites$Plain was allocated by {seen}, not {tiers}")
        if inlined:
            check_inlined_chain(rows, lines)

    add("Every object's site is the true line " + name, body)


true_sites("in the interpreter", ("-Xint",), {"interpreter"}, rounds=3000)
true_sites("in C1", ("-XX:TieredStopAtLevel=1",), {"C1"}, inlined=True)
true_sites("in C2", ("-XX:-TieredCompilation",), {"C2"}, inlined=True)
true_sites("in C1 with profiling", ("-XX:TieredStopAtLevel=3",), {"C1"})
true_sites("in all tiers together", (), {"C1", "C2"}, rounds=40_000, inlined=True)
true_sites(
    "without compressed references", ("-XX:-UseCompressedOops", "-XX:-TieredCompilation"), {"C2"}, inlined=True
)
for collector in ("Serial", "G1"):
    true_sites(
        f"with {collector} in the interpreter", ("-Xint",), {"interpreter"}, rounds=3000, collector=collector
    )
    true_sites(
        f"with {collector} in all tiers together",
        (),
        {"C1", "C2"},
        rounds=40_000,
        inlined=True,
        collector=collector,
    )
