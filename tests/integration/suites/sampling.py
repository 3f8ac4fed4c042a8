# SPDX-License-Identifier: Apache-2.0
"""Samples by JVM TI: estimates agree with what was allocated, on any JVM and collector,
and the program notices nothing."""

import json
import math
import os
import random
import re
import signal
import subprocess
import time

from judge.host import SmallDisk
from judge.world import (
    ANALYZER,
    HERE,
    JDK,
    TIMEOUT,
    add,
    analyze,
    analyze_json,
    conclusive,
    expect,
    java_command,
    run,
    stock_java,
    tail,
    test,
    verified,
)
from suites.life import start_forever

INTERVAL = 16 << 10
COLLECTORS = ("Parallel", "Serial", "G1", "Z", "Shenandoah")


def flags_of(collector, heap="64m"):
    return (f"-XX:+Use{collector}GC", f"-Xmx{heap}")


def marked():
    with open(os.path.join(HERE, "java", "Sampled.java"), encoding="utf-8") as file:
        return {m[1]: number for number, line in enumerate(file, 1) if (m := re.search(r"// @(\w+)$", line))}


def at(site, mark):
    return site.endswith(f"(Sampled.java:{marked()[mark]})")


def sampled(
    t,
    main,
    arguments,
    flags=flags_of("Parallel"),
    options=f"interval={INTERVAL}",
    jdk=None,
    mode="mode=sample,",
):
    """Runs with and without the agent; output and exit code must be the same. Returns the verified trace."""
    jdk = jdk or stock_java()
    plain = run(java_command(main, arguments, flags, jdk=jdk))
    trace = t.path("trace")
    done = run(java_command(main, arguments, flags, f"{mode}file={trace},{options}", jdk=jdk), cwd=t.folder)
    for what in ("returncode", "stdout", "stderr"):
        mine, theirs = getattr(done, what), getattr(plain, what)
        expect(mine == theirs, f"{what} differs: {tail(str(mine))!r}, without the agent {tail(str(theirs))!r}")
    verified(trace)
    return trace


def check_estimate(what, found, true, size, interval=INTERVAL):
    """Within six standard deviations: each object is in the estimate with 1 / p or not at all."""
    p = -math.expm1(-size / interval)
    sigma = math.sqrt(true * (1 - p) / p)
    expect(
        abs(found - true) <= 6 * sigma + 0.01 * true,
        f"{what}: estimated {found}, true {true}, {(found - true) / sigma:.1f} standard deviations off",
    )


def known_objects(reference):
    """What Sampled.known makes, with references of so many bytes: class, size, number by line."""
    return (
        ("Sampled$Small", 24, {"small": 3_000_000, "elsewhere": 1_000_000}),
        ("Sampled$Other", 40, {"other": 2_000_000}),
        ("Sampled$Small[]", 16 + 250 * reference, {"arrays": 100_000}),
        ("Sampled$Marker[]", 16 + 25_000 * reference, {"large": 2000}),
    )


def check_known(trace, reference=4):
    classes = {row["class"]: row for row in analyze_json("classes", trace)["classes"]}
    sites = analyze_json("sites", trace)["sites"]
    for name, size, lines in known_objects(reference):
        row = classes[name]
        check_estimate(name, row["objects"], sum(lines.values()), size)
        expect((row["least_bytes"], row["most_bytes"]) == (size, size), f"sizes of {name}: {row}")
        expect(abs(row["bytes"] - row["objects"] * size) <= size, f"bytes of {name}: {row}")
        for mark, true in lines.items():
            found = sum(s["objects"] for s in sites if s["class"] == name and at(s["site"], mark))
            check_estimate(f"{name} at @{mark}", found, true, size)
        wrong = [s for s in sites if s["class"] == name and not any(at(s["site"], mark) for mark in lines)]
        expect(not wrong, f"sites of {name}: {wrong}")
    # All the callers that there are.
    for site in analyze_json("sites", trace, "--callers")["sites"]:
        if at(site["site"], "other"):
            names = [caller.split("(")[0] for caller in site["callers"]]
            expect(
                names[0] == "Sampled.known" and names[-1] == "java.lang.Thread.run",
                f"callers: {site['callers']}",
            )


