# SPDX-License-Identifier: Apache-2.0
"""Objects of sites that a trace lists are made in the old generation (-XX:AntTracksPretenure)."""

import os

from judge.exact import judge
from judge.world import (
    add,
    analyze,
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

TIERS = {
    "the interpreter": ("-Xint",),
    "C1": ("-XX:TieredStopAtLevel=1",),
    "C2": ("-XX:-TieredCompilation",),
    "all tiers": (),
}
KEPT = {"Keeper.entry": "Keeper$Entry", "Keeper.bytes": "byte[]"}  # what each makes
HEAP = ("-Xms160m", "-Xmx160m", "-Xmn12m")


def rows(trace):
    """Of objects that the trace saw born, by method and class."""
    return {(row["site"].split("(")[0], row["class"]): row for row in analyze_json("lifetimes", trace)["rows"]}


def copied(trace):
    """Bytes that collections copied."""
    return {key: row["copied"]["bytes"] for key, row in rows(trace).items()}


def listed(t, collector, tier, arguments):
    """The file that the JVM reads, made from a trace of the program in which it was not used."""
    trace, _ = run_traced(t, "Keeper", arguments, (f"-XX:+Use{collector}GC", *HEAP, *tier), judged=False)
    text = analyze("lifetimes", trace, "--pretenure-list")
    for site in KEPT:
        expect(f"\n{site}(" in text, f"{site} is not in the list:\n{text}")
    expect("Keeper.churn" not in text, f"what dies young is in the list:\n{text}")
    path, before = t.path("sites"), t.path("before")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(trace, before)
    return before, path


def made_old(collector, where, tier):
    def body(t):
        arguments = (1, 8000) if where == "the interpreter" else (4, 40_000)
        before, path = listed(t, collector, tier, arguments)
        sites = ("-XX:+UnlockExperimentalVMOptions", f"-XX:AntTracksPretenure={path}")
        # The JVM checks that each old object that refers to a young one is on a marked card; 25 unasked.
        cards = ("-XX:+VerifyRememberedSets",) if jdk_release() < 25 else ()
        checks = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyBeforeGC", *cards)
        flags = (f"-XX:+Use{collector}GC", *HEAP, *tier, *sites)
        done = run(java_command("Keeper", arguments, [*flags, *checks]))
        expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 30)}")
        trace, _ = run_traced(t, "Keeper", arguments, flags)
        expect(judge(t.folder, trace) > 0, "nothing was judged")
        verified(trace)
        first, then = copied(before), copied(trace)
        for site in KEPT.items():
            expect(first[site] > 100_000, f"{site}: {first[site]} bytes were copied without the list")
            expect(then[site] < first[site] / 20, f"{site}: {then[site]} of {first[site]} bytes are copied")

    add(f"With {collector}, what is listed is made old in {where}, and the rebuilt heap is exact", body)


for collector in ("Parallel", "Serial"):
    for where, tier in TIERS.items():
        made_old(collector, where, tier)


def copied_once(collector):
    """In all tiers: a mark says where its object was made, however that was compiled."""

    def body(t):
        arguments = (4, 40_000)
        before, path = listed(t, collector, (), arguments)
        experimental = ("-XX:+UnlockExperimentalVMOptions", "-XX:+AntTracksPretenureByCopy")
        flags = (f"-XX:+Use{collector}GC", *HEAP, *experimental, f"-XX:AntTracksPretenure={path}")
        trace, _ = run_traced(t, "Keeper", arguments, flags)
        expect(judge(t.folder, trace) > 0, "nothing was judged")
        verified(trace)
        first, then = rows(before), rows(trace)
        for site in KEPT.items():
            was, now = (
                [row[site][key]["objects"] for key in ("copied", "promoted")] for row in (first, then)
            )
            expect(was[0] > 1.5 * was[1] > 1000, f"{site}: without the list {was} were copied and promoted")
            # An object that is locked just then is left alone.
            expect(1000 < now[1] <= now[0] <= 1.01 * now[1], f"{site}: {now} are copied and promoted")

    add(f"With {collector}, what is listed is copied once, to where it is old, and the heap is exact", body)


for collector in ("Parallel", "Serial", "G1"):
    copied_once(collector)


@test("A list of sites is left alone with G1, and where the old generation is full")
def left_alone(t):
    path = listed(t, "Parallel", (), (2, 40_000))[1]
    for flags in (("-XX:+UseG1GC", *HEAP), ("-XX:+UseParallelGC", "-Xmx28m", "-Xmn14m")):
        flags = (*flags, "-XX:+UnlockExperimentalVMOptions", f"-XX:AntTracksPretenure={path}")
        trace, _ = run_traced(t, "Keeper", (2, 40_000), flags)
        expect(judge(t.folder, trace) > 0, "nothing was judged")
        verified(trace)
        os.remove(trace)


@test("A list of sites that cannot be read or understood is refused with the reason")
def refused(t):
    path = t.path("sites")
    flags = ("-XX:+UnlockExperimentalVMOptions", f"-XX:AntTracksPretenure={t.folder}")
    done = run(java_command("Mix", (), flags))
    expect(
        done.returncode == 1 and f"cannot read {t.folder}: Is a directory" in done.stderr,
        f"a folder: {done.returncode} {tail(done.stderr)}",
    )
    for text, said in (
        (None, f"cannot read {path}"),
        ("a.B.m()V:1 < a.B.n()V\n", "line 1 of "),
        ("# fine\n\na.B.m()V:1 # too\nno site\n", "line 4 of "),
        ("a()V:1\n", "line 1 of "),
        ("a.B.m()V:\n", "line 1 of "),
        ("a.B.m()V:x\n", "line 1 of "),
        ("a.B.m()V:12x\n", "line 1 of "),
        ("a.B.m()V:-1\n", "line 1 of "),
        ("a.B.m()V:65536\n", "line 1 of "),
        (" < ".join(["a.B.m()V:1"] * 9) + "\n", "line 1 of "),
        ("# fine\na.B." + "m" * 8300 + "()V:1\n", f"line 2 of {path} is longer than 8190 characters"),
    ):
        if text is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        flags = ("-XX:+UnlockExperimentalVMOptions", f"-XX:AntTracksPretenure={path}")
        done = run(java_command("Mix", (), flags))
        expect(done.returncode == 1 and said in done.stderr, f"{text}: {done.returncode} {tail(done.stderr)}")
