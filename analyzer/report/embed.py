#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C++ header of a page: embed.py PAGE.html OUT.h kName

In the page {{a.css}} and {{a.js b.js}} stand for these files beside it, {{data}} for what the analyzer writes,
and {{policy}} for a Content-Security-Policy which allows the page's one style and one script, by their hashes,
and nothing else. The header has the text before the data and the text after it.
"""

import base64
import hashlib
import os
import re
import sys

CHUNK = 12_000  # characters of a literal; compilers need not take longer ones


def main():
    page_path, out_path, name = sys.argv[1:]
    folder = os.path.dirname(page_path)

    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def files(match):
        return "".join(read(os.path.join(folder, each)) for each in match[1].split())

    page = re.sub(r"\{\{((?:[\w-]+\.(?:css|js) ?)+)\}\}", files, read(page_path))

    def hashes(tag):
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        assert len(found) == 1, f"{page_path}: {len(found)} elements {tag}, not 1"
        return "'sha256-" + base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode() + "'"

    policy = (
        f"default-src 'none'; script-src {hashes('script')}; style-src {hashes('style')}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = page.replace("{{policy}}", policy).split("{{data}}")
    assert len(parts) == 2, f"{page_path}: the data has {len(parts) - 1} places, not 1"
    with open(out_path, "w", encoding="utf-8") as out:
        out.write("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n#include <string_view>\n\n")
        out.write(f"namespace anttracks::analyzer {{\n\ninline constexpr std::string_view {name}[] = {{\n")
        for part in parts:
            for at in range(0, len(part), CHUNK):
                out.write('R"page(' + part[at : at + CHUNK] + ')page"\n')
            out.write(",\n")
        out.write("};\n\n}  // namespace anttracks::analyzer\n")


main()
