# SPDX-License-Identifier: Apache-2.0
"""Compares dominators and retained sizes of `anttracks join --objects` with those of VisualVM's heap library.

The library computes sizes of objects in its own way, so ours are added up again with its sizes. Four things
differ on purpose; each touches only the objects that dominate the one in question:

- The library does not follow the referent of a weak reference, but when an object has several references it
  counts that one as a way to it. So the object has fewer dominators than it should.
- It counts references of objects that no root reaches in the same way.
- It has a reference to a class from the first object of that class that it meets, if it has not met the
  class before. Ours count references to classes only where nothing else holds the class.
- What only one reference leads to counts as held by where that begins, even if a frame's local variable
  holds it, too.
"""

import csv
import glob
import os

from .world import HERE, JDK, Skip, expect, run, tail

_MODULES = "/usr/share/visualvm/visualvm/modules"
LIBRARY = os.path.join(_MODULES, "org-graalvm-visualvm-lib-jfluid-heap.jar")


def library_lines(t, dump, name):
    """What the library says of a dump: lines of visualvm/Held.java."""
    if not os.path.exists(LIBRARY):
        raise Skip("the package visualvm is not installed")
    classes = t.path("visualvm")
    path = ":".join([LIBRARY, *sorted(glob.glob("/usr/share/**/org-openide-util*.jar", recursive=True))])
    os.makedirs(classes, exist_ok=True)
    done = run([JDK + "/bin/javac", "-cp", path, "-d", classes, os.path.join(HERE, "visualvm", "Held.java")])
    expect(done.returncode == 0, f"javac: {tail(done.stderr)}")
    out = t.path(name)
    done = run(
        [
            JDK + "/bin/java",
            "-Xmx1g",
            f"-Djava.io.tmpdir={t.folder}",
            "-cp",
            f"{classes}:{path}",
            "Held",
            dump,
            out,
        ]
    )
    expect(done.returncode == 0, f"VisualVM's library cannot read {dump}:\n{tail(done.stderr)}")
    expect("WARN" not in done.stderr.upper(), f"VisualVM's library warns of {dump}:\n{tail(done.stderr)}")
    with open(out, encoding="utf-8") as file:
        return file.read().splitlines()


class Library:
    """objects: id -> (size, retained, nearest); classes: ids; marked: targets of the references that are
    printed; holders: of what a local variable holds, too."""

    def __init__(self, lines):
        self.objects, self.classes, self.marked, self.holders = {}, set(), set(), set()
        for line in lines:
            kind, *numbers = line.split()
            numbers = [int(n) for n in numbers]
            if kind == "o":
                self.objects[numbers[0]] = tuple(numbers[1:])
            elif kind == "c":
                self.classes.add(numbers[0])
            elif kind == "h":
                self.holders.add(numbers[0])
            else:
                self.marked.add(numbers[1])


def read_joined(csv_text):
    """address -> (dominator or None, reached), from `join --objects --csv`"""
    dominators = {}
    for row in csv.DictReader(csv_text.splitlines()):
        address, text = int(row["address"], 16), row["dominator"]
        dominators[address] = (int(text, 16) if text.startswith("0x") else None, text != "")
    return dominators


def retained(dominators, sizes):
    """Retained sizes: each object's size is added to its own and to those of all that dominate it."""
    children = dict.fromkeys(dominators, 0)
    for dominator, _ in dominators.values():
        if dominator is not None:
            children[dominator] += 1
    result = {address: sizes.get(address, 0) for address in dominators}
    leaves = [address for address, count in children.items() if count == 0]
    done = 0
    while leaves:
        address = leaves.pop()
        done += 1
        dominator, _ = dominators[address]
        if dominator is None:
            continue
        result[dominator] += result[address]
        children[dominator] -= 1
        if children[dominator] == 0:
            leaves.append(dominator)
    expect(done == len(dominators), "the dominators go round in a circle")
    return result


def compare(dominators, library):
    """Returns (objects compared, of these equal, objects excused, of these equal, differences)."""
    expect(
        set(dominators) - library.classes == set(library.objects),
        f"{len(dominators)} objects, the library has {len(library.objects)} and {len(library.classes)} classes",
    )
    ours = retained(dominators, {address: its[0] for address, its in library.objects.items()})
    excused = set(library.holders)
    for address in library.marked | library.classes | library.holders:
        for _ in range(len(dominators)):
            address = dominators.get(address, (None, False))[0]
            if address is None or address in excused:
                break
            excused.add(address)
    compared = equal = with_excuse = equal_all_the_same = 0
    differences = []
    for address, (_, theirs, _) in library.objects.items():
        if not dominators[address][1]:
            continue
        same = ours[address] == theirs
        if address in excused:
            with_excuse += 1
            equal_all_the_same += same
            continue
        compared += 1
        equal += same
        if not same:
            differences.append(f"{address:#x}: {ours[address]} bytes retained, the library says {theirs}")
    return compared, equal, with_excuse, equal_all_the_same, differences
