# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench runs: studies, each of which is a table of configurations that take turns on some
workloads. What is compared stands side by side in a study's configurations: it runs in the same minute."""

import os
import shlex
from dataclasses import dataclass, replace

import bench_stats
import workloads


@dataclass(frozen=True)
class Settings:
    """Of a workload."""

    wide: str = "192M"  # maxsize that leaves room for some collections between two sync points
    narrow: str = "64M"  # one that makes files be deleted again and again
    repeat: int = 1  # iterations for each one that is asked for


@dataclass(frozen=True)
class Configuration:
    meaning: str
    patched: bool = True  # the JDK; False: the stock one
    options: str = ""  # of the agent, with {wide} and {narrow}; empty: no agent
    rotates: bool = False
    flags: tuple = ()  # of the JVM, with {folder} and {library}
    library: str = ""  # the environment variable that names it; the configuration is skipped without
    # Run between warm-up and the first iteration that counts, with {analyzer}, {library} (the agent), {folder}
    # and {pid}.
    command: str = ""
    java_agent: str = ""  # a jar in build/java and its options, with {folder}
    collector: str = "Parallel"
    release: int = 17  # of the JDK
    # "made" or "copied": objects of the sites that a traced run of the same workload lists are made old, or
    # copied there at once.
    pretenures: str = ""
    whole: bool = True  # False: a baseline that may die or run into the time limit, which is then its result

    @property
    def attaches(self):
        return " attach " in self.command

    def agent(self, workload):
        settings = settings_of(workload)
        return self.options.format(wide=settings.wide, narrow=settings.narrow)


@dataclass(frozen=True)
class Study:
    meaning: str
    base: str  # configuration that the others are compared with
    configurations: tuple
    workloads: tuple
    pairs: int = bench_stats.FEWEST
    page: str = "benchmarks"  # in docs/
    quick: tuple = ()  # workloads of --quick where none is named; empty: all
    once: tuple = ()  # workloads that take long: a run is one iteration without warm-up
    iterations: int = 3  # the default
    warmup: int = 1  # the default: iterations before them
    most_times: int = 12  # what takes longer than so many times the base is stopped
    probe: bool = False  # a run is one of bench_probes, and the workloads are cases of it

    def runs_stock(self):
        """Whether the JDK without the patch is among what is compared."""
        return any(not CONFIGURATIONS[name].patched for name in self.configurations)


SETTINGS = {
    "javac": Settings(wide="384M"),
    "javac-xml": Settings(wide="384M"),
    "allocate": Settings(wide="384M", repeat=4),
    "longlived": Settings(narrow="48M", repeat=2),
    # Their iterations are short: after a few of them the compilers are still at work.
    "xml.validation": Settings(repeat=10),
    "xml.transform": Settings(narrow="8M", repeat=4),
    "batik": Settings(narrow="8M", repeat=4),
    "bytecode": Settings(repeat=4),
    "jython": Settings(narrow="8M", repeat=4),
    # Short traces: in files of the usual size nothing would be deleted.
    "luindex": Settings(narrow="4M"),
    "xalan": Settings(narrow="4M"),
    "tomcat": Settings(narrow="8M"),
    "scala-actors": Settings(narrow="8M"),
    "fop": Settings(narrow="8M"),
    "serial": Settings(narrow="8M"),
}


def settings_of(workload):
    return SETTINGS.get(workload, Settings())


