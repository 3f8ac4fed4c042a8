# SPDX-License-Identifier: Apache-2.0
"""The patch series as files and hunks, and the hook table of docs/vm-patch.md,
which has a row for every patched file."""

import dataclasses
import fnmatch
import os
import re

PAGE = os.path.join("docs", "vm-patch.md")
# Of the other releases: where the tables are that tell what became of each hook.
PORTS = {"21": os.path.join("docs", "vm-port.md"), "25": os.path.join("vmpatch", "25", "README.md")}
HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@ ?(.*)$")


@dataclasses.dataclass
class Hunk:
    """One change of one file. `number` counts within patch and file, as the program patch does."""

    number: int
    line: int  # in the source that the patch was made for
    text: str  # with its @@ line
    function: str  # where it changes something, as far as the hunk tells; may be empty

    @property
    def include(self):
        """Whether it adds nothing but #include lines."""
        changed = [line for line in self.text.splitlines()[1:] if line[:1] in "+-"]
        return all(line.startswith("+#include") for line in changed)


@dataclasses.dataclass
class Part:
    """What one patch does to one file."""

    patch: str
    path: str
    hunks: list

    @property
    def number(self):
        return int(self.patch.split("-", 1)[0])

    @property
    def name(self):
        return os.path.basename(self.path)


@dataclasses.dataclass
class Hook:
    """A row of the table. `places`: (pattern of a file's name, what follows it in the cell)."""

    patch: int
    places: list
    why: str
    collector: str

    def names(self, part):
        return self.patch == part.number and any(
            fnmatch.fnmatch(part.name, pattern) for pattern, _ in self.places
        )

    def functions(self, part):
        return " ".join(functions for pattern, functions in self.places if fnmatch.fnmatch(part.name, pattern))


def function_of(header, lines):
    """The function or class around the first change: a line of the hunk before that,
    or what its @@ line says."""
    found = header
    for line in lines:
        if line[:1] in "+-":
            break
        if re.match(r" [A-Za-z][^;]*\([^;]*$", line):
            found = line
    names = re.findall(r"(~?[A-Za-z_]\w*)\s*\(", found) or re.findall(r"\b(?:class|struct) (\w+)", found)
    return names[0] if names else ""


def parts(path):
    """The parts of a patch file, in its order."""
    result, target, left, block = [], None, (0, 0), None
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = HEADER.match(line)
            if match and left == (0, 0):
                left = (int(match[2] or 1), int(match[3] or 1))
                block = (int(match[1]), match[4], [line])
                target.hunks.append(block)
            elif left != (0, 0):
                block[2].append(line)
                left = (left[0] - (line[:1] in " -\n"), left[1] - (line[:1] in " +\n"))
            elif line.startswith("+++ "):
                target = Part(os.path.basename(path), line[4:].split("\t")[0].strip().split("/", 1)[1], [])
                result.append(target)
    for part in result:
        part.hunks = [
            Hunk(i + 1, at, "".join(lines), function_of(context, lines[1:]))
            for i, (at, context, lines) in enumerate(part.hunks)
        ]
    return result


def series(root, release="17"):
    """All parts of a release's series, in the order in which setup-jdk applies them."""
    folder = os.path.join(root, "vmpatch", release)
    with open(os.path.join(folder, "series"), encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [part for name in names for part in parts(os.path.join(folder, name))]


def expand(name):
    """`thread.{hpp,cpp}` as patterns; `.*` is one already."""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    return [match[1] + middle + match[3] for middle in match[2].split(",")] if match else [name]


def hooks(root):
    """The rows of the table under "## Hooks"."""
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        section = file.read().partition("\n## Hooks\n")[2].partition("\n## ")[0]
    rows = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not cells[0].isdigit():
            continue
        places = [
            (pattern, functions.strip(" ,;"))
            for name, functions in re.findall(r"`([^`]*\.[^`]*)`([^`]*)", cells[1])
            for pattern in expand(name)
        ]
        rows.append(Hook(int(cells[0]), places, cells[2], cells[3]))
    return rows


def ported(page):
    """[(patch, patterns of files' names)] of the tables of a port, whose rows begin with the patch's number."""
    rows = []
    with open(page, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 3 and cells[0].isdigit():
                names = re.findall(r"\w+\.(?:\{[\w.,]+\}|[\w.*]+)", cells[1])
                rows.append((int(cells[0]), [pattern for name in names for pattern in expand(name)]))
    return rows


def hooks_of(part, hunk, rows):
    """The rows that a hunk belongs to: those that name its function, else all of its file."""
    mine = [row for row in rows if row.names(part)]
    named = [
        row
        for row in mine
        if hunk.function and re.search(rf"\b{re.escape(hunk.function)}\b", row.functions(part))
    ]
    return named or mine


def port_problems(root):
    """Files that the series of another release than 17 patches, and that no row of the port's table names. Rows
    without a file are right: they tell what fell away."""
    problems = []
    for release, page in PORTS.items():
        rows = ported(os.path.join(root, page))
        problems += [
            f"{page}: no row tells what {part.patch} does to {part.name} in {release}"
            for part in series(root, release)
            if not any(
                patch == part.number and any(fnmatch.fnmatch(part.name, pattern) for pattern in patterns)
                for patch, patterns in rows
            )
        ]
    return problems


def table_problems(root):
    """Where series and table disagree: a patched file without a row,
    a row for a file that its patch leaves alone."""
    all_parts, rows = series(root), hooks(root)
    problems = [
        f"{PAGE}: the hook table has no row for {part.path} of {part.patch}"
        for part in all_parts
        if not any(row.names(part) for row in rows)
    ]
    for row in rows:
        for pattern, _ in row.places:
            if not any(part.number == row.patch and fnmatch.fnmatch(part.name, pattern) for part in all_parts):
                problems.append(
                    f"{PAGE}: the hook table has {pattern} in patch {row.patch}, which does not touch it"
                )
    return problems
