# SPDX-License-Identifier: Apache-2.0
"""The results of scripts/jtreg: compared with the build without the patch, written as docs/jtreg.md and, of
other releases than 17, as docs/jtreg-RELEASE.md."""

import os

import jtreg_list
import jtreg_results
from jtreg_results import BAD, counts, load

# Flags by the names of --sites, beside the default.
SCHEMES = {name: "-XX:AntTracksSites=" + name for name in ("hash", "hash-eliminate", "ash", "off")}
COMPACT = "compact"  # of JDK 25 and later
SCHEMES[COMPACT] = SCHEMES["ash"] + " -XX:+UseCompactObjectHeaders"
PATCHED = tuple(
    sites + agent for sites in ("", *("-" + scheme for scheme in SCHEMES)) for agent in ("", "-agent")
)
RELEASES = ("", "21-", "25-")  # what the names of configurations begin with; 17 goes without saying
# What each patched configuration is compared with.
BASE = {
    release + build + name: release + stock
    for release in RELEASES
    for build, stock in (("release", "stock"), ("fastdebug", "stock-fastdebug"))
    for name in PATCHED
}
DROP_IN = ("drop-in", "drop-in-agent")
BASE |= {release + name: release + "stock" for release in RELEASES for name in DROP_IN}
BUILDS = (
    "stock",
    *("release" + name for name in PATCHED),
    *DROP_IN,
    "stock-fastdebug",
    *("fastdebug" + name for name in PATCHED),
)


class Less(Exception):
    """A page would have less than it has."""


def is_stock(configuration):
    return configuration.startswith(tuple(release + "stock" for release in RELEASES))


def bad(data):
    """[(collector, test, entry)] of those that did not pass."""
    return [
        (collector, test, entry)
        for collector, tests in data["results"].items()
        for test, entry in sorted(tests.items())
        if entry["result"] in BAD
    ]


def known(test):
    return next(
        (reason for name, reason in jtreg_list.KNOWN.items() if jtreg_list.inside(test, name) or test == name),
        None,
    )


def scheme_of(configuration):
    """The name of --sites in that of a configuration, or None."""
    found = [scheme for scheme in SCHEMES if f"-{scheme}-" in configuration + "-"]
    return max(found, key=len, default=None)  # -hash- is in -hash-eliminate-, too


def judged(base, configuration, collector, test):
    """Why a failure is no fault of the patch: what is known, what the scheme changes on purpose, or that it
    fails without the patch, too. None when it is new."""
    changed = jtreg_list.CHANGED.get(scheme_of(configuration), {})
    if test in changed:
        return changed[test]
    entry = (base or {"results": {}})["results"].get(collector, {}).get(test)
    if entry and entry["result"] in BAD:
        return known(test) or "fails without the patch, too"
    return known(test) if not entry else None


def new_failures(folder, configuration, data):
    base = load(folder, BASE.get(configuration, "stock"))
    if is_stock(configuration):
        return []
    return [
        (collector, test, entry)
        for collector, test, entry in bad(data)
        if judged(base, configuration, collector, test) is None
    ]


def summary(folder, configuration, data):
    """(text, whether all is fine) of what one run added."""
    lines = [
        f"{collector}: {test}: {entry['result']}: {entry['detail']}" for collector, test, entry in bad(data)
    ]
    fresh = new_failures(folder, configuration, data)
    wrong = data.get("traces", {}).get("wrong", [])
    lines += [f"new: {collector}: {test}" for collector, test, _ in fresh]
    lines += [f"wrong trace {trace['trace']}: {trace['said'].strip()[-300:]}" for trace in wrong]
    tally = counts(data)
    lines.append(
        f"{configuration}: "
        + ", ".join(f"{tally[key]} {key}" for key in ("passed", "skipped", *BAD) if key in tally)
        + f"; {len(fresh)} new failures"
    )
    if "traces" in data:
        traces = data["traces"]
        lines.append(
            f"traces: {traces['verified']} verified ({traces['killed']} of JVMs that were killed, "
            f"{traces['exited']} of some that exited at once), {traces['empty']} empty, {len(wrong)} wrong, "
            f"{traces['bytes'] / 2**20:.0f} MiB"
        )
    untraced = "traces" in data and data["traces"]["verified"] == 0  # then the agent was in none of the JVMs
    return "\n".join(lines), bool(tally) and not fresh and not wrong and not untraced


