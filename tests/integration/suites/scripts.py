# SPDX-License-Identifier: Apache-2.0
"""The set-up scripts, as far as they can be tested without building a JDK."""

import os

import jdk_source
from judge.world import ROOT, expect, run, test


@test("Source entries are made from Debian's one-line entries only")
def one_line(t):
    text = """
# deb http://example.org/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://example.org/debian bookworm main contrib # x
deb http://example.org/debian-security bookworm-security main
deb-src http://example.org/debian-security bookworm-security main
deb [signed-by=/etc/apt/keyrings/other.gpg] http://example.org/linux/debian bookworm main
deb http://example.org/linux/debian bookworm stable
"""
    found = jdk_source.one_line_sources(text)
    expect(found == ["deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://example.org/debian bookworm main contrib",
                     "deb-src http://example.org/debian-security bookworm-security main"], found)


@test("Source entries are made from Debian's deb822 entries only")
def deb822(t):
    text = """Types: deb
# a comment
URIs: http://example.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://example.org/other
Suites: nodistro
Components: main
Signed-By: /usr/share/keyrings/other.gpg

Enabled: no
Types: deb
URIs: http://example.org/debian
Suites: sid
Components: main
"""
    found = jdk_source.deb822_sources(text)
    expect(found == ["Types: deb-src\nURIs: http://example.org/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
                     "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg"], found)


@test("The newest version of the source comes first")
def versions(t):
    found = jdk_source.newest_first(["17.0.9+9-1", "17.0.19+10-1~deb12u2", "17.0.19+10-1~deb12u1", "17.0.9+9-1"])
    expect(found == ["17.0.19+10-1~deb12u2", "17.0.19+10-1~deb12u1", "17.0.9+9-1"], found)


@test("The scripts refuse unknown options and name the valid ones")
def unknown_options(t):
    for script in ("setup-packages", "setup-jdk", "build", "test", "bench", "harness", "jtreg"):
        done = run([os.path.join(ROOT, "scripts", script), "--frobnicate"])
        text = done.stdout + done.stderr
        expect(done.returncode != 0 and "frobnicate" in text and "--" in text.replace("--frobnicate", ""),
               f"{script}: {done.returncode} {text}")


@test("A patch hunk that does not fit is named, with what to do")
def hunk(t):
    for folder in ("scripts/lib", "vmpatch/patches", "vmpatch/abi", "vmpatch/src/hotspot/share/anttracks", "tree/src",
                   "tree/make"):
        os.makedirs(t.path(folder))
    run(["cp", "-r", os.path.join(ROOT, "scripts"), t.folder])
    run(["cp", os.path.join(ROOT, "vmpatch/abi/anttracks_abi.h"), t.path("vmpatch/abi")])
    files = {"tree/configure": "exit 1\n", "tree/src/a.txt": "one\ntwo\nthree\n",
             "vmpatch/patches/series": "# comment\nfits.patch\nfails.patch\n",
             "vmpatch/patches/fits.patch": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,4 @@\n one\n+more\n two\n three\n",
             "vmpatch/patches/fails.patch": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n three\n"}
    for name, content in files.items():
        with open(t.path(name), "w", encoding="utf-8") as file:
            file.write(content)
    environment = [f"ANTTRACKS_CACHE={t.path('cache')}", f"ANTTRACKS_JDK_SOURCE={t.path('tree')}"]
    done = run(["env", "-u", "ANTTRACKS_JDK_HOME", *environment, t.path("scripts/setup-jdk")])
    expect(done.returncode == 1, f"ended with {done.returncode}: {done.stderr}")
    for word in ("fails.patch", "src/a.txt", "Hunk #1", "ANTTRACKS_JDK_SOURCE", "rejects"):
        expect(word in done.stderr, f"{word!r} is not in the message:\n{done.stderr}")
    rejects = [name for _, _, names in os.walk(t.path("cache/jdk")) for name in names if name.endswith(".rej")]
    expect(rejects == ["a.txt.rej"], f"rejected hunks kept: {rejects}")
