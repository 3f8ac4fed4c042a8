# SPDX-License-Identifier: Apache-2.0
"""Where a site lives (-XX:AntTracksSites): each scheme is exact, and identity hashes are stable."""

import os
import re
import subprocess
import threading

from judge.attached import Program
from judge.exact import judge
from judge.rotated import check_quality
from judge.world import (
    AGENT,
    ANALYZER,
    JDK,
    TIMEOUT,
    Skip,
    add,
    analyze,
    analyze_json,
    conclusive,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
    tail,
    test,
    verified,
)
from suites import rotation
from suites.attach import check_sites
from suites.budget import exact as share_exact
from suites.exactness import COLLECTORS, NO_ROOM, exact
from suites.host import OTHER_AGENT, check_neighbour
from suites.sites import true_sites

NAMED = "-XX:AntTracksSites="
COMPACT = "ash with compact headers"
SCHEMES = ("hash", "hash-eliminate", "ash", *((COMPACT,) if jdk_release() >= 25 else ()))


def flags_of(scheme):
    name, _, compact = scheme.partition(" with ")
    headers = [f"-XX:{'+' if compact else '-'}UseCompactObjectHeaders"] if jdk_release() >= 25 else []
    return (NAMED + name, *headers)


def programs(scheme):
    flags = flags_of(scheme)
    of = f"with sites in scheme {scheme} "
    exact(of + "for one thread that makes a bit of everything", "Mix", flags=("-Xmx64m", *flags))
    exact(of + "for clones of locked and hashed objects and of arrays", "Clones", flags=("-Xmx64m", *flags))
    exact(of + "for objects locked and hashed while the collector runs", "Locks", flags=("-Xmx64m", *flags))


def failures(scheme):
    """Hashes stay, too: the program looks."""
    flags = flags_of(scheme)
    of = f"with sites in scheme {scheme} "
    for said, (steps, objects), collectors in (
        ("Promotion failed", (4, 700_000), ("Parallel", "Serial")),
        (NO_ROOM, (20, 700_000), ("G1",)),
    ):
        exact(
            of + ("when promotion fails" if len(collectors) == 2 else "when objects cannot be evacuated"),
            "PromotionFailure",
            (steps, objects),
            ("-Xms64m", "-Xmx64m", "-Xmn24m", *flags),
            log_says=said,
            collectors=collectors,
        )


def places(scheme):
    flags, of = flags_of(scheme), f"in scheme {scheme} "
    true_sites(of + "in the interpreter", ("-Xint", *flags), {"interpreter"}, rounds=3000)
    true_sites(of + "in C1", ("-XX:TieredStopAtLevel=1", *flags), {"C1"}, inlined=True)
    true_sites(of + "in C2", ("-XX:-TieredCompilation", *flags), {"C2"}, inlined=True)
    true_sites(
        of + "without compressed references",
        ("-XX:-UseCompressedOops", "-XX:-TieredCompilation", *flags),
        {"C2"},
        inlined=True,
    )
    for collector in COLLECTORS:
        true_sites(
            f"{of}with {collector} in all tiers together",
            flags,
            {"C1", "C2"},
            rounds=40_000,
            inlined=True,
            collector=collector,
        )


def without_archive():
    """From 21 on the archive's objects have no site in the hash."""
    return ("-Xshare:off",) if jdk_release() >= 21 else ()


def rotated(scheme):
    """verify compares the site of each live object in a sync point with that of its allocation."""
    for collector in COLLECTORS:
        for main, arguments, what in (("Locks", (), "locked"), ("Hashes", (100_000,), "hashed")):

            def body(t, collector=collector, main=main, arguments=arguments):
                bound = rotation.Bound(8 * rotation.MB)
                flags = ("-Xmx128m", "-Xmn8m", *without_archive(), *flags_of(scheme))
                options = rotation.UNCOMPRESSED
                trace, _, _ = rotation.traced(
                    t, bound, main, arguments, flags, options, f"-XX:+Use{collector}GC"
                )
                result = verified(trace)
                expect(result["sync_points"]["checked"] > 0, f"no sync point was compared: {result}")
                check_quality(trace)

            title = f"In scheme {scheme} sync points with {collector} have the true sites of {what} objects"
            add(title, body)