for collector_ in COLLECTORS:

    def known(t, collector=collector_):
        check_known(sampled(t, "Sampled", ("known",), flags_of(collector)), 8 if collector == "Z" else 4)

    add(
        "Sampling: estimates agree with what was allocated, by class and line, "
        f"with the {collector_} collector",
        known,
    )

for collector_ in ("Parallel", "G1"):

    def known_patched(t, collector=collector_):
        check_known(sampled(t, "Sampled", ("known",), flags_of(collector), jdk=JDK))

    add(
        "Sampling: estimates on the patched JVM agree with what was allocated, "
        f"with the {collector_} collector",
        known_patched,
    )


def check_retained(t, collector):
    trace = sampled(t, "Sampled", ("retained",), flags_of(collector, "256m"))
    ends = [gc["id"] for gc in analyze_json("gcs", trace)["gcs"]]
    expect(ends, "no collection")

    def live(*moment):
        heap = analyze_json("heap", trace, *moment)
        expect(
            heap["estimated"] is True and heap["interval"] == INTERVAL,
            f"heap: {heap['estimated']}, {heap['interval']}",
        )
        rows = {row["class"]: row["objects"] for row in heap["rows"]}
        return rows.get("Sampled$Kept", 0), rows.get("short[]", 0)

    for what, (objects, arrays) in (("at the end", live("--end")), ("after the last collection", live())):
        check_estimate(f"kept objects {what}", objects, 10_000, 16)
        check_estimate(f"kept arrays {what}", arrays, 10_000, 1016)
    most = max(live("--gc", str(gc))[1] for gc in ends)
    expect(most > 18_000 * 0.85, f"at most {most} arrays were alive after a collection, 20,000 were kept")
    allocated = {row["class"]: row["objects"] for row in analyze_json("classes", trace)["classes"]}
    check_estimate("all arrays", allocated["short[]"], 100_000, 1016)
    totals = {
        by: analyze_json("heap", trace, "--by", by)["live_samples"] for by in ("class", "site", "thread", "age")
    }
    expect(len(set(totals.values())) == 1, f"samples that live: {totals}")
    by_line = [
        row for row in analyze_json("heap", trace, "--by", "site")["rows"] if at(row["site"], "keptdata")
    ]
    check_estimate("kept arrays of the line", sum(row["objects"] for row in by_line), 10_000, 1016)
    live_sites = [s for s in analyze_json("sites", trace, "--live")["sites"] if at(s["site"], "keptdata")]
    check_estimate("live arrays of the line", sum(s["live_objects"] for s in live_sites), 10_000, 1016)


for collector_ in COLLECTORS:

    def retained(t, collector=collector_):
        check_retained(t, collector)

    add(
        f"Sampling: what lives after a collection agrees with what is kept, with the {collector_} collector",
        retained,
    )


