# SPDX-License-Identifier: Apache-2.0
"""Exports of traces of every kind: what foreign readers find in the files has the totals of the analyzer."""

import csv
import glob
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess

from judge.world import ANALYZER, HERE, JDK, ROOT, Skip, analyze, analyze_json, expect, run, tail, test

_FROZEN = os.path.join(ROOT, "tests", "unit", "analyzer", "frozen")
_TRACES = {
    "every object": "2.0/full/full.trace",
    "stacks": "2.1/stacks/stacks.trace",
    "a rotated one": "2.0/rotated/rotated.trace",
    "one of a late attach": "2.0/attached/attached.trace",
    "a budget": "2.0/budget/budget.trace",
    "a share": "2.0/share/share.trace",
    "samples": "2.0/sampled/sampled.trace",
}
_CENSUSES = "2.1/census/census.trace"
_KEYS = ("objects", "bytes", "live_objects", "live_bytes")


def _reader(program, package):
    if shutil.which(program) is None:
        raise Skip(f"{program} is missing: scripts/setup-packages --only {package}")
    return program


def _export(t, kind, what, *options):
    trace, out = os.path.join(_FROZEN, _TRACES.get(what, what)), t.path(kind)
    analyze("export", kind, trace, out, "-f", "--label", "service=web", "--label", "host=a1", *options)
    return trace, out


