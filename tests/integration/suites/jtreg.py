# SPDX-License-Identifier: Apache-2.0
"""scripts/jtreg: a short subset of HotSpot's own tests, without and with the agent;
and how results are judged and written."""

import json
import os
import shutil
import subprocess

import jtreg_list
import jtreg_page
import jtreg_results
import jtreg_run
from judge.world import ANALYZER, JDK, ROOT, Skip, expect, java_command, run, run_traced, tail, test

JTREG = os.path.join(ROOT, "scripts", "jtreg")
FEWEST = 12  # tests of the short subset
MISSING = 77


def short(t, *options):
    done = run([JTREG, "--jdk", os.path.realpath(JDK), "--short", "--out", t.folder, *options], timeout=3000)
    if done.returncode == MISSING:
        raise Skip(tail(done.stderr, 2).replace("\n", "; "))
    expect(
        done.returncode == 0, f"ended with {done.returncode}\n{tail(done.stdout, 40)}\n{tail(done.stderr, 30)}"
    )
    name = "other" + ("-agent" if options else "")
    data = jtreg_results.load(t.folder, name)
    tally = jtreg_results.counts(data)
    expect(tally.get("passed", 0) >= FEWEST and set(tally) <= {"passed", "skipped"}, f"{tally}")
    expect(set(data["results"]) == set(jtreg_list.SHORT), f"collectors: {set(data['results'])}")
    return data, t.path(name)


@test("HotSpot's own tests pass on the patched JDK (short subset)", slow=True)
def plain(t):
    short(t)


@test("HotSpot's own tests pass with the agent, and their traces are whole (short subset)", slow=True)
def traced(t):
    data, folder = short(t, "--agent")
    traces = data["traces"]
    expect(traces["wrong"] == 0 and traces["verified"] >= FEWEST, f"{traces}")
    expect(os.listdir(os.path.join(folder, "traces")) == [], "traces are left behind")