IMAGES = """\
An image is a build: the JDK's version, and a key of the patch and the configuration it was made from. Rows with
the same image ran on the same VM.
"""
INTRODUCTION = """# HotSpot's own tests on JDK {release}

Written by `scripts/jtreg --page` from the last results of each configuration, \
kept in [jtreg.json](jtreg.json); do not edit. \
Other releases: {others}.

OpenJDK's jtreg tests of `test/hotspot/jtreg`, from the source that the JDK is built from: the \
groups `gc`, `runtime`, `compiler` and
`serviceability`, as far as they touch what the patch does ([vm-patch.md](vm-patch.md)) \
and need no native test libraries. Tests with the
keyword `stress`, and those of upstream's own `ProblemList.txt`, are not run.

    scripts/jtreg --jdk {prefix}release --agent    # needs build/{jdk}, agent and analyzer; installs jtreg7
    scripts/jtreg --list                      # which tests, and why
    scripts/jtreg --jdk {prefix}release gc/g1/TestG1SkipCompaction.java

| configuration | is |
|---|---|
| `{prefix}stock` | the same version without the patch: `scripts/setup-jdk{option} --stock`, \
or a packaged one as `build/{jdk}-stock` |
| `{prefix}release` | the patched JDK |
| `{prefix}release-agent` | the same, every JVM of every test with the agent: \
exact traces with Parallel, Serial and G1; \
samples where the agent would refuse. Each trace is verified |
| `{prefix}release-hash`, `{prefix}release-ash`, … | the same with `-XX:AntTracksSites=` in every JVM \
(`--sites`{compact}) |
| `{prefix}drop-in`, `{prefix}drop-in-agent` | the VM of the patched JDK beside the one of a JDK without the \
patch, as `anttracks-install` puts it there: `scripts/setup-jdk{option} --drop-in JDK_HOME` |
| `{prefix}fastdebug`, `{prefix}stock-fastdebug` | with the VM's assertions: \
`scripts/setup-jdk{option} --fastdebug`, `--stock --fastdebug` |

A failure is *new* when the same test passes on the unpatched build of its kind, or was not run there, \
unless the test asks for what a scheme changes on
purpose (listed below where it failed).
"""


def has_compact(prefix):
    return prefix != "" and int(prefix.removesuffix("-")) >= 25


def page_of(prefix):
    """Name of the page of a release, in docs."""
    return f"jtreg-{prefix.removesuffix('-')}.md" if prefix else "jtreg.md"


def introduction(prefix):
    number = prefix.removesuffix("-")
    others = (
        f"[{other.removesuffix('-') or '17'}]({page_of(other)})" for other in RELEASES if other != prefix
    )
    return INTRODUCTION.format(
        prefix=prefix,
        release=number or "17",
        others=", ".join(others),
        jdk="jdk" + number,
        option=f" --jdk {number}" if number else "",
        compact="; `compact`: ash, with compact headers" if has_compact(prefix) else "",
    )


