# SPDX-License-Identifier: Apache-2.0
"""The judge itself: that it reads what the JVM writes, and that it sees differences."""

import collections
import struct

from judge import exact, histogram, hprof
from judge.world import expect, java_command, run, test


@test("The judge's reading of a dump agrees with the JVM's histogram")
def dump_against_histogram(t):
    done = run(java_command("Arrays2", flags=("-XX:+UseParallelGC", "-Xmx160m", f"-Djudge.dir={t.folder}")))
    expect(done.returncode == 0, done.stderr)
    # What the JVM's own reporting allocates between the two differs; the program's arrays do not.
    own = {
        "char[][][]",
        "java.lang.Object[][]",
        "byte[][][][][]",
        "int[][][]",
        "java.lang.Runnable[][][]",
        "double[]",
        "float[]",
        "boolean[]",
        "short[]",
    }
    for i in range(6):
        dump = hprof.read(t.path(f"dump-{i}.hprof"))
        with open(t.path(f"histogram-{i}.txt"), encoding="utf-8") as file:
            jvm = histogram.parse(file.read())
        counted = collections.Counter(name for name, _ in dump.objects.values())
        for name in own:
            in_jvm = jvm.get(name, (0, 0))[0]
            expect(counted[name] == in_jvm, f"{name}: dump {counted[name]}, histogram {in_jvm}")
        expect(counted["java.lang.Object[][]"] > 0, "the program's arrays are not in the dump")
        expect(len(dump.mirrors) > 400, f"{len(dump.mirrors)} class dumps")


@test("The judge sees a missing object, an extra one, and one of another class")
def differences_are_seen(t):
    dump = hprof.Dump()
    dump.objects = {0x1000: ("A", None), 0x2000: ("int[]", 3)}
    dump.mirrors = {0x3000}
    same = {
        0x1000: ("A", 16, "s"),
        0x2000: ("int[]", 32, "s"),
        0x3000: ("java.lang.Class", 96, "s"),
        0x4000: ("java.lang.Class", 96, "s"),
    }
    expect(exact.dump_differences(same, dump) == [], "differences where none are")
    for change in ({0x1000: None}, {0x3000: None}, {0x5000: ("A", 16, "s")}, {0x2000: ("long[]", 32, "s")}):
        other = {a: o for a, o in {**same, **change}.items() if o}
        expect(len(exact.dump_differences(other, dump)) == 1, f"{change} was not seen")
    expect(exact.class_differences({"A": (1, 16)}, {"A": (1, 16)}) == [], "equal histograms differ")
    expect(
        len(exact.class_differences({"A": (1, 24)}, {"A": (1, 16), "B": (1, 8)})) == 2, "differences not seen"
    )


def written_dump(path):
    """A dump with an address in each kind of place: a static field, a field, an element and a root refer to
    the objects at 0x7000, 0x900000006000, 0x8000 and 0xa000; numbers read like 0x5000, 0x9000 and 0xb000."""

    def class_dump(address, superclass, statics, fields):
        head = struct.pack(">BQI6QIHH", 0x20, address, 0, superclass, 0, 0, 0, 0, 0, 16, 0, len(statics))
        values = b"".join(struct.pack(">QBQ", 1, kind, value) for kind, value in statics)
        types = b"".join(struct.pack(">QB", 1, kind) for kind in fields)
        return head + values + struct.pack(">H", len(fields)) + types

    reference, byte, integer, long = 2, 8, 10, 11
    heap = [
        class_dump(0x100, 0, (), ()),
        class_dump(0x200, 0x100, ((reference, 0x7000), (long, 0x5000)), (integer, reference, byte)),
        class_dump(0x300, 0x200, (), (long,)),
        # Its own long, then those of its superclass. The int and what follows read like 0x9000.
        struct.pack(">BQIQIQiQb", 0x21, 0x1000, 0, 0x300, 21, 0x5000, 0, 0x9000_0000_6000, 0),
        struct.pack(">BQIIQQ", 0x22, 0x2000, 0, 1, 0x400, 0x8000),
        struct.pack(">BQ", 0xFF, 0xA000),
        struct.pack(">BQIIBQ", 0x23, 0x3000, 0, 1, long, 0xB000),
    ]
    segment = b"".join(heap)
    with open(path, "wb") as file:
        file.write(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 0))
        file.write(struct.pack(">BII", 0x1C, 0, len(segment)) + segment)


@test("The judge takes no number of a dump for a reference")
def references(t):
    path = t.path("dump.hprof")
    written_dump(path)
    addresses = {0x5000, 0x7000, 0x8000, 0x9000, 0xA000, 0xB000, 0x9000_0000_6000}
    expected = {0x7000, 0x8000, 0x9000_0000_6000}
    found = hprof.referenced(path, addresses, roots=False)
    expect(found == expected, f"without roots {sorted(map(hex, found))}")
    found = hprof.referenced(path, addresses)
    expect(found == expected | {0xA000}, f"with roots {sorted(map(hex, found))}")


@test("The judge translates the JVM's class names into those of the source")
def names(t):
    for given, external, expected in (
        ("[[I", True, "int[][]"),
        ("[Ljava.lang.String;", True, "java.lang.String[]"),
        ("java/util/Map$Entry", False, "java.util.Map$Entry"),
        ("[La/B$$Lambda$7+0x00ff;", False, "a.B$$Lambda$7/0x00ff[]"),
        ("a.B$$Lambda$7/0x00ff", True, "a.B$$Lambda$7/0x00ff"),
    ):
        found = hprof.source_name(given, external)
        expect(found == expected, f"{given} became {found}")