@test("The JVM of a jtreg test is traced, and sampled where the agent would refuse it")
def modes(t):
    jdk = jtreg_run.traced_jdk(
        os.path.realpath(JDK),
        os.path.realpath(os.path.join(ROOT, "build", "libanttracks.so")),
        t.path("jdk"),
        t.folder,
    )
    for flag, mode in (
        ("-XX:+UseSerialGC", "full"),
        ("-XX:+UseEpsilonGC", "sample"),
        ("-XX:-UseTLAB", "sample"),
        ("-XX:+EnableJVMCI", "sample"),
    ):
        process = subprocess.Popen(
            [
                jdk + "/bin/java",
                "-XX:+UnlockExperimentalVMOptions",
                flag,
                "-XX:TieredStopAtLevel=1",
                "-version",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=t.folder,
        )
        said = process.communicate()
        expect(process.returncode == 0 and "anttracks]" not in said[1], f"{flag}: {process.returncode} {said}")
        done = run([ANALYZER, "info", "--json", t.path(f"{process.pid}.trace")])
        expect(done.returncode == 0, done.stderr)
        found = json.loads(done.stdout)
        expect(f"mode={mode}," in found["options"] and found.get("mode", "full") == mode, f"{flag}: {found}")


@test("A wrong trace of a jtreg test is kept and told; a good one is deleted")
def wrong_trace(t):
    trace, _ = run_traced(t, "Life", ("return",), judged=False)
    gone = subprocess.Popen(["true"])  # a process id that is free again
    gone.wait()
    scratch, bad = t.path("scratch"), t.path("bad")
    with jtreg_run.Traces(os.path.realpath(ANALYZER), scratch, bad) as traces:
        shutil.copy(trace, os.path.join(scratch, f"{gone.pid}.trace"))
    expect(
        traces.counts["verified"] == 1 and not traces.wrong and os.listdir(scratch) == [],
        f"{traces.counts} {traces.wrong}",
    )
    with open(trace, "rb") as file:
        content = bytearray(file.read())
    content[len(content) // 2] ^= 0xFF
    with jtreg_run.Traces(os.path.realpath(ANALYZER), scratch, bad) as traces:
        with open(os.path.join(scratch, f"{gone.pid}.trace"), "wb") as file:
            file.write(content)
    expect(len(traces.wrong) == 1 and traces.counts["verified"] == 0, f"{traces.counts} {traces.wrong}")
    expect(os.listdir(bad) == [f"{gone.pid}.trace"], f"{os.listdir(bad)}")


@test("The trace of a JVM that a jtreg test makes exit at once counts as whole")
def exited_trace(t):
    flags = ("-XX:+UseSerialGC", "-Xmx48m")
    trace = t.path("trace")
    done = run(java_command("Ends", ("native-exit",), flags, f"file={trace}"), cwd=t.folder)
    expect(done.returncode == 5, f"java ended with {done.returncode}: {done.stderr}")
    scratch, bad = t.path("scratch"), t.path("bad")
    gone = subprocess.Popen(["true"])
    gone.wait()
    with jtreg_run.Traces(os.path.realpath(ANALYZER), scratch, bad) as traces:
        shutil.move(trace, os.path.join(scratch, f"{gone.pid}.trace"))
    expect(
        traces.counts["verified"] == traces.counts["exited"] == 1 and not traces.wrong,
        f"{traces.counts} {traces.wrong}",
    )


def results(image="a", traces=None, **by_test):
    """Made-up results of one collector; a name's `_` stands for `/`."""
    entries = {
        name.replace("_", "/")
        + ".java": {"result": result, "seconds": 1.0, "detail": "" if result == "passed" else "why"}
        for name, result in by_test.items()
    }
    return {"jvm": "a VM", "image": image, "date": "2000-01-01", "results": {"own": entries}} | (
        {"traces": traces} if traces else {}
    )


@test("A jtreg failure is new when the test passes without the patch")
def new_failures(t):
    jtreg_results.merge(t.folder, "stock", results(gc_A="passed", gc_B="failed"))
    data = results(gc_A="failed", gc_B="failed", gc_C="error", gc_D="passed")
    jtreg_results.merge(t.folder, "release", data)
    text, fine = jtreg_page.summary(t.folder, "release", data)
    fresh = [test_ for _, test_, _ in jtreg_page.new_failures(t.folder, "release", data)]
    expect(fresh == ["gc/A.java", "gc/C.java"] and not fine, f"{fresh} {text}")
    expect(
        "new: own: gc/A.java" in text and "release: 1 passed, 2 failed, 1 error; 2 new failures" in text, text
    )
    text, fine = jtreg_page.summary(t.folder, "release", results(gc_B="failed", gc_D="passed"))
    expect(fine, f"a failure that stock has, too: {text}")
    traces = {
        "verified": 1,
        "killed": 0,
        "exited": 0,
        "empty": 0,
        "bytes": 9,
        "largest": 9,
        "wrong": [{"trace": "x", "said": "an overlap"}],
    }
    text, fine = jtreg_page.summary(t.folder, "release-agent", results(traces=traces, gc_D="passed"))
    expect(not fine and "an overlap" in text, f"a wrong trace: {text}")
    traces = traces | {"wrong": []}
    expect(
        jtreg_page.summary(t.folder, "release-agent", results(traces=traces, gc_D="passed"))[1], "a whole trace"
    )
    expect(
        not jtreg_page.summary(
            t.folder, "release-agent", results(traces=traces | {"verified": 0}, gc_D="passed")
        )[1],
        "no trace at all",
    )


@test("A jtreg failure is not new when the test asks for what the scheme changes on purpose")
def changed_on_purpose(t):
    changed = {"runtime_whitebox_TestWBDeflateIdleMonitors": "failed"}
    jtreg_results.merge(t.folder, "stock-fastdebug", results(**dict.fromkeys(changed, "passed")))
    new = {"": 1, "-ash": 1, "-hash": 0, "-hash-agent": 0, "-hash-eliminate": 0, "-hash-eliminate-agent": 0}
    for sites, count in new.items():
        name = "fastdebug" + sites
        fresh = jtreg_page.new_failures(t.folder, name, results(**changed))
        expect(len(fresh) == count, f"{name}: {fresh}")
        fresh = jtreg_page.new_failures(t.folder, name, results(**changed, gc_A="failed"))
        expect(len(fresh) == count + 1, f"{name}, with another: {fresh}")
    found = jtreg_page.scheme_of("fastdebug-hash-eliminate-agent")
    expect(found == "hash-eliminate", f"the scheme of hash-eliminate is {found}")


@test("jtreg's results replace those of the same JDK, and failures are not forgotten")
def merged(t):
    def now():
        return jtreg_results.load(t.folder, "release")["results"]["own"]

    jtreg_results.merge(t.folder, "release", results(gc_A="failed", gc_B="passed"))
    jtreg_results.merge(t.folder, "release", results(gc_A="passed"))
    expect(
        now()["gc/A.java"]["result"] == "passed"
        and now()["gc/A.java"]["before"] == 1
        and now()["gc/B.java"]["result"] == "passed",
        f"{now()}",
    )
    jtreg_results.merge(t.folder, "release", results(gc_A="passed"))
    expect(now()["gc/A.java"]["before"] == 1, f"{now()}")
    jtreg_results.merge(t.folder, "release", results(image="b", gc_B="failed"))
    expect(set(now()) == {"gc/B.java"}, f"results of another JDK: {now()}")


@test("A page for each JDK has every HotSpot test that ran, and tells failures from new ones")
def page(t):
    test_ = "compiler/allocation/TestAllocation.java"
    entry = {"result": "passed", "seconds": 1.0, "detail": ""}
    base = {"jvm": "a VM", "image": "a", "date": "2000-01-01"}
    jtreg_results.merge(t.folder, "stock", base | {"results": {"g1": {test_: entry}}})
    jtreg_results.merge(
        t.folder,
        "release",
        base | {"results": {"g1": {test_: entry | {"result": "failed", "detail": "an assertion"}}}},
    )
    jtreg_results.merge(t.folder, "21-fastdebug", base | {"results": {"g1": {test_: entry}}})
    expect(jtreg_page.write(t.folder, t.folder) == ["jtreg.md", "jtreg-21.md"], "not a page for each release")
    with open(t.path("jtreg-21.md"), encoding="utf-8") as file:
        expect(f"| `{test_}` | g1 | ok |" in file.read(), "the page of 21 lacks its test")
    with open(t.path("jtreg.md"), encoding="utf-8") as file:
        text = file.read()
    for words in (
        f"| `{test_}` | g1 | ok | FAILED |",
        f"| `release` | g1 | `{test_}` | failed: an assertion | **new** |",
        "| `release` | a | 2000-01-01 | 0 | 0 | 1 | 1 | – | – |",
        "Not run: `release-agent`",
    ):
        expect(words in text, f"{words!r} is not in\n{text}")


def one_of_all(image="a", tests=("compiler/c1/Test6579789.java",), **more):
    entries = {test_: {"result": "passed", "seconds": 1.0, "detail": "Execution successful"} for test_ in tests}
    return {"jvm": f"VM {image}", "image": image, "date": "2000-01-01", "results": {"own": entries}} | more


@test("What is kept of jtreg's results is what a page needs: each test's name once, a letter for its result")
def kept(t):
    names = [f"gc/T{number:03}.java" for number in range(400)]
    traces = {"verified": 5, "killed": 1, "exited": 0, "empty": 2, "bytes": 9, "largest": 9}
    wrong = {"wrong": [{"trace": "/a/path", "said": "an overlap"}]}
    for configuration in ("stock", "release", "release-hash"):
        jtreg_results.merge(t.folder, configuration, one_of_all(tests=names))
    odd = one_of_all(tests=names, traces=traces | wrong)
    odd["results"]["own"][names[7]] = {"result": "failed", "seconds": 1.0, "detail": "exit\n " + "x" * 500}
    odd["results"]["own"][names[8]] = {"result": "unheard of", "seconds": 1.0, "detail": ""}
    odd["results"]["own"][names[9]] = {"result": "skipped", "seconds": 1.0, "detail": "Skipped: why"}
    odd["results"]["g1"] = {"gc/Other.java": {"result": "passed", "seconds": 1.0, "detail": ""}}
    del odd["results"]["own"][names[10]]
    jtreg_results.merge(t.folder, "release-agent", odd)
    with open(t.path(jtreg_results.NAME), encoding="utf-8") as file:
        text = file.read()
    expect(text.count("gc/T123.java") == 1 and len(text) < 12_000 and "/a/path" not in text, text[-2000:])
    data = jtreg_results.load(t.folder, "release-agent")
    own = data["results"]["own"]
    found = [own.get(name, {}).get("result") for name in names[6:12]]
    expect(found == ["passed", "failed", "error", "skipped", None, "passed"], f"{found}")
    expect(own[names[7]]["detail"].startswith("exit xxx") and len(own[names[7]]["detail"]) <= 120, f"{own}")
    expect(data["traces"] == {"verified": 5, "wrong": 1} and data["jvm"] == "VM a", f"{data['traces']}")
    expect(data["results"]["g1"] == {"gc/Other.java": {"result": "passed", "detail": ""}}, f"{data}")
    jtreg_results.merge(t.folder, "release-agent", odd)
    data = jtreg_results.load(t.folder, "release-agent")
    expect(data["traces"] == {"verified": 10, "wrong": 2}, f"{data['traces']}")
    expect(data["results"]["own"][names[7]]["before"] == 1, f"{data['results']['own'][names[7]]}")
    expect(len(jtreg_results.load(t.folder, "release-hash")["results"]["own"]) == 400, "another one's results")
    expect(jtreg_results.load(t.folder, "fastdebug") is None, "results of what did not run")
    for configuration, image, wanted in (
        ("stock", "b", "jtreg.json has 400 results of stock with another JDK (VM a)"),
        ("stock", "a", ""),
        ("fastdebug", "a", ""),
    ):
        found = jtreg_results.replaced(t.folder, configuration, image)
        expect(found == wanted, f"{configuration}, {image}: {found}")


@test("A jtreg page that would lose results is not written, unless that is agreed to")
def less(t):
    jtreg_results.merge(t.folder, "release", one_of_all())
    jtreg_results.merge(t.folder, "21-release", one_of_all())
    done = run([JTREG, "--page", "--out", t.folder])
    expect(done.returncode == 0, f"{done.returncode} {done.stderr}")
    with open(t.path("jtreg.md"), encoding="utf-8") as file:
        before = file.read()
    expect("| `compiler/c1/Test6579789.java` | own | ok |" in before and "jtreg.json" in before, before)
    # As after a run in a checkout that has the pages, but not all results.
    os.remove(t.path(jtreg_results.NAME))
    jtreg_results.merge(t.folder, "release-hash", one_of_all())
    jtreg_results.merge(t.folder, "21-release", one_of_all())
    done = run([JTREG, "--page", "--out", t.folder])
    expect(done.returncode == 2 and "jtreg.md would lose 1 of release." in done.stderr, done.stderr)
    expect("-f" in done.stderr and "jtreg-21.md" not in done.stderr, done.stderr)
    with open(t.path("jtreg.md"), encoding="utf-8") as file:
        expect(file.read() == before, "the page was written")
    jtreg_results.merge(t.folder, "release", one_of_all(image="b"))
    done = run([JTREG, "--page", "--out", t.folder])
    expect(done.returncode == 0, f"with all that it had: {done.stderr}")
    os.remove(t.path(jtreg_results.NAME))
    jtreg_results.merge(t.folder, "release-hash", one_of_all())
    done = run([JTREG, "--page", "-f", "--out", t.folder])
    expect(done.returncode == 0, f"{done.returncode} {done.stderr}")
    with open(t.path("jtreg.md"), encoding="utf-8") as file:
        expect("| test | collector | release-hash |" in file.read(), "what was agreed to is not written")
    with open(t.path(jtreg_results.NAME), "w", encoding="utf-8") as file:
        file.write('{"tests": []}')
    done = run([JTREG, "--page", "--out", t.folder])
    expect(done.returncode == 2 and "was not written by this version" in done.stderr, done.stderr)


@test("The jtreg tests of the list are those of the plan, each once for a collector")
def plan(t):
    full = jtreg_list.plan()
    for collector, tests in full.items():
        expect(len(tests) == len(set(tests)), f"{collector}: a test is listed twice")
        nested = [(a, b) for a in tests for b in tests if a != b and jtreg_list.inside(a, b)]
        expect(not nested, f"{collector}: {nested}")
    for collector, tests in jtreg_list.SHORT.items():
        expect(
            all(any(jtreg_list.inside(test_, entry) for entry in full[collector]) for test_ in tests),
            f"{collector}: the short subset has others",
        )
    test_ = "compiler/escapeAnalysis/TestGetClass.java"
    expect(jtreg_list.plan([test_]) == {"parallel": [test_], "g1": [test_]}, f"{jtreg_list.plan([test_])}")
    expect(
        jtreg_list.plan(["gc/other.java"]) == {"own": ["gc/other.java"]},
        f"{jtreg_list.plan(['gc/other.java'])}",
    )