CONFIGURATIONS = {
    "stock": Configuration("the JDK without the patch, no agent", patched=False),
    "patched": Configuration("the patched JDK, no agent: every object carries its allocation site"),
    "traced": Configuration(
        "the patched JDK with the agent, compress=full (the default)", options="compress=full"
    ),
    "budget": Configuration(
        "as traced, budget=3%: a share of the stretches is read, what lives is exact", options="budget=3%"
    ),
    "unaided": Configuration(
        "as traced, walkers=0: the application's threads read all by themselves", options="walkers=0"
    ),
    "partial": Configuration("as traced, compress=partial", options="compress=partial"),
    "uncompressed": Configuration("as traced, compress=off", options="compress=off"),
    "wide": Configuration(
        "as traced, rotating in ten files within a bound that leaves them room",
        options="maxsize={wide}",
        rotates=True,
    ),
    "narrow": Configuration(
        "as traced, rotating in ten files within a tight bound", options="maxsize={narrow}", rotates=True
    ),
    "kept": Configuration("as narrow, with keep=yes", options="maxsize={narrow},keep=yes", rotates=True),
    "counted-from": Configuration(
        "as traced; the agent is asked for its counters when the warm-up has ended",
        options="mode=full",
        command="{analyzer} ctl {pid} dump-stats",
    ),
    "sampled": Configuration(
        "the stock JDK with the agent, mode=sample: one sample in 512 KB on average",
        patched=False,
        options="mode=sample,interval=512K",
    ),
    "sampled-fine": Configuration(
        "as sampled, one sample in 16 KB", patched=False, options="mode=sample,interval=16K"
    ),
    "jfr": Configuration(
        "the stock JDK with JFR, settings=profile, which samples allocations, too",
        patched=False,
        flags=("-XX:StartFlightRecording=settings=profile,filename={folder}/flight.jfr",),
    ),
    "async": Configuration(
        "the stock JDK with async-profiler, event=alloc, its own interval",
        patched=False,
        library="ASYNC_PROFILER",
        flags=("-agentpath:{library}=start,event=alloc,file={folder}/async.jfr",),
    ),
    "dumps": Configuration(
        "the stock JDK, a heap dump after each collection (`dumps.jar=every=1gc`)",
        patched=False,
        java_agent="dumps.jar=every=1gc,histogram=no,out={folder}/dumps.json,dir={folder}",
        whole=False,
    ),
    "counted": Configuration(
        "the stock JDK, instrumentation that counts allocations outside the JDK (`instrument.jar=mode=count`)",
        patched=False,
        java_agent="instrument.jar=mode=count,out={folder}/instrument.json",
        whole=False,
    ),
    "deaths": Configuration(
        "as counted, with deaths by phantom references (`mode=deaths`)",
        patched=False,
        java_agent="instrument.jar=mode=deaths,out={folder}/instrument.json",
        whole=False,
    ),
}
CONFIGURATIONS["stopped"] = replace(
    CONFIGURATIONS["traced"],
    command="{analyzer} ctl {pid} stop",
    meaning="as traced during the warm-up, then stopped: what is measured is not traced",
)
CONFIGURATIONS["attached"] = Configuration(
    "the patched JDK; the agent comes when the warm-up has ended (`anttracks attach`)",
    command="{analyzer} attach --lib {library} {pid} file={folder}/trace,stats={folder}/stats.json",
)
COLLECTORS = ("Parallel", "Serial", "G1")


def of_collector(name, collector):
    """The name of patched, traced, budget, wide, narrow, stopped or attached with that collector."""
    return name if collector == "Parallel" else f"{collector.lower()}-{name}"


for collector in COLLECTORS[1:]:
    CONFIGURATIONS |= {
        of_collector(name, collector): replace(
            CONFIGURATIONS[name], collector=collector, meaning=f"as {name}, with the {collector} collector"
        )
        for name in ("patched", "traced", "budget", "wide", "narrow", "stopped", "attached")
    }
CONFIGURATIONS |= {
    of_collector("pretenured", collector): replace(
        CONFIGURATIONS[of_collector("patched", collector)],
        pretenures="made",
        meaning=f"as {of_collector('patched', collector)}, with the sites that a traced run lists made old "
        "(`anttracks lifetimes --pretenure-list`, `-XX:AntTracksPretenure=`)",
    )
    for collector in ("Parallel", "Serial")
}
CONFIGURATIONS |= {
    of_collector("promoted", collector): replace(
        CONFIGURATIONS[of_collector("patched", collector)],
        pretenures="copied",
        meaning="the same sites, whose objects are made young, and old by the first collection that copies "
        "them (`-XX:+AntTracksPretenureByCopy`)",
    )
    for collector in COLLECTORS
}
RELEASES = (21, 25)  # beside 17, whose figures are in the other studies


def of_release(name, release):
    """The name of stock, patched, traced or budget on that JDK."""
    return f"jdk{release}-{name}"


