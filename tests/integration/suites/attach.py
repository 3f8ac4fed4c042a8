# SPDX-License-Identifier: Apache-2.0
"""Attaching to a program that runs, and control of the agent from outside:
what is recorded is as exact as from the start."""

import json
import os

from judge.attached import Program, marked_line, until
from judge.exact import judge, judge_rotated, rebuilt_objects
from judge.rotated import check_quality, data_files
from judge.world import (
    AGENT,
    JDK,
    SITES,
    add,
    analyze_json,
    expect,
    jdk_release,
    run,
    stock_java,
    tail,
    test,
    verified,
)

COLLECTORS = ("Parallel", "Serial", "G1")


def flags_of(collector, heap="128m"):
    return (f"-XX:+Use{collector}GC", f"-Xmx{heap}")


def each_collector(name, body):
    for collector in COLLECTORS:
        add(
            f"Attached to a program with {collector}: {name}", lambda t, collector=collector: body(t, collector)
        )


def sync_reasons(trace):
    return [
        point["reason"]
        for file in analyze_json("info", trace)["files"]
        for point in file.get("sync_points", [])
    ]


def check_sites(trace, gc):
    """All live objects have their site, those from before the agent, too. Returns their classes by site."""
    sites = {}
    for name, _, site in rebuilt_objects(trace, gc).values():
        sites.setdefault(site, []).append(name)
    unknown = [(site, len(names), names[:3]) for site, names in sites.items() if not site or "unknown" in site]
    expect(not unknown, f"objects without a site: {unknown}")
    early = f"Attached.main(Attached.java:{marked_line('early')})"
    expect(
        sites.get(early, []).count("Attached$Early") == 20_000,
        f"{len(sites.get(early, []))} objects at {early}",
    )
    arrays = f"Attached$Early.<init>(Attached.java:{marked_line('bytes')})"
    expect(sites.get(arrays, []).count("byte[]") == 20_000, f"{len(sites.get(arrays, []))} objects at {arrays}")
    return sites


def check_archive(sites):
    """What was made when the archive of shared classes was is told as that."""
    archived = sites.get("<archive>", [])
    expect(
        len(archived) > 1000 and {"java.lang.Class", "java.lang.String"} <= set(archived),
        f"{len(archived)} objects of the archive, of {sorted(set(archived))[:5]}",
    )


def exact_from_the_middle(t, collector):
    trace = t.path("trace")
    with Program(t, flags_of(collector)) as program:
        program.tell("gc")
        said = program.attach(f"file={trace}").stdout
        expect(trace in said and collector in said and "sync point" in said, f"it says {said!r}")
        program.tell("both")
        program.tell("both")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    expect(judge(t.folder, trace) == 4, "not all was judged")
    expect(sync_reasons(trace) == ["attach"], f"{sync_reasons(trace)}")
    check_quality(trace)
    sites = check_sites(trace, analyze_json("gcs", trace)["gcs"][-1]["id"])
    # With 17 only G1 has its objects; from 21 on they have no site in schemes that have it in the hash.
    told = SITES in (None, "mark") if jdk_release() >= 21 else collector == "G1"
    if told:
        check_archive(sites)


each_collector("the heap is exact, and every live object has its site", exact_from_the_middle)


def listed_beside(t, collector):
    """Traces of a program with a heap that is listed after the pause,
    until collections have come into two listings.

    The heap after the last collection, which the program dumps, is exact in each of them."""
    with Program(t, (*flags_of(collector, "400m"), "-Xmn4m"), threads=4, objects=700_000) as program:
        program.tell("gc")
        within = cycles = 0
        while within < 2:
            expect(cycles < 60, f"a collection came into {within} of {cycles} listings only")
            cycles += 1
            trace = t.path(f"{cycles}.trace")
            program.attach(f"file={trace}")
            listed = program.status()["trace"]["counters"]["sync_objects"]
            expect(listed > 1_400_000, f"{listed} objects when attach has answered")
            whole = cycles == 1
            if whole:
                program.tell("both")
            program.ctl("stop")
            verified(trace)
            gcs = analyze_json("gcs", trace)["gcs"]
            within += any(not gc["exact"] for gc in gcs)
            if whole:
                expect(judge(t.folder, trace) == 2, "not all was judged")
            os.remove(trace)
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")


each_collector("a large heap is listed beside the program, whatever collections come", listed_beside)


