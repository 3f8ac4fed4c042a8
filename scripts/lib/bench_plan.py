# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench runs: workloads and configurations."""

from dataclasses import dataclass


@dataclass
class Workload:
    main: str
    flags: tuple
    wide: str    # maxsize of which about every tenth collection becomes a sync point, as in the paper
    narrow: str  # one that makes files be deleted again and again
    meaning: str
    repeat: int = 1  # iterations for each one that is asked for


@dataclass
class Configuration:
    meaning: str
    options: str = ""  # of the agent, with {wide} and {narrow}; empty: no agent
    rotates: bool = False

    def agent(self, workload):
        return self.options.format(wide=workload.wide, narrow=workload.narrow)


WORKLOADS = {
    "javac": Workload("anttracks.harness.Javac", ("-Xms1g", "-Xmx1g"), "384M", "64M",
                      "the module jdk.compiler compiled in memory"),
    "allocate": Workload("anttracks.harness.Allocate", ("-Xms1g", "-Xmx1g"), "384M", "64M",
                         "two threads that do nothing but allocate small objects and arrays", repeat=4),
    "longlived": Workload("anttracks.harness.LongLived", ("-Xms1g", "-Xmx1g", "-Xmn128m"), "192M", "64M",
                          "a cache of 500 MB, most of it old, with look-ups and replacements on top"),
}
CONFIGURATIONS = {
    "stock": Configuration("the JDK without the patch, no agent"),
    "patched": Configuration("the patched JDK, no agent"),
    "traced": Configuration("the patched JDK with the agent, compress=full (the default)", "compress=full"),
    "partial": Configuration("as traced, compress=partial", "compress=partial"),
    "uncompressed": Configuration("as traced, compress=off", "compress=off"),
    "wide": Configuration("as traced, rotating in ten files within a bound that leaves them room", "maxsize={wide}", True),
    "narrow": Configuration("as traced, rotating in ten files within a tight bound", "maxsize={narrow}", True),
    "kept": Configuration("as wide, with keep=yes", "maxsize={wide},keep=yes", True),
}