def _decode(schema, message, content):
    """protoc's reading of a message: for each field the list of its values."""
    folder = os.path.join(HERE, "formats")
    done = subprocess.run(
        [_reader("protoc", "protobuf-compiler"), f"-I{folder}", f"--decode={message}", f"{folder}/{schema}"],
        input=content,
        capture_output=True,
        check=False,
    )
    expect(done.returncode == 0, done.stderr.decode())
    top, open_messages = {}, []
    current = top
    for line in done.stdout.decode().splitlines():
        words = line.strip()
        if words.endswith(" {"):
            open_messages.append(current)
            current = current.setdefault(words[:-2], [])
            current.append({})
            current = current[-1]
        elif words == "}":
            current = open_messages.pop()
        else:
            name, value = words.split(": ", 1)
            expect(not name.isdigit(), f"{message} has a field {name} that the format does not know")
            current.setdefault(name, []).append(
                value[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()
                if value[0] == '"'
                else value == "true"
                if value in ("true", "false")
                else int(value)
            )
    return top


def _sums(rows, key):
    sums = {}
    for row in rows:
        values = [int(row.get(name) or 0) for name in _KEYS]
        if any(values):
            sums[row[key]] = [a + b for a, b in zip(sums.get(row[key], [0] * 4), values)]
    return sums


def _sites(trace, *options):
    return analyze_json("sites", trace, "--live", *options)["sites"]


def _exactly(what):
    """Estimates are rounded where a report rounds them."""
    return what not in ("a budget", "a share", "samples")


def _near(found, wanted, what, slack):
    names = sorted(set(found) | set(wanted))
    off = [
        (n, found.get(n), wanted.get(n))
        for n in names
        if any(abs(a - b) > slack for a, b in zip(found.get(n, [0] * 4), wanted.get(n, [0] * 4)))
    ]
    expect(not off and names, f"{what}: {len(off)} of {len(names)} differ, such as {off[:3]}")


def _read_pprof(content, kinds=("alloc", "inuse")):
    profile = _decode("pprof.proto", "Profile", gzip.decompress(content))
    strings = profile["string_table"]

    def number(message, field):
        return message.get(field, [0])[0]

    expect(strings[0] == "" and len(set(strings)) == len(strings), "string_table")
    types = [(strings[number(v, "type")], strings[number(v, "unit")]) for v in profile["sample_type"]]
    wanted = [
        (f"{kind}_{type_name}", unit)
        for kind in kinds
        for type_name, unit in (("objects", "count"), ("space", "bytes"))
    ]
    expect(types == wanted, f"{types}")
    expect(strings[number(profile, "default_sample_type")] == f"{kinds[0]}_space", "default_sample_type")
    tables = {}
    for name in ("function", "location", "mapping"):
        tables[name] = {number(each, "id"): each for each in profile[name]}
        expect(0 not in tables[name] and len(tables[name]) == len(profile[name]), f"ids of {name}")
    rows = []
    for sample in profile["sample"]:
        names = []
        for location in sample["location_id"]:
            line = tables["location"][location]["line"][0]
            names.append(strings[number(tables["function"][number(line, "function_id")], "name")])
        labels = {strings[number(x, "key")]: strings[number(x, "str")] for x in sample["label"]}
        expect(labels == {"service": "web", "host": "a1"}, f"{labels}")
        rows.append({"class": names[0], "stack": names[1:], **dict(zip(_KEYS[-len(types) :], sample["value"]))})
    return rows, [strings[each] for each in profile["comment"]]


for _what in _TRACES:

    @test(f"Exports: pprof as protoc reads it has the objects and bytes of each class, for {_what}")
    def _pprof(t, what=_what):
        trace, out = _export(t, "pprof", what)
        with open(out, "rb") as file:
            rows, comments = _read_pprof(file.read())
        slack = 0 if _exactly(what) else 20
        _near(_sums(rows, "class"), _sums(_sites(trace), "class"), "classes", slack)
        tree = analyze_json("tree", trace)
        live = analyze_json("tree", trace, "--live")
        totals = [sum(row[key] for row in rows) for key in _KEYS]
        expect(totals == [tree["objects"], tree["bytes"], live["objects"], live["bytes"]], f"{totals}")
        expect(any(c.startswith("estimates") for c in comments) != _exactly(what), f"{comments}")

    @test(f"Exports: sqlite3 reads the objects and bytes of each site, class and thread, for {_what}")
    def _sqlite(t, what=_what):
        trace, out = _export(t, "sqlite", what)

        def query(sql):
            return _query(out, sql)

        expect(query("PRAGMA integrity_check") == [{"integrity_check": "ok"}], "integrity_check")
        rows = query("SELECT * FROM named_allocations")
        for key in ("site", "class", "thread"):
            wanted = _sums(_sites(trace, "--group-by", "site,class,thread"), key)
            _near(_sums(rows, key), wanted, key, 0)
        stacks = query(
            f"SELECT name AS class, {', '.join(_KEYS)} FROM stack_allocations JOIN classes USING (trace, class)"
        )
        _near(_sums(stacks, "class"), _sums(rows, "class"), "stacks", 0 if _exactly(what) else 20)
        gcs = analyze_json("gcs", trace)["gcs"]
        found = query("SELECT gc, start_ns, duration_ns, live_bytes FROM gcs ORDER BY start_ns")
        wanted = [
            (g["id"], g["start_ns"], g["duration_ns"], g["live"]["bytes"] if what != "samples" else None)
            for g in gcs
        ]
        expect([tuple(row.values()) for row in found] == wanted, f"{found[:2]}, {wanted[:2]}")
        labels = query("SELECT name, value FROM labels ORDER BY name")
        expect([tuple(x.values()) for x in labels] == [("host", "a1"), ("service", "web")], f"{labels}")

    @test(f"Exports: the flat table has the rows of sites, for {_what}")
    def _csv(t, what=_what):
        trace, out = _export(t, "csv", what)
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        expect({(r["service"], r["host"]) for r in rows} == {("web", "a1")}, "labels")
        expect({r["basis"] for r in rows} == {"exact" if _exactly(what) else rows[0]["basis"]}, "basis")
        for key in ("site", "class", "thread"):
            _near(_sums(rows, key), _sums(_sites(trace, "--group-by", "site,class,thread"), key), key, 0)

    @test(f"Exports: DHAT's points add up to sites, and no maximum is above its total, for {_what}")
    def _dhat(t, what=_what):
        trace, out = _export(t, "dhat", what)
        with open(out, encoding="utf-8") as file:
            dhat = json.load(file)
        for field in (
            "dhatFileVersion",
            "mode",
            "verb",
            "bklt",
            "bkacc",
            "tu",
            "Mtu",
            "cmd",
            "pid",
            "te",
            "ftbl",
        ):
            expect(field in dhat, f"{field} is missing")
        points = dhat["pps"]
        tree = analyze_json("tree", trace)
        totals = [sum(p[key] for p in points) for key in ("tbk", "tb")]
        expect(totals == [tree["objects"], tree["bytes"]], f"{totals}")
        expect(len({tuple(p["fs"]) for p in points}) == len(points), "two points have the same frames")
        expect(all(0 < f < len(dhat["ftbl"]) for p in points for f in p["fs"]), "frames")
        expect(dhat["bklt"] == _exactly(what), "bklt")
        if dhat["bklt"]:
            # The parts of each number are rounded by themselves.
            wrong = [p for p in points if not p["gb"] <= p["mb"] + 1 <= p["tb"] + 2 or p["eb"] > p["mb"] + 1]
            expect(not wrong and 0 <= dhat["tg"] <= dhat["te"], f"{wrong[:1]}")
            expect(0 < sum(p["gb"] for p in points), "no maximum")

    @test(f"Exports: a timeline as protoc reads it has each collection, for {_what}")
    def _perfetto(t, what=_what):
        trace, events, tracks = _events(t, what)
        slices = [
            (time, sum(a["uint_value"][0] for a in e["debug_annotations"] if a["name"] == ["gc"]))
            for time, e in events
            if e["type"] == [1]
        ]
        ends = [time for time, e in events if e["type"] == [2]]
        gcs = analyze_json("gcs", trace)["gcs"]
        expect(slices == [(g["start_ns"], g["id"]) for g in gcs], f"{slices[:2]}")
        expect(ends == [g["start_ns"] + g["duration_ns"] for g in gcs], f"{ends[:2]}")
        if what != "samples":
            used = [
                e["counter_value"][0]
                for _, e in events
                if e["type"] == [4] and tracks[e["track_uuid"][0]] == "heap used"
            ]
            expect(used == [g[k] for g in gcs for k in ("bytes_before", "bytes_after")], f"{used[:2]}")

    @test(f"Exports: collapsed stacks have the bytes of the tree, for {_what}")
    def _collapsed(t, what=_what):
        trace, out = _export(t, "collapsed", what)
        with open(out, encoding="utf-8") as file:
            text = file.read()
        expect(all(re.fullmatch(r".+;?.+ \d+", line) for line in text.splitlines()), "a line is no stack")
        expect(text == analyze("tree", trace, "--collapsed"), "other than tree --collapsed")


def _query(database, sql):
    done = run([_reader("sqlite3", "sqlite3"), "-json", "-readonly", database, sql])
    expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout or "[]")