def cycles(t, collector):
    """Twenty traces of one program under load, one after the other."""
    marking = ("-XX:G1HeapRegionSize=1m", "-XX:InitiatingHeapOccupancyPercent=10") if collector == "G1" else ()
    with Program(t, (*flags_of(collector), *marking), threads=4) as program:
        traces = []
        program.attach("file=cycle.trace")
        for number in range(1, 21):
            traces.append(t.path("cycle.trace" if number == 1 else f"cycle-{number}.trace"))
            expect(
                program.status()["trace"]["file"] == traces[-1],
                f"{program.status()['trace']['file']} instead of {traces[-1]}",
            )
            if number % 5 == 0:
                program.tell("gc")
            program.ctl("stop")
            expect(not program.open_files(), f"open: {program.open_files()}")
            until(lambda: not program.agent_threads(), f"threads of the agent: {program.agent_threads()}")
            if number == 5:
                settled = program.resident()
            if number < 20:
                program.ctl("start")
        # Twenty queues would be 600 MB.
        grown = program.resident() - settled
        expect(grown < 64 << 20, f"memory grew by {grown} bytes in 15 cycles")
        program.attach("file=last.trace")
        program.tell("both")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    for trace in traces:
        verified(trace)
        expect(
            sync_reasons(trace) == ["attach"] and analyze_json("info", trace)["counters"]["objects"] > 0,
            f"{trace} is empty",
        )
    expect(judge(t.folder, t.path("last.trace")) == 2, "the last one was not judged")


each_collector("the agent is stopped and started twenty times under load, and leaves nothing", cycles)


def rotated(t, collector):
    trace = t.path("trace")
    with Program(t, flags_of(collector), threads=2) as program:
        program.attach(f"file={trace},maxsize=2M,dev=0.1")
        before = program.status()["trace"]["counters"]["files"]
        said = program.ctl("rotate").stdout
        expect(
            program.status()["trace"]["counters"]["files"] > before and "files begun" in said,
            f"no new file: {said!r}",
        )
        until(lambda: data_files(trace) and min(data_files(trace)) > 2, "no data file was deleted")
        program.tell("both")
        program.end()
    expect(judge_rotated(t.folder, trace) > 0, "nothing was judged")
    check_quality(trace)


each_collector("a trace with a bound rotates, by itself and on request", rotated)


@test("A trace that was stopped is whole, nothing of the agent is left, and the program goes on")
def stopped(t):
    trace = t.path("trace")
    with Program(t) as program:
        program.attach(f"file={trace},maxsize=64M,stats={t.path('stats')}")
        expect(
            set(program.agent_threads()) >= {"anttracks", "AntTracks"} and program.open_files(),
            f"{program.agent_threads()}",
        )
        said = program.ctl("stop").stdout
        expect(trace in said and "no more" in said, f"it says {said!r}")
        expect(not program.open_files(), f"open: {program.open_files()}")
        until(lambda: not program.agent_threads(), "threads of the agent are left")
        size = os.path.getsize(trace)
        status = program.status()
        expect((status["state"], status["trace"]["file"]) == ("stopped", trace), f"{status}")
        end = analyze_json("info", trace)["counters"]
        expect(
            end["objects"] == status["trace"]["counters"]["objects"] > 0,
            f"END has {end['objects']} objects, status {status}",
        )
        with open(t.path("stats"), encoding="utf-8") as file:
            expect(json.load(file)["state"] == "ended", "stats= was not written at the end")
        for action in ("stop", "rotate", "dump-stats"):
            refused = program.ctl(action, code=12)
            expect("nothing is traced" in refused.stderr, f"{action}: {refused.stderr!r}")
        program.tell("gc")
        expect(
            os.path.getsize(trace) == size
            and program.status()["trace"]["counters"] == status["trace"]["counters"],
            "it went on",
        )
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    verified(trace)
    expect(analyze_json("info", trace)["end_reason"] == "stopped on request", "it does not say why it ended")


@test("Attaching twice says by what the JVM is traced, and changes nothing")
def twice(t):
    trace = t.path("trace")
    with Program(t) as program:
        program.attach(f"file={trace}")
        again = program.attach(f"file={t.path('other')}", code=12)
        for word in ("traced already", trace, f"ctl {program.pid} stop"):
            expect(word in again.stderr, f"{word!r} is not in {again.stderr!r}")
        again = program.ctl("start", f"file={t.path('other')}", code=12)
        expect("traced already" in again.stderr, f"{again.stderr!r}")
        plain = run(
            [JDK + "/bin/jcmd", str(program.pid), "JVMTI.agent_load", AGENT, f'"file={t.path("other")}"']
        )
        expect(
            "return code: -1" in plain.stdout and "traced already" in program.stderr(),
            f"{plain.stdout} {program.stderr()}",
        )
        expect(not os.path.exists(t.path("other")), "the other file was made")
        program.tell("both")
        program.end()
    expect(judge(t.folder, trace) == 2, "nothing was judged")


@test("Attaching again after a stop takes the next free name, and leaves the trace before alone")
def again(t):
    with Program(t, work=False) as program:
        for name in ("", "-2", "-3"):
            expect(f"anttracks-{program.pid}{name}.trace" in program.attach().stdout, "another name was taken")
            program.ctl("stop")
        program.end()
    for name in ("", "-2", "-3"):
        verified(t.path(f"anttracks-{program.pid}{name}.trace"))


