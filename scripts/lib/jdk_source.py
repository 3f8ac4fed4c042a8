#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the source of Debian's openjdk-17 into a folder and prints the tarball's path.

    jdk_source.py DESTINATION [--fresh]

Uses apt with a private configuration: the source entries are made from the system's own binary
entries for Debian archives, whose files stay untouched. Only the upstream tarball is kept; Debian's
own patches are not. The index may name versions whose files are gone, so versions are tried newest
first until one downloads. A tarball that is there already is used without any network access.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

PACKAGE = "openjdk-17"
TARBALL = re.compile(r"openjdk-17_(17[0-9.+]*)\.orig\.tar\.xz$")


def say(text):
    print("setup-jdk: " + text, file=sys.stderr, flush=True)


def is_debian(uri, suites, components, signed_by):
    """Whether an entry is one of Debian's own archives (third parties also have 'debian' in URIs)."""
    if "main" not in components:
        return False
    if "debian-archive" in signed_by:
        return True
    if signed_by.strip():
        return False
    return re.search(r"/debian(-security)?/?$", uri) is not None and bool(suites)


def one_line_sources(text):
    """deb-src lines for the entries of a one-line-style file."""
    lines = []
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if not match:
            continue
        options, uri, suite, components = match.groups()
        kept = [o for o in (options or "").split() if not o.lower().startswith("arch")]
        signed_by = " ".join(o.split("=", 1)[1] for o in kept if o.lower().startswith("signed-by="))
        if not is_debian(uri, [suite], components.split(), signed_by):
            continue
        bracket = "[" + " ".join(kept) + "] " if kept else ""
        entry = f"deb-src {bracket}{uri} {suite} {' '.join(components.split())}"
        if entry not in lines:
            lines.append(entry)
    return lines


def parse_stanza(stanza):
    fields, last = {}, None
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t") and last:
            fields[last] += "\n" + line.strip()
        elif ":" in line:
            last, value = line.split(":", 1)
            last = last.strip().lower()
            fields[last] = value.strip()
    return fields


def deb822_sources(text):
    """deb-src stanzas for the entries of a deb822-style file."""
    stanzas = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = parse_stanza(stanza)
        if "uris" not in fields or fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        suites, components = fields.get("suites", "").split(), fields.get("components", "").split()
        signed_by = fields.get("signed-by", "")
        uris = [u for u in fields["uris"].split() if is_debian(u, suites, components, signed_by)]
        if not uris:
            continue
        out = [
            "Types: deb-src",
            "URIs: " + " ".join(uris),
            "Suites: " + " ".join(suites),
            "Components: " + " ".join(components),
        ]
        if signed_by:
            out.append("Signed-By: " + signed_by.replace("\n", "\n "))
        stanzas.append("\n".join(out))
    return stanzas


def system_source_files():
    """The files apt itself reads."""
    shell = subprocess.run(
        ["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = dict(re.findall(r"^(\w+)='(.*)'$", shell, re.M))
    files = [paths.get("LIST", "/etc/apt/sources.list")]
    parts = paths.get("PARTS", "/etc/apt/sources.list.d/")
    if os.path.isdir(parts):
        files += [
            os.path.join(parts, name)
            for name in sorted(os.listdir(parts))
            if name.endswith((".list", ".sources"))
        ]
    return [f for f in files if os.path.isfile(f)]


def write_private_sources(folder):
    os.makedirs(folder)
    found = 0
    for number, path in enumerate(system_source_files()):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        deb822 = path.endswith(".sources")
        entries = deb822_sources(text) if deb822 else one_line_sources(text)
        if entries:
            found += len(entries)
            name = f"{number:02}.{'sources' if deb822 else 'list'}"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(("\n\n" if deb822 else "\n").join(entries) + "\n")
    return found


def newest_first(versions):
    def compare(a, b):
        return -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1

    return sorted(set(versions), key=functools.cmp_to_key(compare))


def cached(destination):
    names = [n for n in os.listdir(destination) if TARBALL.match(n)]
    versions = newest_first([TARBALL.match(n).group(1) for n in names])
    return os.path.join(destination, f"{PACKAGE}_{versions[0]}.orig.tar.xz") if versions else None


def download(destination):
    scratch = tempfile.mkdtemp(prefix=".apt-", dir=destination)
    try:
        if not write_private_sources(os.path.join(scratch, "parts")):
            say("apt names no Debian archive (component main) that source packages could come from")
            return None
        os.makedirs(os.path.join(scratch, "lists", "partial"))
        options = [
            "-q",
            "-o",
            "Dir::Etc::SourceList=/dev/null",
            "-o",
            f"Dir::Etc::SourceParts={scratch}/parts",
            "-o",
            f"Dir::State::Lists={scratch}/lists",
            "-o",
            f"Dir::Cache={scratch}",
        ]
        if os.geteuid() == 0:
            options += ["-o", "APT::Sandbox::User=root"]
        return download_with(options, scratch, destination)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def download_with(options, scratch, destination):
    def run(*command):
        return subprocess.run(command, cwd=scratch, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    say("reading the index of source packages")
    update = run("apt-get", *options, "update")
    listed = run("apt-cache", *options, "showsrc", PACKAGE)
    versions = newest_first(re.findall(r"^Version: (\S+)$", listed.stdout, re.M))
    if not versions:
        say(f"no source package {PACKAGE} found\n" + update.stdout[-500:] + update.stderr[-1500:])
        return None
    for version in versions:
        say(f"downloading {PACKAGE} {version}")
        got = run("apt-get", *options, "source", "--download-only", f"{PACKAGE}={version}")
        if got.returncode == 0:
            for name in os.listdir(scratch):
                if TARBALL.match(name):
                    target = os.path.join(destination, name)
                    os.replace(os.path.join(scratch, name), target)
                    return target
        reasons = [line for line in got.stderr.splitlines() if line.startswith("E:")]
        detail = re.sub(r"\S+://\S+/", "", reasons[0][2:].strip()) if reasons else "no tarball"
        say(f"{version} is listed but cannot be downloaded ({detail})")
    say("no version that apt lists could be downloaded; give a tarball or tree in ANTTRACKS_JDK_SOURCE")
    return None


def main(arguments):
    destination = arguments[0]
    os.makedirs(destination, exist_ok=True)
    tarball = None if "--fresh" in arguments[1:] else cached(destination)
    if not tarball and os.environ.get("ANTTRACKS_NO_INSTALL"):
        say(
            "the JDK's source is not there, and ANTTRACKS_NO_INSTALL forbids to fetch it: "
            "run scripts/setup-jdk --until download"
        )
        return 1
    tarball = tarball or download(destination)
    if not tarball:
        return 1
    print(tarball)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
