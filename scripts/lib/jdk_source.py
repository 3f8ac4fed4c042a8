#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the source of Debian's openjdk-17, -21 or -25 into a folder and prints the tarball's path.

    jdk_source.py DESTINATION [--release 17|21|25] [--version 21.0.13.1+2 | --fresh]

Uses apt with a private configuration: the source entries are made from the system's own binary
entries for Debian archives, whose files stay untouched; for releases that Debian 12 does not have,
with the suites that do. Only the upstream tarball is kept; Debian's own patches are not. The version
that the patch was tried on comes first: from the index, or, where that names newer ones only, by name from
the files that the archive keeps, checked by its SHA-256. Only if it cannot be had (or with --fresh) others
are tried, newest first until one downloads, as the index may name versions whose files are gone. With
--version no other than that one is taken. A tarball that is there already is used without any network
access.
"""

import argparse
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

# What the patches were tried on; newest first.
TRIED = {
    "17": [("17.0.19+10", "7a61915b168dfb9b45413140d78e38dc5b5250d99d1d99fef7136bf9fd45a07c")],
    "21": [("21.0.12.1+1", "ec270145b9c8870e6f0263597efefc6e2c90d99dbe41135b3d8fb8b887499aa5")],
    "25": [("25.0.4+7", "9deeff6ea42325d38391e5293f1ddce11a451ac383f9dd3bb197616541e9a960")],
}
# Suites beside the system's own that have the release, by what the URI of their archive ends in.
SUITES = {"debian": "trixie sid", "debian-security": "trixie-security"}


def package_of(release):
    return "openjdk-" + release


def tarball_of(release):
    return re.compile(rf"openjdk-{release}_({release}[0-9.+]*)\.orig\.tar\.xz$")


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


def without_mirrors(text):
    """Source entries with the first archive of a list instead of the list (mirror+file:PATH)."""

    def first(match):
        try:
            with open(match[1], encoding="utf-8") as file:
                found = re.search(r"^\s*(\w+://\S+)", file.read(), re.M)
        except OSError:
            found = None
        return found[1] if found else match[0]

    return re.sub(r"\bmirror\+file:(?://)?(/\S+)", first, text)


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


def apt_settings(*words):
    """By name; words: a name and apt's setting, and so on. Those that are not set are left out."""
    shell = subprocess.run(["apt-config", "shell", *words], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^(\w+)='(.*)'$", shell, re.M))


def system_source_files():
    """The files apt itself reads."""
    paths = apt_settings("LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d")
    files = [paths.get("LIST", "/etc/apt/sources.list")]
    parts = paths.get("PARTS", "/etc/apt/sources.list.d/")
    if os.path.isdir(parts):
        files += [
            os.path.join(parts, name)
            for name in sorted(os.listdir(parts))
            if name.endswith((".list", ".sources"))
        ]
    return [f for f in files if os.path.isfile(f)]


def write_private_sources(folder, release):
    """Returns the URIs of the archives."""
    os.makedirs(folder)
    uris = []
    for number, path in enumerate(system_source_files()):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = without_mirrors(file.read())
        deb822 = path.endswith(".sources")
        entries = deb822_sources(text) if deb822 else one_line_sources(text)
        if entries:
            name = f"{number:02}.{'sources' if deb822 else 'list'}"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(("\n\n" if deb822 else "\n").join(entries) + "\n")
            uris += [uri.rstrip("/") for entry in entries for uri in re.findall(r"\w+://[^\s\]]+", entry)]
    uris = sorted(set(uris))
    if release != "17":
        with open(os.path.join(folder, "newer.list"), "w", encoding="utf-8") as file:
            file.write("".join(newer_entries(uris)))
    return uris


def newer_entries(uris):
    """deb-src lines for the suites that have newer releases, in archives whose content they are part of."""
    lines = []
    for uri in uris:
        for suite in SUITES.get(uri.rsplit("/", 1)[-1], "").split():
            lines.append(f"deb-src {uri} {suite} main\n")
    return lines


def newest_first(versions):
    def compare(a, b):
        return -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1

    return sorted(set(versions), key=functools.cmp_to_key(compare))


def cached(destination, release, wanted=None):
    tarball = tarball_of(release)
    names = [n for n in os.listdir(destination) if tarball.match(n)]
    versions = newest_first([tarball.match(n).group(1) for n in names])
    if wanted:
        name = f"{package_of(release)}_{wanted}.orig.tar.xz"
        return os.path.join(destination, name) if wanted in versions else None
    if not versions:
        return None
    tried = [version for version in versions if version in dict(TRIED[release])]
    path = os.path.join(destination, f"{package_of(release)}_{(tried or versions)[0]}.orig.tar.xz")
    if not tried:
        say(f"the patch was tried on {TRIED[release][0][0]}: delete {path} to look for that version instead")
    return path


def opener():
    """As apt does, by its proxy if it has one."""
    of_apt = apt_settings("http", "Acquire::http::Proxy", "https", "Acquire::https::Proxy")
    proxies = urllib.request.getproxies()
    proxies.update({name: proxy for name, proxy in of_apt.items() if proxy not in ("", "DIRECT")})
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxies))


