# SPDX-License-Identifier: Apache-2.0
"""A full collection keeps no more marks beside the heap than one of the stock JDK, wherever sites live."""

import re

from judge.world import add, expect, java_command, jdk_release, run, stock_java, tail

PLAIN, HASHED, LOCKED = 500_000, 20_000, 2
SCHEMES = ("mark", "hash", "hash-eliminate", "ash", "off")
# Objects of the JDK itself that have a hash: 90 in JDK 17, 1,614 in 25.
OTHERS = 1_000 if jdk_release() == 17 else 3_000


def preserved(collector, *flags, **options):
    """The number of marks that each of two full collections restored."""
    # From 21 on G1 leaves regions alone in which little is dead.
    compacts = ("-XX:MarkSweepDeadRatio=0",) if jdk_release() >= 21 else ()
    flags = (f"-XX:+Use{collector}GC", "-Xmx128m", "-Xmn24m", "-Xlog:gc=trace", *compacts, *flags)
    done = run(java_command("Marks", (PLAIN, HASHED), flags, **options))
    expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")
    word = "Restoring" if collector == "Serial" else "Restored"
    counts = [int(number) for number in re.findall(rf" {word} (\d+) marks", done.stdout)]
    expect(len(counts) == 2, f"{flags}: {len(counts)} collections: {tail(done.stdout)}")
    # What nothing moves needs no mark: of G1 that is all in the second one.
    return counts if jdk_release() == 17 else [max(counts)]


def no_more(collector):
    def body(t):
        del t
        # As many as there are hashes: otherwise nothing is counted here that the schemes could save.
        stock = preserved(collector, jdk=stock_java())
        expect(HASHED <= min(stock) and max(stock) <= HASHED + OTHERS, f"{stock} on the stock JDK")
        for scheme in SCHEMES:
            counts = preserved(collector, f"-XX:AntTracksSites={scheme}", *headers(compact=False))
            if scheme in ("mark", "off"):
                # Those of the JDK differ by a few from one update to the next.
                expect(HASHED <= min(counts) <= max(counts) <= max(stock) + 50, f"{scheme}: {counts}, {stock}")
            else:  # the hash has the site beside it, and what is left is locked or has no site
                expect(LOCKED <= min(counts) <= max(counts) <= OTHERS, f"{scheme}: {counts}")

    add(f"A full collection with {collector} preserves no more marks than one of the stock JDK", body)


def headers(compact):
    return (f"-XX:{'+' if compact else '-'}UseCompactObjectHeaders",) if jdk_release() >= 25 else ()


def all_of_them(collector):
    """There is no room for a site beside the class: the price is what decision 19 says."""

    def body(t):
        del t
        off, ash = (
            preserved(collector, f"-XX:AntTracksSites={scheme}", *headers(compact=True))
            for scheme in ("off", "ash")
        )
        expect(HASHED <= min(off) and max(off) <= HASHED + OTHERS, f"without sites: {off}")
        # Of Serial each live object, of G1 each that is moved: regions without a dead object stay.
        least = PLAIN if collector == "Serial" else PLAIN // 5
        expect(least <= max(ash), f"with sites {ash} marks are preserved, less than {least}")

    add(f"A full collection with {collector} and compact headers preserves the marks that have a site", body)


# Before 25 Parallel keeps nothing in marks.
for name in ("Serial", "G1", *(("Parallel",) if jdk_release() >= 25 else ())):
    no_more(name)
    if jdk_release() >= 25:
        all_of_them(name)