def attached(scheme):
    """Every object from before the agent has its site, hashed or not."""
    for collector in COLLECTORS:

        def body(t, collector=collector):
            trace = t.path("trace")
            flags = (f"-XX:+Use{collector}GC", "-Xmx128m", *without_archive(), *flags_of(scheme))
            with Program(t, flags) as program:
                program.tell("gc")
                program.attach(f"file={trace}")
                program.tell("both")
                program.end()
            expect(judge(t.folder, trace) > 0, "nothing was judged")
            check_sites(trace, analyze_json("gcs", trace)["gcs"][-1]["id"])

        add(f"In scheme {scheme}, attached to a program with {collector}, all has its sites", body)


# How many different hashes 100,000 objects of one site have, at least. hash: there are 32,768.
DISTINCT = {"mark": 99_000, "hash": 25_000, "hash-eliminate": 25_000, "ash": 99_000, "off": 99_000}
DISTINCT[COMPACT] = DISTINCT["ash"]

# The JVM waits for the compiler before it calls them: the interpreter does not look at an object's class. Where
# others take a core, a compiler that runs beside it can be later than 39,000 calls.
COMPILED_AT_ONCE = ["-XX:CompileCommand=quiet"] + [
    f"-XX:CompileCommand=BackgroundCompilation,Hashes::{method},false" for method in ("own", "cell")
]

WITHOUT = r"without a random part (\d+) that override hashCode, (\d+) others"


def stable(scheme):
    def body(t):
        for collector in COLLECTORS:
            for tier in ((), ("-Xint",), ("-XX:TieredStopAtLevel=1",), ("-XX:-TieredCompilation",)):
                count = 20_000 if tier == ("-Xint",) else 100_000
                flags = (f"-XX:+Use{collector}GC", "-Xmx128m", "-Xmn16m", *flags_of(scheme), *tier)
                done = run(java_command("Hashes", (count,), (*flags, *COMPILED_AT_ONCE)))
                expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")
                if not scheme.startswith("ash"):  # whose random part may be anything, also 0
                    own, others = (int(number) for number in re.search(WITHOUT, done.stdout).groups())
                    eliminates = scheme == "hash-eliminate" and tier != ("-Xint",)
                    expect(own == 1000 if eliminates else own < 10, f"{flags}: {done.stdout}")
                    expect(others < 10, f"{flags}: {done.stdout}")
                distinct = int(re.search(r"^distinct (\d+) of", done.stdout, re.M)[1])
                if count == 100_000:
                    expect(distinct >= DISTINCT[scheme], f"{flags}: {distinct} hashes of {count} objects")

    add(f"An object's identity hash stays the same in scheme {scheme}, with each collector in each tier", body)


# A heap that the VM makes larger than asked for, up to the most that the scheme can have, and one that is.
LARGEST = ("16383m", "16g")


def stable_in_largest(scheme):
    def body(t):
        for collector in COLLECTORS:
            for heap in LARGEST:
                # With Serial the young space is reserved first: old objects lie 15.6 GB further up.
                young = ("-XX:NewSize=16m", "-XX:MaxNewSize=16000m") if collector == "Serial" else ("-Xmn16m",)
                sizes = (f"-Xmx{heap}", "-Xms64m", *young)
                flags = (f"-XX:+Use{collector}GC", *sizes, "-Xint", *flags_of(scheme))
                done = run(java_command("Hashes", (20_000,), flags))
                expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")

    largest = "a heap of 16 GB" if scheme == COMPACT else "the largest heap"
    add(f"An object's identity hash stays the same in scheme {scheme} in {largest}", body)


def stable_if_grown(scheme):
    """Without -Xmx the VM makes the heap larger for a large old space, after the main thread was made."""

    def body(t):
        if jdk_release() >= 25:
            raise Skip("OldSize is no flag there")
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if not 17 << 30 < memory < 60 << 30:
            raise Skip("the VM would commit more than there is, or take more than 16 GB by itself")
        flags = ("-XX:+UseSerialGC", "-XX:OldSize=17g", "-Xmn16m", "-Xint", *flags_of(scheme))
        done = run(java_command("Hashes", (20_000,), flags))
        expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")

    add(f"It stays the same in scheme {scheme} where a large old space makes the heap larger", body)