def fetch_kept(uris, release, scratch, destination, wanted=None):
    """A tarball that the index no longer names, from the archive's pool."""
    package, archive = package_of(release), opener()
    for version, sha256 in TRIED[release]:
        if wanted not in (None, version):
            continue
        name = f"{package}_{version}.orig.tar.xz"
        for uri in uris:
            part = "pool/updates/main" if uri.endswith("-security") else "pool/main"
            url = f"{uri}/{part}/o/{package}/{name}"
            path = os.path.join(scratch, name)
            try:
                with archive.open(url, timeout=60) as source, open(path, "wb") as file:
                    shutil.copyfileobj(source, file)
            except (urllib.error.URLError, OSError, ValueError) as error:
                say(f"{name} is not at {uri}: {error}")
                continue
            with open(path, "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != sha256:
                    say(f"{name} is not the file that it was: not used")
                    continue
            say(f"{package} {version}, on which the patch was tried, is still in the archive")
            target = os.path.join(destination, name)
            os.replace(path, target)
            return target
    return None


def download(destination, release, fresh, wanted=None):
    scratch = tempfile.mkdtemp(prefix=".apt-", dir=destination)
    try:
        uris = write_private_sources(os.path.join(scratch, "parts"), release)
        if not uris:
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
        listed = listed_versions(options, scratch, release)
        first, then = in_order(listed, release, fresh, wanted)
        tarball = (
            download_one_of(first, options, scratch, destination, release)
            or fetch_kept(uris, release, scratch, destination, wanted)
            or download_one_of(then, options, scratch, destination, release)
        )
        if not tarball and wanted:
            say(f"{wanted} cannot be had; the index has {', '.join(listed) or 'none'}")
        elif not tarball:
            say("no version could be downloaded; give a tarball or tree in ANTTRACKS_JDK_SOURCE")
        return tarball
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def upstream(version):
    """Of a Debian version."""
    return version.rsplit("-", 1)[0]


def in_order(versions, release, fresh, wanted=None):
    """(those to be tried before the files that the archive keeps, those after); versions: newest first."""
    if wanted:
        return [v for v in versions if upstream(v) == wanted], []
    first = [v for v in versions if fresh or upstream(v) in dict(TRIED[release])]
    return first, [v for v in versions if v not in first]


def run_apt(scratch, *command):
    return subprocess.run(command, cwd=scratch, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def listed_versions(options, scratch, release):
    """Of the source package in the index, newest first."""
    say("reading the index of source packages")
    update = run_apt(scratch, "apt-get", *options, "update")
    listed = run_apt(scratch, "apt-cache", *options, "showsrc", package_of(release))
    versions = newest_first(re.findall(r"^Version: (\S+)$", listed.stdout, re.M))
    if not versions:
        say(
            f"no source package {package_of(release)} found\n" + update.stdout[-500:] + update.stderr[-1500:]
        )
    return versions


def download_one_of(versions, options, scratch, destination, release):
    """The tarball of the first version that can be downloaded, or None."""
    package, tarball = package_of(release), tarball_of(release)
    for version in versions:
        say(f"downloading {package} {version}")
        got = run_apt(
            scratch, "apt-get", *options, "source", "--download-only", f"{package}={version}"
        )
        if got.returncode == 0:
            for name in os.listdir(scratch):
                if tarball.match(name):
                    target = os.path.join(destination, name)
                    os.replace(os.path.join(scratch, name), target)
                    return target
        reasons = [line for line in got.stderr.splitlines() if line.startswith("E:")]
        detail = re.sub(r"\S+://\S+/", "", reasons[0][2:].strip()) if reasons else "no tarball"
        say(f"{version} is listed but cannot be downloaded ({detail})")
    return None


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="jdk_source.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("destination")
    parser.add_argument("--release", choices=list(TRIED), default="17")
    parser.add_argument("--fresh", action="store_true", help="the newest, whatever is there already")
    parser.add_argument("--version", help="of the JDK's source, up to the build number, such as 21.0.13.1+2")
    options = parser.parse_args(arguments)
    destination, release = options.destination, options.release
    os.makedirs(destination, exist_ok=True)
    tarball = None if options.fresh else cached(destination, release, options.version)
    if not tarball and os.environ.get("ANTTRACKS_NO_INSTALL"):
        say(
            "the JDK's source is not there, and ANTTRACKS_NO_INSTALL forbids to fetch it: "
            "run scripts/setup-jdk --until download"
        )
        return 1
    tarball = tarball or download(destination, release, options.fresh, options.version)
    if not tarball:
        return 1
    print(tarball)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
