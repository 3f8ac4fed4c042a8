# SPDX-License-Identifier: Apache-2.0
"""Programs of the exactness tests under HotSpot's own stress, everything chosen at random from a seed."""

import random
from dataclasses import dataclass

from .exact import judge, judge_rotated
from .world import expect, java_command, run, run_traced, tail

COLLECTORS = ("Parallel", "Serial", "G1")
DIAGNOSTIC = "-XX:+UnlockDiagnosticVMOptions"
ROTATED = ",maxsize=8M,dev=0.25,keep=yes"


@dataclass(frozen=True)
class Program:
    main: str
    arguments: tuple = ()
    flags: tuple = ("-Xmx64m",)
    slow: bool = False  # where everything is compiled, or in a VM with assertions


PROGRAMS = (
    Program("Mix", (60_000,)),
    Program("Threads"),
    Program("Locks"),
    Program("Clones"),
    Program("Reflection"),
    Program("Native"),
    Program("Lambdas"),
    Program("Mirrors", slow=True),
    Program("Unloading", slow=True),
    Program("References"),
    Program("Deopt"),
    Program("Oom", flags=("-Xmx48m",)),
    Program("UnsafeAllocate"),
    Program("Arrays2", flags=("-Xmx160m",)),
    Program("Survivors", flags=("-Xmx64m", "-Xmn6m", "-XX:SurvivorRatio=8")),
    Program("DenseOld"),
    Program("Regions", (2,), ("-Xmx128m",)),
)


@dataclass(frozen=True)
class Mode:
    name: str
    flags: object  # of a random.Random and a collector: the JVM's flags
    collectors: tuple = COLLECTORS
    debug: bool = False  # only a VM with assertions knows the flags


def verify(_, collector):
    more = ("-XX:+VerifyDuringGC",) if collector == "G1" else ()
    return DIAGNOSTIC, "-XX:+VerifyBeforeGC", "-XX:+VerifyAfterGC", *more


def safepoints(chance, _):
    return DIAGNOSTIC, "-XX:+SafepointALot", f"-XX:GuaranteedSafepointInterval={chance.randint(1, 30)}"


def deflation(chance, _):
    return (
        DIAGNOSTIC,
        f"-XX:AsyncDeflationInterval={chance.randint(1, 20)}",
        "-XX:MonitorUsedDeflationThreshold=0",
    )


def compiler(chance, _):
    passes = ("-XX:+StressIGVN", "-XX:+StressLCM", "-XX:+StressGCM", "-XX:+StressCCP")
    return DIAGNOSTIC, *passes, f"-XX:StressSeed={chance.randint(1, 2**31 - 1)}"


def evacuation(chance, _):
    return (
        "-XX:+G1EvacuationFailureALot",
        f"-XX:G1EvacuationFailureALotCount={chance.randint(10, 2000)}",
        f"-XX:G1EvacuationFailureALotInterval={chance.randint(1, 5)}",
    )


def promotion(chance, _):
    return (
        "-XX:+PromotionFailureALot",
        f"-XX:PromotionFailureALotCount={chance.randint(10, 2000)}",
        f"-XX:PromotionFailureALotInterval={chance.randint(1, 5)}",
    )


def collections(chance, _):
    return "-XX:+ScavengeALot", f"-XX:ScavengeALotInterval={chance.randint(50, 500)}"


MODES = (
    Mode("verify", verify),
    Mode("safepoints", safepoints),
    Mode("deflation", deflation),
    Mode("compiler", compiler),
    Mode("xcomp", lambda *_: ("-Xcomp",)),
    Mode("deoptimize", lambda *_: ("-XX:+DeoptimizeALot",), debug=True),
    Mode("evacuation", evacuation, ("G1",), debug=True),
    Mode("promotion", promotion, ("Parallel", "Serial"), debug=True),
    Mode("collections", collections, debug=True),
)


@dataclass(frozen=True)
class Case:
    """A run: a seed decides all of it, given the kind of VM."""

    seed: int
    program: Program
    collector: str
    modes: tuple
    flags: tuple
    rotated: bool

    @property
    def name(self):
        how = ", rotated" if self.rotated else ""
        modes = " and ".join(m.name for m in self.modes)
        return f"seed {self.seed}: {self.program.main}, {self.collector}, {modes}{how}"


def choose(seed, debug):
    """The case of a seed. debug: the VM has its assertions, and the flags that only such a one knows."""
    chance = random.Random(seed)
    program = chance.choice(PROGRAMS)
    collector = chance.choice(COLLECTORS)
    modes = [mode for mode in MODES if collector in mode.collectors and (debug or not mode.debug)]
    if program.slow:
        modes = [mode for mode in modes if mode.name != "xcomp"]
    chosen = tuple(chance.sample(modes, chance.choice((1, 1, 2))))
    flags = [f"-XX:+Use{collector}GC", *program.flags, f"-Drandom.seed={chance.randint(0, 2**31)}"]
    for mode in chosen:
        flags += [flag for flag in mode.flags(chance, collector) if flag not in flags]
    return Case(seed, program, collector, chosen, tuple(flags), chance.random() < 0.4)


def run_case(test, case):
    """Runs it as a test; the number of histograms and dumps that were compared."""
    options = ROTATED if case.rotated else ""
    trace, done = run_traced(test, case.program.main, case.program.arguments, case.flags, options)
    expect(done.stderr == "", f"stderr: {tail(done.stderr, 30)}")
    compared = (judge_rotated if case.rotated else judge)(test.folder, trace)
    expect(compared > 0, "nothing was judged")
    return compared


def is_debug(jdk):
    return "fastdebug" in run([jdk + "/bin/java", "-version"]).stderr


def command_of(case):
    """What to type to see it outside of the test."""
    options = "file=TRACE" + (ROTATED if case.rotated else "")
    return " ".join(java_command(case.program.main, case.program.arguments, case.flags, options))