@test("Sampling: the interval is changed while the program runs, and estimates stay right")
def change(t):
    trace = t.path("trace")
    # No collection: HotSpot counts what it leaves unused of a TLAB as allocated, for a thousand TLABs at once.
    flags = ("-XX:+UseParallelGC", "-Xms1g", "-Xmx1g", "-Xmn700m", "-XX:TLABSize=16k", "-XX:-ResizeTLAB")
    command = java_command(
        "Sampled", ("change",), flags, f"mode=sample,file={trace},interval=64K", jdk=stock_java()
    )
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:

        def changed(line, interval, said):
            expect(program.stdout.readline() == line + "\n", "the program says something else")
            done = run([ANALYZER, "ctl", str(program.pid), "set", f"interval={interval}"])
            expect(
                done.returncode == 0 and said in done.stdout,
                f"{done.returncode}: {done.stdout!r} {done.stderr!r}",
            )
            expect(
                said in run([ANALYZER, "ctl", str(program.pid), "status"]).stdout,
                f"the status does not say {said!r}",
            )
            program.stdin.write("\n")
            program.stdin.flush()

        changed("waiting", "1K", "one per 1.00 KiB")
        changed("waiting again", INTERVAL, "one per 16.0 KiB")
        out, err = program.communicate(timeout=TIMEOUT)
        expect((program.returncode, out, err) == (0, "done\n", ""), f"{program.returncode} {out!r} {err!r}")
    verified(trace)
    info = analyze_json("info", trace)
    expect(
        (info["interval"], info["least_interval"], info["most_interval"]) == (64 << 10, 1 << 10, 64 << 10),
        f"intervals: {info}",
    )
    expect(analyze_json("gcs", trace)["gcs"] == [], "there was a collection")
    sites = analyze_json("sites", trace)["sites"]
    found = {mark: sum(s["objects"] for s in sites if at(s["site"], mark)) for mark in ("small", "other")}
    check_estimate("objects after the last change", found["small"], 2_000_000, 24)
    # The next sample point of a thread that was there before is one of 64K. With probability p it is within the
    # 800 objects of 40 bytes: then it stands for 64K / 40 objects, and so many as follow it are known rather
    # well. Otherwise the thread has none.
    each, p = 800, 1 - math.exp(-800 * 40 / (64 << 10))
    true, sigma = 1100 * each, math.sqrt(1000 * (1 - p) / p) * each
    expect(
        abs(found["other"] - true) <= 6 * sigma,
        f"{found['other']} objects, {true} are true, deviation {sigma:.0f}",
    )


@test("Sampling: estimates by thread agree with what was allocated, with a thousand threads that come and go")
def threads(t):
    trace = sampled(t, "Sampled", ("threads",))
    rows = analyze_json("threads", trace)["threads"]
    by_name = {row["name"]: row for row in rows}
    for worker in range(1, 5):
        row = by_name[f"worker-{worker}"]
        check_estimate(row["name"], row["objects"], 500_000 * worker, 24)
        expect(row["java_id"] > 0 and row["os_id"] > 0, f"ids: {row}")
    brief = [row for row in rows if row["name"].startswith("brief-")]
    # Each allocates 24 intervals.
    expect(
        len({row["java_id"] for row in brief}) == len(brief) == 1000, f"{len(brief)} brief threads with samples"
    )
    # No estimate of these: HotSpot 17 draws the same numbers for threads that lie at the same place,
    # one after the other.
    expect(all(row["objects"] > 0 and row["os_id"] > 0 for row in brief), f"{brief[:3]}")