def stable_beside(scheme):
    """An agent that tags objects, and string deduplication."""

    def body(t):
        for collector in COLLECTORS:
            flags = (f"-XX:+Use{collector}GC", "-Xmx128m", "-Xmn16m", *flags_of(scheme))
            done = run(java_command("Hashes", (20_000,), (*flags, *OTHER_AGENT)), cwd=t.folder)
            expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")
            check_neighbour(t)
        for collector in COLLECTORS if jdk_release() >= 18 else ("G1",):
            flags = (f"-XX:+Use{collector}GC", "-Xmx128m", "-Xmn16m", *flags_of(scheme))
            more = ("-XX:+UseStringDeduplication", "-Xlog:stringdedup*=debug")
            done = run(java_command("Hashes", (20_000,), (*flags, *more)))
            expect(done.returncode == 0, f"{flags} {more}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")
            counts = [int(number) for number in re.findall(r" (\d+)/\S+ \(deduped\)", done.stdout)]
            totals = [int(number) for number in re.findall(r"Deduplicated: +(\d+)", done.stdout)]
            count = max(sum(counts), *totals, 0)
            conclusive(count >= 500, f"{flags}: {count} strings came to share an array: the test tests nothing")

    add(f"It stays the same in scheme {scheme} beside an agent that tags, and with strings deduplicated", body)


def names_it(scheme):
    def body(t):
        trace, _ = run_traced(t, "Mix", (), ("-XX:+UseParallelGC", "-Xmx64m", *flags_of(scheme)))
        named = scheme.partition(" ")[0].removesuffix("-eliminate")
        expect(analyze_json("info", trace)["sites"] == named, "info --json")
        expect(re.search(rf"^sites in +.*\({named}\)$", analyze("info", trace), re.M), "info")

    add(f"A trace says that its sites were in scheme {scheme}", body)


for name in SCHEMES:
    if name != "hash-eliminate":
        programs(name)
    failures(name)
for name in SCHEMES:
    rotated(name)
    attached(name)
    places(name)
    share_exact(
        f"with sites in scheme {name} for objects locked and hashed while the collector runs",
        "Locks",
        flags=("-Xmx64m", *flags_of(name)),
        shares=("0.125",),
    )
exact(
    "with sites in scheme hash-eliminate for objects locked and hashed while the collector runs",
    "Locks",
    flags=("-Xmx64m", *flags_of("hash-eliminate")),
)
for name in ("mark", *SCHEMES, "off"):
    stable(name)
    stable_beside(name)
for name in SCHEMES:
    stable_in_largest(name)
    stable_if_grown(name)
for name in ("mark", *SCHEMES):
    names_it(name)


if COMPACT in SCHEMES:
    # Where only C2 makes room behind a TLAB, an object can begin where another thread's TLAB ends.
    for title, flag in (("in C1 alone", "-XX:TieredStopAtLevel=1"), ("in the interpreter alone", "-Xint")):
        exact(
            f"with sites in scheme {COMPACT} {title}",
            "Threads",
            flags=("-Xmx96m", "-XX:TLABSize=4k", "-XX:-ResizeTLAB", flag, *flags_of(COMPACT)),
            collectors=("Parallel", "G1"),
        )


CLASSES, SITES = 13, 5900  # of a class; together more than 65,535


def many(scheme):
    """One hashed object of each site: told by its line, or counted as overflow."""

    def body(t):
        flags = ("-XX:+UseParallelGC", "-Xmx128m", *flags_of(scheme))
        trace, _ = run_traced(t, "ManySites", (CLASSES, SITES), flags, judged=False)
        rows = analyze_json("sites", trace, "--top", "0")["sites"]
        made = [row for row in rows if row["class"] == "java.lang.Object"]
        own = [row["objects"] for row in made if row["site"].startswith("Made")]
        over = sum(row["objects"] for row in made if row["site"] == "<overflow>")
        expect(set(own) == {1}, f"sites with {set(own)} objects")
        if scheme.startswith("hash"):
            expect(len(own) < 65_536, f"{len(own)} sites fit into 16 bits")
            expect(over >= CLASSES * SITES - len(own), f"{over} objects overflowed, {len(own)} did not")
        else:
            expect(len(own) == CLASSES * SITES and over == 0, f"{len(own)} sites, {over} objects overflowed")

    add(f"More than 65,535 sites in scheme {scheme}: each is told, or counted as overflow", body)


for name in ("mark", *SCHEMES):
    many(name)


