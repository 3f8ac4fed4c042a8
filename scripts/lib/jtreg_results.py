# SPDX-License-Identifier: Apache-2.0
"""jtreg.json of a folder: what came of each of HotSpot's tests, by configuration of scripts/jtreg. The pages
beside it are written from it, and it is kept with them. So it has what they need and no more: the name of each
test once, and for each configuration a line with a letter for each test.

In memory a configuration is {"jvm", "image", "date", "results": {collector: {test: entry}}}, and "traces" if it
was traced. An entry has "result", "detail" of what did not pass, and "before": how often it failed before."""

import contextlib
import fcntl
import json
import os

NAME = "jtreg.json"
BAD = ("failed", "error", "not run")
LETTERS = {"passed": "p", "skipped": "s", "failed": "F", "error": "E", "not run": "N"}
RESULTS = {letter: result for result, letter in LETTERS.items()}
NONE = "-"  # the configuration has no result of that test
DETAIL = 120  # characters


class Unusable(Exception):
    pass


def read(folder):
    """{configuration: its results}"""
    path = os.path.join(folder, NAME)
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        return {name: unpacked(kept["tests"], found) for name, found in kept["configurations"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise Unusable(f"{path} was not written by this version of scripts/jtreg: {e!r}") from None


def load(folder, configuration):
    """The results of a configuration, or None."""
    return read(folder).get(configuration)


def unpacked(tests, found):
    results = {
        collector: {
            test: {"result": RESULTS[letter], "detail": ""}
            | found.get("notes", {}).get(collector, {}).get(test, {})
            for test, letter in zip(tests[collector], letters, strict=True)
            if letter != NONE
        }
        for collector, letters in found["results"].items()
    }
    return {key: value for key, value in found.items() if key != "notes"} | {"results": results}


def packed(tests, data):
    letters, notes = {}, {}
    for collector, entries in sorted(data["results"].items()):
        letters[collector] = "".join(
            LETTERS[entries[test]["result"]] if test in entries else NONE for test in tests[collector]
        )
        for test, entry in sorted(entries.items()):
            note = {key: entry[key] for key in ("detail", "before") if entry.get(key)}
            if note:
                notes.setdefault(collector, {})[test] = note
    return data | {"results": letters} | ({"notes": notes} if notes else {})


def write(folder, by_configuration):
    def dump(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def lines(found, form):
        return ",\n".join(f" {dump(key)}:{form(value)}" for key, value in sorted(found.items()))

    tests = {}
    for data in by_configuration.values():
        for collector, entries in data["results"].items():
            tests.setdefault(collector, set()).update(entries)
    tests = {collector: sorted(names) for collector, names in tests.items()}
    path = os.path.join(folder, NAME)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(
            '{"tests":{\n'
            + lines(tests, lambda names: "[\n" + ",\n".join("  " + dump(name) for name in names) + "]")
            + '},\n"configurations":{\n'
            + lines(by_configuration, lambda data: dump(packed(tests, data)))
            + "}}\n"
        )
    os.replace(path + ".tmp", path)


@contextlib.contextmanager
def locked(folder):
    """Runs of two configurations may end at once."""
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def needed(new):
    """What is kept of results as a run has them."""
    results = {
        collector: {
            test: {
                # jtreg has no other status; one that is unknown did not pass.
                "result": entry["result"] if entry["result"] in LETTERS else "error",
                "detail": " ".join(entry["detail"].split())[:DETAIL] if entry["result"] in BAD else "",
            }
            for test, entry in entries.items()
        }
        for collector, entries in new["results"].items()
    }
    kept = {key: new[key] for key in ("jvm", "image", "date")} | {"results": results}
    if "traces" in new:
        kept["traces"] = {"verified": new["traces"]["verified"], "wrong": len(new["traces"]["wrong"])}
    return kept


def merge(folder, configuration, new):
    """Adds results to those of a configuration, or begins anew when these are of another JDK."""
    with locked(folder):
        found = read(folder)
        data = found.get(configuration)
        if not data or data["image"] != new["image"]:
            data = {}
        add(data, needed(new))
        write(folder, found | {configuration: data})


def replaced(folder, configuration, image):
    """What a merge of results with this JDK leaves nothing of; empty: nothing is there, or of this JDK."""
    kept = load(folder, configuration)
    if not kept or kept["image"] == image:
        return ""
    count = sum(counts(kept).values())
    return f"{NAME} has {count} results of {configuration} with another JDK ({kept['jvm']})"


def add(old, new):
    """Adds results to older ones; a test that failed before stays known as one that did."""
    traces = old.get("traces")
    results = old.get("results", {})
    old.update(new)
    old["results"] = results
    for collector, tests in new["results"].items():
        mine = results.setdefault(collector, {})
        for test, entry in tests.items():
            before = mine.get(test, {})
            failed = before.get("before", 0) + (before.get("result") in BAD)
            mine[test] = entry | ({"before": failed} if failed else {})
    if traces:
        mine = new.get("traces")
        old["traces"] = sum_of(traces, mine) if mine else traces


def sum_of(traces, more):
    """Counts, lists of what is wrong, and the largest."""
    return {
        key: max(value, more[key]) if key == "largest" else value + more[key] for key, value in traces.items()
    }


def counts(data):
    """{result: how many tests have it}"""
    tally = {}
    for tests in data["results"].values():
        for entry in tests.values():
            tally[entry["result"]] = tally.get(entry["result"], 0) + 1
    return tally