def table_of_configurations(folder, present):
    lines = [
        "| configuration | image | date | passed | skipped | failed | new failures | traces verified | traces "
        "wrong |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, data in present.items():
        tally, traces = counts(data), data.get("traces")
        failed = sum(tally.get(key, 0) for key in BAD)
        fresh = "–" if is_stock(name) else len(new_failures(folder, name, data))
        told = f"{traces['verified']:,} | {traces['wrong']}" if traces else "– | –"
        lines.append(
            f"| `{name}` | {data['image']} | {data['date']} | {tally.get('passed', 0)} | "
            f"{tally.get('skipped', 0)} | {failed} | {fresh} | {told} |"
        )
    return lines


def cell(data, collector, test):
    entry = data["results"].get(collector, {}).get(test)
    if entry is None:
        return ""
    text = {"passed": "ok", "skipped": "skip"}.get(entry["result"], entry["result"].upper())
    return text + (f" ({entry['before']} failed before)" if entry.get("before") else "")


def failures(folder, present):
    lines = []
    for name, data in present.items():
        base = load(folder, BASE[name]) if name in BASE else data
        for collector, test, entry in bad(data):
            why = judged(base, name, collector, test) or "**new**"
            line = f"| `{name}` | {collector} | `{test}` | {entry['result']}: {entry['detail'][:120]} | {why} |"
            lines.append(line.replace("\n", " "))
    if not lines:
        return ["None."]
    return ["| configuration | collector | test | result | reason |", "|---|---|---|---|---|", *lines]


def table_of_tests(present):
    keys = {
        (collector, test)
        for data in present.values()
        for collector, tests in data["results"].items()
        for test in tests
    }
    lines = []
    for group in jtreg_list.GROUPS:
        mine = sorted(
            (test, collector) for collector, test in keys if jtreg_list.group_of(test, collector) is group
        )
        if not mine:
            continue
        lines += [
            "",
            f"### {group.name[0].upper() + group.name[1:]}",
            "",
            f"{group.why[0].upper() + group.why[1:]}.",
            "",
            "| test | collector | " + " | ".join(present) + " |",
            "|---|---|" + "---|" * len(present),
        ]
        lines += [
            f"| `{test}` | {collector} | "
            + " | ".join(cell(data, collector, test) for data in present.values())
            + " |"
            for test, collector in mine
        ]
    return lines


def page(folder, prefix):
    """The page of a release; None where nothing was run."""
    builds = [build for build in BUILDS if has_compact(prefix) or COMPACT not in build.split("-")]
    results = {name: load(folder, name) for name in (prefix + build for build in builds)}
    missing = [name for name, data in results.items() if data is None]
    present = {name: data for name, data in results.items() if data}
    if not present:
        return None
    lines = [introduction(prefix), "## Results", "", IMAGES, *table_of_configurations(folder, present), ""]
    if missing:
        lines += ["Not run: " + ", ".join(f"`{name}`" for name in missing) + ".", ""]
    lines += [
        "## Failures",
        "",
        *failures(folder, present),
        "",
        "## Left out",
        "",
        *[f"- `{test}`: {why}" for test, why in jtreg_list.excluded(prefix.removesuffix("-") or "17").items()],
        "",
        "## Tests",
        "",
        "Collector `own`: the test's own flags, or the JVM's choice. An empty cell: not run, "
        "or not meant for that build.",
        *table_of_tests(present),
    ]
    return "\n".join(lines) + "\n"


def cells_of(text):
    """{configuration: {(test, collector)}} of what a page has results of."""
    found, names = {}, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells[:2] == ["test", "collector"]:
            names = cells[2:]
        elif len(cells) == 2 + len(names) and names and cells[0].startswith("`"):
            for name, cell_of in zip(names, cells[2:]):
                if cell_of:
                    found.setdefault(name, set()).add((cells[0], cells[1]))
    return found


def lost(path, text):
    """How many results of each configuration the page at the path has, and the text has not."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        before, now = cells_of(file.read()), cells_of(text)
    gone = {name: len(tests - now.get(name, set())) for name, tests in before.items()}
    return {name: count for name, count in gone.items() if count}


def write(folder, docs, agreed=False):
    """Writes the pages of the releases that have results into docs; returns their names. Raises Less, and
    writes none, if one would lose results, unless that is agreed to."""
    pages = {page_of(prefix): page(folder, prefix) for prefix in RELEASES}
    pages = {name: text for name, text in pages.items() if text}
    less = {name: lost(os.path.join(docs, name), text) for name, text in pages.items()}
    if any(less.values()) and not agreed:
        told = "; ".join(
            f"{name} would lose " + ", ".join(f"{count} of {of}" for of, count in gone.items())
            for name, gone in less.items()
            if gone
        )
        raise Less(f"{jtreg_results.NAME} lacks results that pages have: {told}")
    for name, text in pages.items():
        with open(os.path.join(docs, name), "w", encoding="utf-8") as file:
            file.write(text)
    return list(pages)