@test("A second copy of the agent's library finds the JVM traced, and changes nothing")
def second_copy(t):
    copy = t.path("libanttracks.so")
    run(["cp", "-L", AGENT, copy])
    with Program(t) as program:
        program.attach(f"file={t.path('trace')}")
        again = program.attach(f"file={t.path('other')}", words=("--lib", copy), code=12)
        expect("leave out --lib" in again.stderr, f"{again.stderr!r}")
        again = run(
            [JDK + "/bin/jcmd", str(program.pid), "JVMTI.agent_load", copy, f'"file={t.path("other")}"']
        )
        expect(
            "return code: 0" not in again.stdout and not os.path.exists(t.path("other")), f"{again.stdout!r}"
        )
        program.attach(words=("--lib", os.path.realpath(AGENT)), code=12)  # the same file
        program.tell("both")
        program.end()
    expect(judge(t.folder, t.path("trace")) == 2, "nothing was judged")


@test("An agent from the command line takes the same requests")
def from_the_start(t):
    with Program(t, agent=f"file={t.path('first')}") as program:
        expect(program.status()["state"] == "tracing", f"{program.status()}")
        text = program.ctl("status").stdout
        for word in ("Parallel", "every object", t.path("first"), "a second", "losses      none"):
            expect(word in text, f"{word!r} is not in {text!r}")
        counters = json.loads(program.ctl("dump-stats").stdout)
        expect(counters["state"] == "running" and counters["counters"]["objects"] > 0, f"{counters}")
        refused = program.ctl("rotate", code=12)
        expect("maxsize=" in refused.stderr, f"{refused.stderr!r}")
        program.ctl("stop")
        program.ctl("start", "compress=off,file=second")
        program.tell("both")
        program.end()
    verified(t.path("first"))
    expect(sync_reasons(t.path("first")) == ["start"], "the first one began with the JVM")
    expect(judge(t.folder, t.path("second")) == 2, "nothing was judged")


@test("Wrong options and files are refused with their reason, and the next attempt succeeds")
def refused_then_fine(t):
    with open(t.path("taken"), "w", encoding="utf-8") as file:
        file.write("precious")
    with Program(t) as program:
        for options, word in (
            ("file=taken", "exists"),
            ("nonsense=1", "unknown option"),
            ("maxsize", "needs a value"),
            ("file=/no/such/folder/trace", "No such file"),
            ("help", "option "),
        ):
            refused = program.attach(options, code=12)
            expect(word in refused.stderr, f"{word!r} is not in {refused.stderr!r}")
        expect(
            not program.agent_threads() and sorted(os.listdir(t.folder)) == ["stderr", "taken"],
            f"{os.listdir(t.folder)}",
        )
        program.attach()
        default = t.path(f"anttracks-{program.pid}.trace")
        expect(program.status()["trace"]["file"] == default, f"{program.status()['trace']['file']}")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    verified(default)
    with open(t.path("taken"), encoding="utf-8") as file:
        expect(file.read() == "precious", "the file was changed")


@test("jcmd loads the agent with options in quotes of their own, and says so when it cut them off")
def by_jcmd(t):
    with Program(t) as program:
        load = [JDK + "/bin/jcmd", str(program.pid), "JVMTI.agent_load", AGENT]
        cut = run([*load, f"maxsize=64M,file={t.path('trace')}"])
        expect("return code: -1" in cut.stdout, f"{cut.stdout!r}")
        expect(
            "needs a value" in program.stderr() and "anttracks attach PID" in program.stderr(),
            f"{program.stderr()!r}",
        )
        fine = run([*load, f'"maxsize=64M,file={t.path("trace")}"'])
        expect("return code: 0" in fine.stdout, f"{fine.stdout!r}")
        program.tell("both")
        program.end()
    expect(judge(t.folder, t.path("trace")) == 2, "nothing was judged")


@test(
    "A stock JVM is sampled when it is attached to, with one line that says what is missing, "
    "stopped and started"
)
def stock(t):
    with Program(t, jdk=stock_java()) as program:
        said = program.attach("file=samples,interval=16K")
        lines = said.stderr.splitlines()
        expect(
            len(lines) == 1 and "not patched" in lines[0] and "sampled" in said.stdout,
            f"{said.stderr!r} {said.stdout!r}",
        )
        until(lambda: program.status()["trace"]["counters"]["samples"] > 1000, "too few samples")
        program.ctl("stop")
        expect(not program.open_files(), f"open: {program.open_files()}")
        until(lambda: not program.agent_threads(), "threads of the agent are left")
        verified(t.path("samples"))
        program.ctl("start")
        until(lambda: program.status()["trace"]["counters"]["sample_deaths"] > 100, "too few deaths")
        program.end()
        expect(program.stderr() == "", f"stderr: {tail(program.stderr())}")
    verified(t.path("samples-2"))
