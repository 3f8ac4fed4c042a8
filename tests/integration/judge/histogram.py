# SPDX-License-Identifier: Apache-2.0
"""Reads the JVM's class histogram (GC.class_histogram)."""

import re

from . import hprof

_LINE = re.compile(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)(?: \([^)]*\))?\s*$")
_TOTAL = re.compile(r"^Total\s+(\d+)\s+(\d+)\s*$")


def parse(text):
    """{class name as in Java source: (objects, bytes)}; classes of one name from several loaders are added
    up."""
    classes, total = {}, None
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            objects, size, name = (
                int(match.group(1)),
                int(match.group(2)),
                hprof.source_name(match.group(3), external=True),
            )
            before = classes.get(name, (0, 0))
            classes[name] = (before[0] + objects, before[1] + size)
        elif _TOTAL.match(line):
            total = tuple(map(int, _TOTAL.match(line).groups()))
    sums = (sum(v[0] for v in classes.values()), sum(v[1] for v in classes.values()))
    if total != sums:
        raise ValueError(f"the histogram's total {total} is not the sum of its lines {sums}")
    return classes