def _events(t, what):
    """Of a timeline as protoc reads it: (time, event), and the names of the tracks."""
    trace, out = _export(t, "perfetto", what)
    with open(out, "rb") as file:
        packets = _decode("perfetto.proto", "Trace", file.read())["packet"]
    events = [(p["timestamp"][0], p["track_event"][0]) for p in packets if "track_event" in p]
    descriptors = [d for p in packets for d in p.get("track_descriptor", []) if "name" in d]
    return trace, events, {d["uuid"][0]: d["name"][0] for d in descriptors}


def _counted(trace, key, *options):
    """What a census has of each class or site, in the form of _sums."""
    rows = analyze_json("heap", trace, "--by", key, "--top", "0", *options)["rows"]
    return {row[key]: [0, 0, row["objects"], row["bytes"]] for row in rows}


@test("Exports: foreign readers find in the profiles of a census what heap has of it")
def _census_profiles(t):
    gcs = analyze_json("gcs", os.path.join(_FROZEN, _CENSUSES))["gcs"]
    for gc in (gcs[0]["id"], gcs[len(gcs) // 2]["id"], gcs[-1]["id"]):
        options = ("--gc", str(gc))
        trace, out = _export(t, "pprof", _CENSUSES, *options)
        with open(out, "rb") as file:
            rows, comments = _read_pprof(file.read(), ("inuse",))
        _near(_sums(rows, "class"), _counted(trace, "class", *options), f"pprof, GC {gc}", 0)
        expect(any("was not counted" in comment for comment in comments), f"{comments}")
        with open(_export(t, "csv", _CENSUSES, *options)[1], encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for key in ("class", "site"):
            _near(_sums(rows, key), _counted(trace, key, *options), f"csv, GC {gc}", 0)
        expect({(r["basis"], r["objects"], r["bytes"]) for r in rows} == {("census", "", "")}, f"{rows[0]}")
        with open(_export(t, "collapsed", _CENSUSES, *options)[1], encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        found = {}
        for stack, number in lines:
            leaf = stack.rsplit(";", 1)[1]
            found[leaf] = found.get(leaf, 0) + int(number)
        wanted = {name: numbers[3] for name, numbers in _counted(trace, "class", *options).items()}
        expect(found == wanted, f"collapsed, GC {gc}: {sorted(found.items())[:3]}")
    _, last = _export(t, "pprof", _CENSUSES)
    with open(last, "rb") as file:
        rows, _ = _read_pprof(file.read(), ("inuse",))
    _near(_sums(rows, "class"), _counted(trace, "class"), "without --gc", 0)


@test("Exports: sqlite3 finds each census, and the sites and classes of one")
def _census_sqlite(t):
    trace, out = _export(t, "sqlite", _CENSUSES)
    expect(_query(out, "PRAGMA integrity_check") == [{"integrity_check": "ok"}], "integrity_check")
    rows = _query(out, "SELECT * FROM named_allocations")
    for key in ("class", "site"):
        _near(_sums(rows, key), _counted(trace, key), key, 0)
    expect(all(row["objects"] is None and row["bytes"] is None for row in rows), f"{rows[0]}")
    stacks = _query(
        out,
        f"SELECT name AS class, {', '.join(_KEYS)} FROM stack_allocations JOIN classes USING (trace, class)",
    )
    _near(_sums(stacks, "class"), _counted(trace, "class"), "stacks", 0)
    found = _query(out, "SELECT gc, time_ns, count_ns, old_space, live_bytes FROM censuses ORDER BY gc")
    wanted = [
        (g["id"], g["time_ns"], g["count_ns"], int(g["old_space"]), g["live"]["bytes"])
        for g in analyze_json("gcs", trace)["gcs"]
    ]
    expect([tuple(row.values()) for row in found] == wanted, f"{found[:2]}, {wanted[:2]}")
    expect(_query(out, "SELECT count(*) AS n FROM gcs") == [{"n": 0}], "it has collections")


@test("Exports: a timeline of censuses as protoc reads it has what each counted")
def _census_perfetto(t):
    trace, events, tracks = _events(t, _CENSUSES)
    gcs = analyze_json("gcs", trace)["gcs"]
    counters = {}
    for time, event in events:
        if event["type"] == [4]:
            counters.setdefault(tracks[event["track_uuid"][0]], []).append((time, event["counter_value"][0]))
    for name, key in (("bytes", "bytes"), ("objects", "objects")):
        all_of = [(g["time_ns"], g["live"][key]) for g in gcs]
        telling = [(g["time_ns"], g["live"][key]) for g in gcs if g["old_space"]]
        expect(counters["counted " + name] == all_of, f"{counters['counted ' + name][:2]} {all_of[:2]}")
        expect(counters["live " + name] == telling, f"{counters['live ' + name][:2]} {telling[:2]}")
    used = [(g["time_ns"], g["used"]["old"]) for g in gcs if g["used"]["old"]]
    expect(counters["old used"] == used, f"{counters['old used'][:2]} {used[:2]}")
    slices = [time for time, event in events if event["type"] == [1]]
    expect(slices == [g["time_ns"] for g in gcs], f"{slices[:2]}")


@test("Exports: what a census does not have is refused, with the formats that do")
def _census_refused(t):
    trace = os.path.join(_FROZEN, _CENSUSES)
    for kind in ("dhat", "hprof"):
        done = run([ANALYZER, "export", kind, trace, t.path(kind)])
        expect(done.returncode == 2 and "pprof, sqlite and csv have what is live" in done.stderr, done.stderr)
        expect(not os.path.exists(t.path(kind)), f"{kind} was written")


_HEAP_LIBRARY = "/usr/share/visualvm/visualvm/modules/org-graalvm-visualvm-lib-jfluid-heap.jar"


def _classes_in_dump(t, dump):
    """How many objects of each class VisualVM's heap library finds."""
    if not os.path.exists(_HEAP_LIBRARY):
        raise Skip("VisualVM is missing: scripts/setup-packages --only visualvm")
    utilities = sorted(glob.glob("/usr/share/**/org-openide-util*.jar", recursive=True))
    path = os.pathsep.join([_HEAP_LIBRARY, *utilities, t.path("visualvm")])
    source = os.path.join(HERE, "visualvm", "Counts.java")
    done = run([JDK + "/bin/javac", "-cp", path, "-d", t.path("visualvm"), source])
    expect(done.returncode == 0, done.stderr)
    done = run([JDK + "/bin/java", f"-Djava.io.tmpdir={t.folder}", "-cp", path, "Counts", dump], cwd=t.folder)
    expect(done.returncode == 0, tail(done.stderr))
    found = dict(reversed(line.split(" ", 1)) for line in done.stdout.splitlines())
    return {name: int(count) for name, count in found.items() if count != "0"}


for _what in (what for what in _TRACES if what != "samples"):

    @test(f"Exports: VisualVM's heap library finds the objects of each class, for {_what}")
    def _hprof(t, what=_what):
        trace = os.path.join(_FROZEN, _TRACES[what])
        gc = analyze_json("gcs", trace)["gcs"][-1]["id"]
        for name, options, heap in (("end", (), ("--end",)), ("gc", ("--gc", str(gc)), ("--gc", str(gc)))):
            dump = t.path(name)
            analyze("export", "hprof", trace, dump, *options)
            wanted = {}
            for row in analyze_json("heap", trace, "--by", "class", *heap)["rows"]:
                wanted[row["class"]] = row["objects"]
            found = _classes_in_dump(t, dump)
            off = {
                n: (found.get(n), wanted.get(n))
                for n in set(found) | set(wanted)
                if found.get(n) != wanted.get(n)
            }
            expect(not off and len(wanted) > 50, f"{name}: {len(off)} of {len(wanted)} classes differ: {off}")


@test("Exports: a dump by sites has an object for each site, and the same objects beside them")
def _hprof_by_site(t):
    trace, dump = os.path.join(_FROZEN, _TRACES["stacks"]), t.path("dump")
    analyze("export", "hprof", trace, dump, "--by-site")
    found = _classes_in_dump(t, dump)
    sites = {name: count for name, count in found.items() if name.startswith("site ")}
    by_class = {
        row["class"]: row["objects"] for row in analyze_json("heap", trace, "--by", "class", "--end")["rows"]
    }
    expect(len(sites) > 20 and set(sites.values()) == {1}, f"{sites}")
    expect(found["byte[]"] == by_class["byte[]"], f"{found['byte[]']}")


@test("Exports: nothing half is left where the disk is full, and the file that was there stays")
def _disk_full(t):
    trace = os.path.join(_FROZEN, _TRACES["stacks"])

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for kind in ("pprof", "collapsed", "perfetto", "dhat", "hprof", "sqlite", "csv"):
        out = t.path(kind)
        with open(out, "w", encoding="utf-8") as file:
            file.write("JAVA PROFILE before")
        done = run([ANALYZER, "export", kind, trace, out, "-f"], preexec_fn=limited)
        expect(done.returncode == 2 and f"cannot write {out}: " in done.stderr, f"{kind}: {done.stderr}")
        with open(out, encoding="utf-8") as file:
            expect(file.read() == "JAVA PROFILE before", kind)
    expect(len(os.listdir(t.folder)) == 7, f"{os.listdir(t.folder)}")