CONFIGURATIONS |= {
    of_release(name, release): replace(
        CONFIGURATIONS[name], release=release, meaning=f"as {name}, on JDK {release}"
    )
    for release in RELEASES
    for name in ("stock", "patched", "traced", "budget")
}
COMPACT = ("-XX:+UseCompactObjectHeaders",)
CONFIGURATIONS |= {
    f"compact-{name}": replace(
        CONFIGURATIONS[of_release(name, 25)],
        flags=COMPACT if name == "stock" else (*COMPACT, "-XX:AntTracksSites=ash"),
        meaning=f"as {of_release(name, 25)}, with `-XX:+UseCompactObjectHeaders`"
        + ("" if name == "stock" else " and `-XX:AntTracksSites=ash`, the scheme that goes with them"),
    )
    for name in ("stock", "patched", "traced")
}
SCHEMES = ("off", "mark", "ash", "hash-eliminate", "hash")  # of -XX:AntTracksSites, the dearest last
CONFIGURATIONS |= {
    name: Configuration(
        f"the patched JDK with `-XX:AntTracksSites={name}`, no agent",
        flags=(f"-XX:AntTracksSites={name}",),
        whole=False,
    )
    for name in SCHEMES
}
CONFIGURATIONS |= {
    f"{name}-narrow": replace(
        CONFIGURATIONS["narrow"],
        meaning=f"as narrow, with `-XX:AntTracksSites={name}`",
        flags=(f"-XX:AntTracksSites={name}",),
    )
    for name in ("ash", "hash", "hash-eliminate")
}
CONFIGURATIONS["census"] = Configuration(
    "the patched JDK with the agent, `mode=census,every=1s`: each second, after a collection, what is live is "
    "counted by site and class",
    options="mode=census,every=1s",
)
# What -XX:hashCode=N of HotSpot does, in the words of ICPE 2016, section 4.4; 5 is the default.
STRATEGIES = (
    "Park-Miller RNG",
    "stable stop-the-world with address",
    "constant value",
    "global counter",
    "address",
    "Marsaglia's xor-shift",
)
CONFIGURATIONS |= {
    f"hashcode-{number}": Configuration(
        f"the stock JDK with `-XX:hashCode={number}`: {what}",
        patched=False,
        flags=("-XX:+UnlockExperimentalVMOptions", f"-XX:hashCode={number}"),
        whole=False,
    )
    for number, what in enumerate(STRATEGIES[:-1])
}
# Some that keep what they make, some whose objects die young.
PRETENURED = ("longlived", "h2", "javac", "serial")
IN_TURN = ("off", "mark", "stock", "ash", "hash-eliminate", "hash")
WORST = ("identity-hash", "identity-hash-1m")
SITES_PAGE = "benchmarks-sites"
HEAVY = ("javac", "xml.validation", "jython", "allocate", "longlived")
STUDIES = {
    "cost": Study(
        "what tracing costs",
        "patched",
        ("patched", "traced", "budget", "wide"),
        workloads.GENERAL,
        pairs=10,
        once=("identity-hash",),
    ),
    "g1": Study(
        "the same with G1",
        "g1-patched",
        tuple(of_collector(name, "G1") for name in ("patched", "traced", "budget", "wide")),
        workloads.GENERAL,
        page="benchmarks-collectors",
        once=("identity-hash",),
    ),
    "objects": Study(
        "what an object costs in steady state",
        "patched",
        ("patched", "counted-from"),
        ("javac", "serial", "bytecode"),
        iterations=4,
        warmup=3,
    ),
    "profilers": Study(
        "tracing beside profilers that sample",
        "stock",
        ("jfr", "sampled", "stock", "traced", "async"),
        ("javac", "allocate", "serial", "xml.validation", "h2", "longlived"),
        pairs=10,
    ),
    "rotation": Study(
        "compression and rotation",
        "traced",
        ("partial", "uncompressed", "patched", "traced", "wide", "narrow", "kept"),
        HEAVY,
    ),
    "walkers": Study(
        "reading by walkers, and without",
        "unaided",
        ("traced", "unaided"),
        ("scala-fun", "allocate", "serial", "lusearch", "h2"),
        pairs=10,
    ),
    "techniques": Study(
        "other ways to monitor memory",
        "stock",
        ("sampled", "stock", "traced", "sampled-fine", "counted", "dumps", "deaths"),
        ("javac", "xml.validation", "jython", "h2", "scalac", "longlived"),
    ),
    "collectors": Study(
        "what tracing and rotation cost with each collector",
        "patched",
        tuple(
            of_collector(name, collector)
            for collector in COLLECTORS
            for name in ("patched", "traced", "budget", "narrow")
        ),
        ("javac", "h2", "lusearch", "longlived"),
        page="benchmarks-collectors",
    ),
    "after-stop": Study(
        "what is left of the cost when tracing was stopped",
        "patched",
        tuple(of_collector(name, collector) for collector in COLLECTORS for name in ("patched", "stopped")),
        ("javac", "lusearch"),
        page="benchmarks-collectors",
    ),
    "attach": Study(
        "how long a program waits for the agent to be attached",
        "attached",
        tuple(of_collector("attached", collector) for collector in COLLECTORS),
        ("longlived-1g",),
        page="benchmarks-collectors",
        iterations=1,
    ),
    "pretenure": Study(
        "what it saves to make objects old at once whose sites promote them anyway",
        "patched",
        ("patched", "pretenured", "promoted"),
        PRETENURED,
        page="benchmarks-pretenure",
    ),
    "pretenure-serial": Study(
        "the same with Serial",
        "serial-patched",
        ("serial-patched", "serial-pretenured", "serial-promoted"),
        PRETENURED,
        page="benchmarks-pretenure",
    ),
    "pretenure-g1": Study(
        "the same with G1, which makes no object old",
        "g1-patched",
        ("g1-patched", "g1-promoted"),
        PRETENURED,
        page="benchmarks-pretenure",
    ),
    "sites": Study(
        "what it costs that objects carry their site, by where it lives, without an agent",
        "stock",
        IN_TURN,
        tuple(workloads.WORKLOADS),
        page=SITES_PAGE,
        pairs=bench_stats.FEWEST_OF_SMALL,
        quick=("serial", "identity-hash-1m", "identity-maps"),
        once=("identity-hash",),
        most_times=200,  # the worst case of hash, which is to end
    ),
    "sites-traced": Study(
        "what it costs a traced program where its sites live, rotating within a tight bound",
        "narrow",
        ("traced", "narrow", "ash-narrow", "hash-narrow", "hash-eliminate-narrow"),
        tuple(name for name in workloads.GENERAL if name not in WORST),
        page=SITES_PAGE,
        pairs=bench_stats.FEWEST_OF_SMALL,
        quick=("serial",),
    ),
    "census": Study(
        "what a census each second costs",
        "stock",
        ("stock", "census"),
        # Those of SPECjvm2008 and DaCapo, which VEE 2010 has, and two that keep much.
        (
            "javac",
            "serial",
            "xml.transform",
            "xml.validation",
            "derby",
            "sunflow",
            "h2",
            "lusearch",
            "luindex",
            "xalan",
            "longlived",
            "leak",
        ),
        page=SITES_PAGE,
        pairs=bench_stats.FEWEST_OF_SMALL,
        quick=("serial",),
    ),
    "strategies": Study(
        "the stock JDK's ways to make identity hashes, on the worst case",
        "stock",
        ("hashcode-0", "hashcode-1", "stock", "hashcode-3", "hashcode-4", "hashcode-2"),
        WORST,
        page=SITES_PAGE,
        quick=("identity-hash-1m",),
        once=("identity-hash",),
        most_times=30,
    ),
    "collisions": Study(
        "how many objects have the same identity hash",
        "stock",
        IN_TURN,
        (
            "1 site",
            "16 sites",
            "1024 sites",
            "1 site, scattered",
            "16 sites, scattered",
            "1024 sites, scattered",
        ),
        page=SITES_PAGE,
        quick=("1 site", "1 site, scattered"),
        probe=True,
    ),
    "code": Study(
        "the size of compiled methods",
        "stock",
        IN_TURN,
        ("serial C1", "serial C2", "javac C1", "javac C2"),
        pairs=bench_stats.FEWEST_OF_SMALL,
        page=SITES_PAGE,
        quick=("serial C1", "serial C2"),
        probe=True,
    ),
    "start-up": Study(
        "the life of a JVM that says hello", "stock", IN_TURN, ("hello",), 20, page=SITES_PAGE, probe=True
    ),
    "clones": Study(
        "what a class for each site would mean (ASC), simulated from traces",
        "traced",
        ("traced",),
        workloads.GENERAL,
        pairs=1,
        page=SITES_PAGE,
        quick=("serial",),
        probe=True,
    ),
}
STUDIES |= {
    f"jdk{release}": Study(
        f"what tracing costs on JDK {release}",
        of_release("patched", release),
        tuple(of_release(name, release) for name in ("stock", "patched", "traced", "budget")),
        ("javac", "h2", "lusearch"),
        page="benchmarks-releases",
    )
    for release in RELEASES
}
STUDIES["compact"] = Study(
    "what sites and tracing cost a JVM with compact headers",
    "compact-stock",
    (of_release("stock", 25), "compact-stock", "compact-patched", "compact-traced"),
    ("javac", "h2", "lusearch", "longlived", "identity-hash-1m", "identity-maps"),
    page="benchmarks-releases",
)
QUICK = ("cost", "profilers", "allocate", "serial", "xml.validation")
PAIRS_OF_QUICK = bench_stats.FEWEST


