# SPDX-License-Identifier: Apache-2.0
"""A full collection keeps no more marks beside the heap than one of the stock JDK, wherever sites live."""

import re

from judge.world import add, expect, java_command, jdk_release, run, stock_java, tail

PLAIN, HASHED, LOCKED = 500_000, 20_000, 2
SCHEMES = ("mark", "hash", "hash-eliminate", "ash", "off")
# Objects of the JDK itself that have a hash: 90 in JDK 17.
OTHERS = 1_000


def preserved(collector, *flags, **options):
    """The number of marks that each full collection restored."""
    flags = (f"-XX:+Use{collector}GC", "-Xmx128m", "-Xmn24m", "-Xlog:gc=trace", *flags)
    done = run(java_command("Marks", (PLAIN, HASHED), flags, **options))
    expect(done.returncode == 0, f"{flags}: {tail(done.stdout)}\n{tail(done.stderr, 20)}")
    counts = [int(number) for number in re.findall(r" Restor(?:ed|ing) (\d+) marks", done.stdout)]
    expect(len(counts) == 2, f"{flags}: {len(counts)} collections: {tail(done.stdout)}")
    return counts


def no_more(collector):
    def body(t):
        del t
        # As many as there are hashes: otherwise nothing is counted here that the schemes could save.
        stock = preserved(collector, jdk=stock_java()) if jdk_release() == 17 else [HASHED + OTHERS]
        expect(HASHED <= min(stock) and max(stock) <= HASHED + OTHERS, f"{stock} on the stock JDK")
        for scheme in SCHEMES:
            counts = preserved(collector, f"-XX:AntTracksSites={scheme}")
            if scheme in ("mark", "off"):
                # Those of the JDK differ by a few from one update to the next.
                expect(HASHED <= min(counts) <= max(counts) <= max(stock) + 50, f"{scheme}: {counts}, {stock}")
            else:  # the hash has the site beside it, and what is left is locked or has no site
                expect(LOCKED <= min(counts) <= max(counts) <= OTHERS, f"{scheme}: {counts}")

    add(f"A full collection with {collector} preserves no more marks than one of the stock JDK", body)


for name in ("Serial", "G1"):
    no_more(name)
