# SPDX-License-Identifier: Apache-2.0
"""A few runs under HotSpot's own stress; scripts/stress does as many as wanted,
also with the VM's assertions."""

import os
import random

from judge.stress import COLLECTORS, MODES, PROGRAMS, Case, command_of, deflation, run_case, safepoints, verify
from judge.world import JDK, ROOT, Failure, add, expect, run, test


def stressed(collector):
    def body(t):
        seed = random.SystemRandom().randrange(10**9)
        chance = random.Random(seed)
        program = next(program for program in PROGRAMS if program.main == "Locks")
        flags = [f"-XX:+Use{collector}GC", *program.flags, f"-Drandom.seed={seed}"]
        for mode in (verify, safepoints, deflation):
            flags += [flag for flag in mode(chance, collector) if flag not in flags]
        case = Case(seed, program, collector, MODES[:3], tuple(flags), False)
        try:
            run_case(t, case)
        except Failure as e:
            raise Failure(f"{e}\n{command_of(case)}") from e

    add(
        f"With {collector} HotSpot's verification finds nothing wrong while monitors and safepoints come in "
        "masses",
        body,
    )


for name in COLLECTORS:
    stressed(name)


@test("scripts/stress begins by itself, and names its programs and modes")
def by_itself(_):
    done = run([os.path.join(ROOT, "scripts", "stress"), "--jdk", JDK, "--list"])
    expect(done.returncode == 0, f"ended with {done.returncode}: {done.stderr}")
    for word in [program.main for program in PROGRAMS] + [mode.name for mode in MODES]:
        expect(word in done.stdout, f"{word} is not in {done.stdout}")