def why_not(configuration, environment=os.environ):
    """Why it cannot run here; empty if it can."""
    name = CONFIGURATIONS[configuration].library
    path = environment.get(name, "")
    if not name or os.path.isfile(path):
        return ""
    return f"the environment variable {name} names no library" + (f": no file {path}" if path else "")


def libraries(configurations, environment=os.environ):
    """{configuration: path} of those that run with a library that is not ours."""
    variables = {c: CONFIGURATIONS[c].library for c in configurations}
    return {c: environment[variable] for c, variable in variables.items() if variable}


class Unknown(Exception):
    pass


# What a study of bench_probes has in the place of workloads, unless it is one: "javac C2".
CASES = tuple(
    dict.fromkeys(
        case
        for study in STUDIES.values()
        if study.probe
        for case in study.workloads
        if case not in workloads.WORKLOADS
    )
)


def studies_of(words, alone):
    """sites alone is every study of its page."""
    named = [w for w in words if w in STUDIES]
    if named == ["sites"] and alone:
        return [name for name, study in STUDIES.items() if study.page == SITES_PAGE]
    return named


def chosen(study, names, named):
    """Which of these workloads and cases a study runs. named: whether the study is, too. Then it runs any
    workload; in a study of cases a workload stands for the cases that begin with it."""
    if not named:
        return tuple(n for n in names if n in study.workloads)
    if study.probe:
        return tuple(c for c in study.workloads if c in names or c.split()[0] in names)
    return tuple(n for n in names if n in workloads.WORKLOADS)