def full(scheme):
    """Where every site is taken, methods of classes that come and go leave nothing in the tables."""

    def body(_):
        flags = ("-XX:+UseSerialGC", "-Xmx128m", "-XX:NativeMemoryTracking=summary", *flags_of(scheme))
        done = run(java_command("ManySites", (CLASSES, SITES, 0, 10_000), flags))
        grown = re.search(r"10000 hidden classes, grown by (-?\d+) KB", done.stdout)
        expect(done.returncode == 0 and grown, f"{done.returncode} {done.stdout} {tail(done.stderr)}")
        # The record of a method would take 53 bytes in the mean.
        expect(int(grown.group(1)) < 200, f"{grown.group(0)}")

    add(f"When scheme {scheme} has no site left, classes that come and go take no memory of its tables", body)


for name in SCHEMES:
    if name.startswith("hash"):
        full(name)


INFERENCE = """
import java.util.*;
import java.util.stream.*;
class Inference {
    static final class Diags extends ArrayList<Number> {}
    interface Snip { Snip of(); Diags diags(); String name(); }
    static void set(Diags given) {}
METHODS}
"""
INFERRED = """
    static void mNUMBER(List<Snip> outs, Map<String, List<Snip>> all) {
        set(outs.stream().flatMap(u -> u.of().diags().stream()).collect(Collectors.toCollection(Diags::new)));
        Map<String, Map<Integer, List<String>>> map = outs.stream().collect(Collectors.groupingBy(
            s -> s.name(), TreeMap::new, Collectors.groupingBy(s -> s.name().length(),
            Collectors.mapping(s -> s.name(), Collectors.toList()))));
        Set<Object> set = all.entrySet().stream().map(e -> new AbstractMap.SimpleEntry<>(e.getKey(),
            e.getValue().stream().map(Snip::name).collect(Collectors.toCollection(LinkedHashSet::new))))
            .collect(Collectors.toCollection(HashSet::new));
    }
"""


def few(scheme):
    """A program may rely on it that few objects ever have the same hash, as javac does before JDK 24."""

    def hashes(t):
        for own_hash in ("false", "true"):
            # Compiled code knows which class has a hashCode of its own (hash-eliminate). The objects of a place
            # lie in one TLAB, near each other (hash).
            compiled = ("-Xbatch", "-XX:TieredStopAtLevel=1")
            heap = ("-XX:+UseParallelGC", "-Xmx256m", "-Xmn128m", "-XX:TLABSize=8m")
            flags = (*compiled, *heap, *flags_of(scheme))
            done = run(java_command("FewHashed", (50, 2000, own_hash), flags))
            expect(done.returncode == 0, tail(done.stderr, 20))
            pairs = int(re.match(r"pairs (\d+) of 100000 objects", done.stdout)[1])
            # By chance 2 with the 31 bits of scheme mark; 381 with 18 that are drawn, 3,050 with 15. Objects of
            # one place that lie in two TLABs add up to 30 in scheme hash.
            expect(pairs < 50, done.stdout)

    def javac(t):
        source = t.path("Inference.java")
        methods = "".join(INFERRED.replace("NUMBER", str(n)) for n in range(60))
        with open(source, "w", encoding="utf-8") as out:
            out.write(INFERENCE.replace("METHODS", methods))
        for tier in ((), ("-XX:TieredStopAtLevel=1",)):
            flags = [f"-J{flag}" for flag in (*flags_of(scheme), *tier)]
            done = run([os.path.join(JDK, "bin", "javac"), *flags, "-d", t.path("classes"), source])
            expect(done.returncode == 0, f"{flags}: {tail(done.stderr, 20)}")

    add(f"In scheme {scheme} few objects of a place have the same hash", hashes)
    # Later ones do not care. In scheme hash objects that lie far apart have equal hashes by chance.
    if jdk_release() < 24 and scheme != "hash":
        add(f"javac infers types in scheme {scheme}", javac)


for name in ("mark", *SCHEMES):
    few(name)