@test("Sampling: interval=0 takes every object that the JVM reports")
def every(t):
    trace = sampled(t, "Sampled", ("every",), options="interval=0")
    rows = {row["class"]: row for row in analyze_json("classes", trace)["classes"]}
    for name, count in (("Sampled$Marker", 5000), ("Sampled$Other[]", 300)):
        expect((rows[name]["objects"], rows[name]["samples"]) == (count, count), f"{name}: {rows[name]}")
    size = sum(16 + (4 * i + 7) // 8 * 8 for i in range(300))
    expect(rows["Sampled$Other[]"]["bytes"] == size, f"bytes: {rows['Sampled$Other[]']}, expected {size}")
    lines = {
        mark: sum(
            s["objects"]
            for s in analyze_json("sites", trace)["sites"]
            if at(s["site"], mark) and s["class"].startswith("Sampled$")
        )
        for mark in ("marker", "lengths")
    }
    expect(lines == {"marker": 5000, "lengths": 300}, f"lines: {lines}")


@test("Sampling: stacks are as deep as depth= says")
def deep(t):
    for depth in (1, 5, 256):
        t.clear()
        trace = sampled(t, "Sampled", ("deep",), options=f"interval=0,depth={depth}")
        sites = [
            s
            for s in analyze_json("sites", trace, "--callers")["sites"]
            if at(s["site"], "deep") and s["class"] == "Sampled$Marker"
        ]
        expect(sum(s["objects"] for s in sites) == 1001, f"objects: {sum(s['objects'] for s in sites)}")
        expect(
            max(len(s["callers"]) for s in sites) == depth - 1,
            f"depth {depth}: {max(len(s['callers']) for s in sites)}",
        )


@test("Sampling holds no class: loaders go as without it")
def unload(t):
    for collector in ("Parallel", "G1"):
        t.clear()
        trace = sampled(t, "Sampled", ("unload",), flags_of(collector), "interval=1K")
        loaded = {row["class"]: row for row in analyze_json("classes", trace)["classes"]}["Sampled$Loaded"]
        check_estimate("objects of all loaders", loaded["objects"], 90_000, 16, 1024)


for main_, arguments_ in (
    ("Sampled", ("overflow",)),
    ("Oom", ()),
    ("Lambdas", ()),
    ("Locks", ()),
    ("References", ()),
):

    def same(t, main=main_, arguments=arguments_):
        sampled(t, main, arguments, flags_of("Parallel", "32m"), "interval=4K")

    add(f"Sampling: {' '.join((main_, *arguments_))} prints the same with and without it", same)

for how_, code_ in (("return", 0), ("exit", 7), ("halt", 9), ("throw", 1), ("daemon", 0)):

    def ends(t, how=how_, code=code_):
        plain = run(java_command("Life", (how,), flags_of("Parallel"), jdk=stock_java()))
        expect(plain.returncode == code, f"without the agent it ends with {plain.returncode}")
        trace = sampled(t, "Life", (how,))
        conclusive(analyze_json("info", trace)["samples"] > 10, "too few samples")

    add(
        f"Sampling: output and exit code are the same, and the trace is whole, when a program ends by {how_}",
        ends,
    )


@test("Sampling: the end is the program's own when native code calls exit beside threads that allocate")
def native_exit(t):
    for collector in ("Parallel", "Serial", "G1"):
        for _ in range(5):
            t.clear()
            done = run(
                java_command(
                    "Ends",
                    ("native-exit",),
                    flags_of(collector, "48m"),
                    f"mode=sample,interval=4K,file={t.path('trace')}",
                    jdk=stock_java(),
                ),
                cwd=t.folder,
            )
            expect(
                (done.returncode, done.stdout, done.stderr) == (5, "begin\n", ""),
                f"{done.returncode} {tail(done.stdout)} {tail(done.stderr)}",
            )
            verified(t.path("trace"))


# With ObjectFree events one in 77 hung.
@test("Sampling: the JVM ends while threads allocate and samples die")
def ends_while_samples_die(t):
    for _ in range(10):
        t.clear()
        done = run(
            java_command(
                "Ends",
                ("exit",),
                ("-XX:+UseParallelGC", "-Xmx24m", "-Xmn6m"),
                f"mode=sample,interval=64,depth=1,file={t.path('trace')}",
                jdk=stock_java(),
            ),
            cwd=t.folder,
        )
        expect(
            (done.returncode, done.stdout, done.stderr) == (7, "begin\n", ""),
            f"{done.returncode} {tail(done.stdout)} {tail(done.stderr)}",
        )
    verified(t.path("trace"))


@test("Without the patch the JVM is sampled by default, and one line says what is missing")
def fallback(t):
    trace = t.path("trace")
    plain = run(java_command("Life", ("return",), flags_of("G1"), jdk=stock_java()))
    done = run(java_command("Life", ("return",), flags_of("G1"), f"file={trace}", jdk=stock_java()))
    expect((done.returncode, done.stdout) == (0, plain.stdout), f"{done.returncode} {done.stdout!r}")
    lines = [line for line in done.stderr.splitlines() if line not in plain.stderr.splitlines()]
    expect(len(lines) == 1 and lines[0].startswith("[anttracks] warning:"), f"stderr: {done.stderr!r}")
    for word in (
        "not patched",
        "524288",
        "estimates",
        "addresses",
        "moves",
        "every object",
        "scripts/quickstart",
        "mode=full",
        "mode=sample",
    ):
        expect(word in lines[0], f"{word!r} is not in {lines[0]!r}")
    verified(trace)
    info = analyze_json("info", trace)
    expect(
        (info["mode"], info["estimated"], info["interval"], info["depth"]) == ("sample", True, 524288, 16),
        f"info: {info}",
    )


@test("Options that mean nothing without the patch are named in that line")
def ignored(t):
    done = run(
        java_command(
            "Life",
            ("return",),
            flags_of("Parallel"),
            f"file={t.path('trace')},maxsize=1M,keep=yes,walkers=2,interval=64K",
            jdk=stock_java(),
        )
    )
    lines = [line for line in done.stderr.splitlines() if "anttracks" in line]
    expect(done.returncode == 0 and len(lines) == 1, f"{done.returncode} {done.stderr!r}")
    expect("ignored: maxsize, keep, walkers" in lines[0] and "65536" in lines[0], lines[0])
    expect(os.listdir(t.folder) == ["trace"], f"files: {os.listdir(t.folder)}")
    expect(analyze_json("info", t.path("trace"))["interval"] == 65536, "interval")


@test("With the patch every object is traced by default, and nothing is said")
def not_sampled(t):
    trace = t.path("trace")
    done = run(java_command("Life", ("return",), flags_of("Parallel"), f"file={trace},interval=1K,depth=2"))
    expect(done.returncode == 0 and "anttracks" not in done.stderr, done.stderr)
    expect("estimated" not in analyze_json("info", trace), "it was sampled")
    verified(trace)


@test("A trace of samples answers what it can, and says what it cannot (exit code 2)")
def commands(t):
    trace = sampled(t, "Life", ("return",))
    for arguments in (
        ["info"],
        ["heap"],
        ["heap", "--end"],
        ["gcs"],
        ["sites"],
        ["sites", "--live"],
        ["classes"],
        ["threads"],
    ):
        result = analyze_json(*arguments, trace)
        expect(
            result["estimated"] is True and result["interval"] == INTERVAL and result["samples"] > 0,
            f"{arguments}: {result}",
        )
        text = analyze(*arguments, trace)
        expect(
            "~" in text and ("estimates from" in text or arguments == ["info"]), f"{arguments}: {tail(text)}"
        )
    for arguments in (
        ["heap", "--objects"],
        ["heap", "--by", "space"],
        ["sites", "--tiers"],
        ["classes", "--layout"],
        ["quality"],
    ):
        done = run([ANALYZER, *arguments, trace])
        expect(
            done.returncode == 2 and done.stdout == "" and "samples" in done.stderr,
            f"{arguments}: {done.returncode} {done.stderr}",
        )
    done = run([ANALYZER, "heap", "--gc", "99999", trace])
    expect(done.returncode == 2 and "99999" in done.stderr, done.stderr)


def forever(t, options):
    return start_forever(t, "," + options, jdk=stock_java())


@test("Sampling: after kill -9 the trace loads up to its last second")
def killed(t):
    process = forever(t, f"mode=sample,interval={INTERVAL}")
    begin = time.monotonic()
    written = 0  # ns of samples that are in the file while the program runs
    while written < 3e9 and time.monotonic() < begin + 60:
        time.sleep(2)
        written = analyze_json("info", t.path("trace"))["duration_ns"]
    process.kill()
    process.communicate(timeout=60)
    expect(written >= 3e9, f"after a minute {written} ns of samples are written")
    result = verified(t.path("trace"), clean_end=False)
    expect(not result["ended_cleanly"] and result["samples"] > 100, f"{result}")
    info = analyze_json("info", t.path("trace"))
    expect(info["duration_ns"] >= written, f"the last sample is of {info['duration_ns']} ns, not {written}")
    analyze("heap", t.path("trace"), "--top", "3")


@test("Sampling: SIGTERM ends the program as without the agent, and the trace cleanly")
def terminated(t):
    process = forever(t, f"mode=sample,interval={INTERVAL}")
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    expect(process.returncode == 143, f"ended with {process.returncode}")
    verified(t.path("trace"))


@test("Sampling: attached to a running JVM it takes what comes, and a second one is refused")
def attached(t):
    home = stock_java()
    command = java_command("Life", ("forever",), flags_of("Parallel"), jdk=home)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            while process.stdout.readline() != "running\n":
                expect(process.poll() is None, "the program ended")
            load = [
                home + "/bin/jcmd",
                str(process.pid),
                "JVMTI.agent_load",
                os.environ.get("ANTTRACKS_AGENT") or os.path.join(os.path.dirname(ANALYZER), "libanttracks.so"),
            ]
            wrong = run([*load, f'"file={t.path("trace")},mode=sample,walkers=1"'])
            expect("return code: 0" not in wrong.stdout, wrong.stdout)
            done = run([*load, f'"file={t.path("trace")},mode=sample,interval=64K"'])
            expect("return code: 0" in done.stdout, f"{done.stdout} {done.stderr}")
            time.sleep(1.5)
            again = run([*load, f'"file={t.path("other")},mode=sample"'])
            expect("return code: 0" not in again.stdout and not os.path.exists(t.path("other")), again.stdout)
        finally:
            process.terminate()
    verified(t.path("trace"))
    conclusive(analyze_json("info", t.path("trace"))["samples"] > 100, "too few samples")


@test("Sampling: a full disk ends it, not the program")
def full_disk(t):
    with SmallDisk(t, "256k") as folder:
        command = java_command(
            "Sampled",
            ("known",),
            flags_of("Parallel"),
            f"mode=sample,interval=256,file={folder}/trace,compress=off",
            jdk=stock_java(),
        )
        done = run(command)
        expect((done.returncode, done.stdout) == (0, "done\n"), f"{done.returncode} {done.stdout!r}")
        expect("space" in done.stderr.lower() and done.stderr.count("\n") == 1, f"stderr: {done.stderr!r}")
        verified(f"{folder}/trace", clean_end=False)


@test("Sampling: a trace cut anywhere loads up to the cut, and a flipped byte is noticed")
def damaged(t):
    trace = sampled(t, "Sampled", ("retained",), flags_of("Parallel", "256m"))
    with open(trace, "rb") as file:
        data = bytearray(file.read())
    randomly = random.Random(3)
    first = 64 + 32 + int.from_bytes(data[72:76], "little")
    for _ in range(20):
        cut = randomly.randrange(first, len(data))
        with open(t.path("cut"), "wb") as file:
            file.write(data[:cut])
        expect(run([ANALYZER, "verify", t.path("cut")]).returncode == 0, f"cut at {cut} of {len(data)}")
    for _ in range(30):
        place = randomly.randrange(len(data))
        data[place] ^= 4
        with open(t.path("flipped"), "wb") as file:
            file.write(data)
        data[place] ^= 4
        for command, codes in (("verify", (1, 3)), ("heap", (2, 3, 4)), ("sites", (3, 4))):
            code = run([ANALYZER, command, t.path("flipped")]).returncode
            expect(code in codes, f"byte {place} flipped: {command} ended with {code}")


@test("Sampling: stats= has its counters, at exit the same as the trace")
def stats(t):
    trace = sampled(t, "Life", ("return",), options=f"interval={INTERVAL},stats={t.path('stats')}")
    with open(t.path("stats"), encoding="utf-8") as file:
        counters = json.load(file)
    info = analyze_json("info", trace)
    expect(
        counters["state"] == "ended"
        and counters["counters"]["samples"] == info["samples"] == info["counters"]["samples"],
        f"{counters} {info['counters']}",
    )
    expect(
        info["counters"]["untracked_samples"] == 0 and info["counters"]["unknown_frames"] == 0,
        f"{info['counters']}",
    )