def plan(words, quick=False):
    """[(study, workloads, configurations)] for names of studies, workloads, cases and configurations; no word:
    everything. A workload or case that is named runs in every study that is named (or in those it belongs to);
    a study's base always runs.
    """
    for word in words:
        if not any(word in known for known in (STUDIES, CONFIGURATIONS, workloads.WORKLOADS, CASES)):
            raise Unknown(
                f"{word} is no study ({', '.join(STUDIES)}), no workload ({', '.join(workloads.WORKLOADS)}), "
                f"no case of a study ({quoted(CASES)}) and no configuration ({', '.join(CONFIGURATIONS)})"
            )
    names = [w for w in words if w in workloads.WORKLOADS or w in CASES]
    wanted = [w for w in words if w in CONFIGURATIONS]
    studies = studies_of(words, not names and not wanted)
    steps = []
    for name, study in STUDIES.items():
        if studies and name not in studies:
            continue
        use = quick and study.quick or study.workloads
        if names:
            use = chosen(study, names, name in studies)
            if studies and not use:
                raise Unknown(f"{name} has no {' and no '.join(names)}, but {quoted(study.workloads)}")
        configurations = study.configurations
        if wanted:
            configurations = tuple(c for c in configurations if c in wanted or c == study.base)
            if not set(configurations) & set(wanted):
                continue
        if use:
            steps.append((name, use, configurations))
    if not steps:
        raise Unknown(f"no study has {' and '.join(words)} together; name the study, too: {', '.join(STUDIES)}")
    return steps


def quoted(names):
    """As a shell takes them: a case's name has a blank."""
    return ", ".join(shlex.quote(name) for name in names)