@test("In scheme ash hashes differ as before when all ids are given away, and only new places lose their site")
def ids_run_out(t):
    # Nearly every place hashes more than 2^18 objects and gets an id with 2^22 codes, of 2^30.
    flags = ("-XX:+UseParallelGC", "-Xmx128m", *without_archive(), *flags_of("ash"))
    command = java_command("BusySites", (360, 300_000), flags)
    with open(t.path("stderr"), "w+", encoding="utf-8") as err:
        pipe = subprocess.PIPE
        program = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=err, text=True)
        ends = threading.Timer(TIMEOUT, program.kill)
        ends.start()
        try:
            said = [program.stdout.readline() for _ in range(2)]
            options = f"mode=full,file={t.path('trace')}"
            done = run([ANALYZER, "attach", "--lib", AGENT, str(program.pid), options])
            program.communicate("\n")
        finally:
            ends.cancel()
            program.kill()
        err.seek(0)
        text = f"{said} {tail(done.stderr)} {tail(err.read())}"
        expect(done.returncode == 0 and program.returncode == 0, text)
    found = dict(line.split() for line in said)
    expect(sorted(found) == ["new", "old"], f"{said}")
    expect(all(int(count) >= DISTINCT["ash"] for count in found.values()), f"{said}")
    verified(t.path("trace"))
    rows = analyze_json("sites", t.path("trace"), "--live", "--top", "0")["sites"]
    live = {row["site"]: row["live_objects"] for row in rows if row["class"] == "java.lang.Object"}
    lost = live.get("<overflow>", 0)
    expect(99_000 <= lost <= 100_000, f"{lost} objects of ten new places have lost their site")
    known = sum(count for site, count in live.items() if "BusySites$Maker" in site)
    expect(known == 200_000 - lost, f"{known} objects have it, {lost} have lost it, of 200,000")


def archive_of_another_scheme(made):
    """It keeps objects with their marks: with hash codes, and without the sites of the JVM that made it."""

    def body(t):
        archive = f"-XX:SharedArchiveFile={t.path('classes.jsa')}"
        flags = ("-XX:+UseG1GC", "-Xmx128m", "-Xmn16m", archive)
        dump = [JDK + "/bin/java", *flags, *flags_of(made), "-Xshare:dump"]
        done = run(dump)
        expect(done.returncode == 0, f"{dump}: {tail(done.stdout)} {tail(done.stderr)}")
        for scheme in ("mark", "hash", "hash-eliminate", "ash"):
            used = (*flags, "-Xshare:on", *flags_of(scheme))
            done = run(java_command("Hashes", (5000,), used))
            expect(done.returncode == 0, f"{used}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")

    add(f"Identity hashes stay the same in each scheme with an archive that was made in scheme {made}", body)


for name in ("mark", "hash", "hash-eliminate", "ash"):
    archive_of_another_scheme(name)


if jdk_release() >= 25:

    @test("Beyond half of the sites of scheme mark an object that C1 makes has its own", slow=True)
    def last_site(t):
        # Scheme mark has 22 bits for it on 25; on 17 and 21 it would take 17 million sites.
        classes = (1 << 21) // SITES + 1
        flags = ("-XX:+UseParallelGC", "-Xmx512m", "-XX:TieredStopAtLevel=1", *flags_of("mark"))
        trace, _ = run_traced(t, "ManySites", (classes, SITES, 100_000), flags, judged=False)
        rows = analyze_json("sites", trace, "--where", "class=ManySites$Last", "--tiers", "--top", "0")["sites"]
        own = sum(row["objects"] for row in rows if row["site"].startswith("ManySites.last("))
        of_c1 = sum(row["objects"] for row in rows if row["tier"] == "C1")
        expect(own == 100_000 and of_c1 > 50_000, f"{rows}")


@test("A value that -XX:AntTracksSites does not know ends the JVM, with those that it knows")
def wrong(t):
    del t
    for value in ("Mark", ""):
        done = run(java_command("Hashes", (1,), (NAMED + value,)))
        said = f"AntTracksSites must be mark, hash, hash-eliminate, ash or off, not '{value}'"
        expect(done.returncode == 1 and said in done.stderr, f"{done.returncode}: {tail(done.stderr)}")


@test("Without sites mode=full is refused, naming the flag")
def off(t):
    trace = t.path("trace")
    flags = ("-XX:+UseParallelGC", "-Xmx64m", *flags_of("off"))
    done = run(java_command("Hashes", (1000,), flags, f"mode=full,file={trace}"))
    expect(done.returncode != 0 and "distinct" not in done.stdout, f"java ended with {done.returncode}")
    expect("-XX:AntTracksSites=off" in done.stderr, f"it says {done.stderr!r}")
