#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a JDK of a release that Debian 12 does not have, to build that release with; prints its folder.

    boot_jdk.py [DESTINATION] --release 21|25 [--fresh]

Debian's packages of the JDK, and of the C library and what else it is linked with, are unpacked in
DESTINATION/RELEASE (by default the folder boot of the cache). Nothing is installed: the programs are
made to use the dynamic loader and the libraries from there (patchelf), so they run beside an older C
library. A folder that is there already is used without any network access.
"""

import argparse
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import jdk_source  # noqa: E402

SUITES = {"debian": ("trixie", "sid"), "debian-security": ("trixie-security",)}
LIBRARIES = ("libc6", "libgcc-s1", "libstdc++6", "zlib1g")
LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


def cache():
    """That of scripts/lib/common.sh."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("ANTTRACKS_CACHE") or os.path.join(caches, "anttracks")


def java_home(folder, release):
    homes = glob.glob(os.path.join(folder, "usr/lib/jvm", f"java-{release}-openjdk-*"))
    return homes[0] if homes else None


def runs(home):
    """False also where its dynamic loader is gone, as the folder was moved: its path is in the programs."""
    try:
        return bool(home) and run(os.path.join(home, "bin", "javac"), "-version").returncode == 0
    except OSError:
        return False


def stable_first(listed):
    """The versions that `apt-cache madison` lists: newest first, those of sid behind all others."""
    stable, others = [], []
    for version, suite in re.findall(r"^\s*\S+ \|\s+(\S+) \| \S+ (\S+)/main ", listed, re.M):
        (others if suite == "sid" else stable).append(version)
    return jdk_source.newest_first(stable) + jdk_source.newest_first(others)


class Archive:
    """The suites that have newer releases, read by apt with a configuration of its own."""

    def __init__(self, scratch):
        self.scratch = scratch
        uris = jdk_source.write_private_sources(os.path.join(scratch, "source-parts"), "17")
        os.makedirs(os.path.join(scratch, "parts"))
        os.makedirs(os.path.join(scratch, "lists", "partial"))
        with open(os.path.join(scratch, "parts", "newer.list"), "w", encoding="utf-8") as file:
            for uri in uris:
                for suite in SUITES.get(uri.rsplit("/", 1)[-1], ()):
                    file.write(f"deb {uri} {suite} main\n")
        settings = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": scratch + "/parts",
            "Dir::State::Lists": scratch + "/lists",
            "Dir::Cache": scratch,
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"
        self.options = ["-q"] + [word for item in settings.items() for word in ("-o", "=".join(item))]
        self.update = run("apt-get", *self.options, "update")

    def versions(self, package):
        return stable_first(run("apt-cache", *self.options, "madison", package).stdout)

    def download(self, package, version):
        """The path of the .deb; None if the index names it, but it is gone."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        done = run("apt-get", *self.options, "download", f"{package}={version}", cwd=folder)
        found = glob.glob(os.path.join(folder, "*.deb"))
        return found[0] if done.returncode == 0 and found else None

    def one_version(self, packages):
        """The .debs of the newest version that has all of them; [] if none does."""
        for version in self.versions(packages[0]):
            found = [self.download(package, version) for package in packages]
            if all(found):
                jdk_source.say(f"unpacking {packages[0]} {version}")
                return found
        return []


def keep_links_inside(folder):
    """Absolute links into the packages' own files become relative ones."""
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            link = os.path.join(path, name)
            if not os.path.islink(link) or not os.readlink(link).startswith("/"):
                continue
            inside = folder + os.readlink(link)
            if os.path.lexists(inside):
                os.remove(link)
                os.symlink(os.path.relpath(inside, path), link)


def use_own_loader(home, libraries):
    """libraries: their folder, where it will be. Raises CalledProcessError."""
    loader = os.path.join(libraries, "ld-linux-x86-64.so.2")
    for path, _, files in os.walk(home):
        for name in files:
            file = os.path.join(path, name)
            if os.path.islink(file):
                continue
            with open(file, "rb") as head:
                if head.read(4) != b"\x7fELF":
                    continue
            run_path = ":".join([libraries, "$ORIGIN", "$ORIGIN/..", "$ORIGIN/../lib"])
            command = ["patchelf", "--force-rpath", "--set-rpath", run_path]
            if run("patchelf", "--print-interpreter", file).returncode == 0:
                command += ["--set-interpreter", loader]
            run(*command, file, check=True)


def make(destination, release):
    folder = os.path.join(destination, release)
    if not shutil.which("patchelf"):
        setup = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "setup-packages")
        if subprocess.run([setup, "--only", "patchelf"], stdout=sys.stderr).returncode != 0:
            return None
    scratch = tempfile.mkdtemp(prefix=".apt-", dir=destination)
    try:
        archive = Archive(scratch)
        jdk = archive.one_version([f"openjdk-{release}-jdk-headless", f"openjdk-{release}-jre-headless"])
        libraries = [deb for package in LIBRARIES for deb in archive.one_version([package])]
        if not jdk or len(libraries) != len(LIBRARIES):
            jdk_source.say(f"no packages of JDK {release} could be had; give a JDK in ANTTRACKS_BOOT_JDK")
            jdk_source.say(archive.update.stderr[-500:])
            return None
        fresh = os.path.join(scratch, "jdk")
        for deb in jdk + libraries:
            run("dpkg-deb", "-x", deb, fresh, check=True)
        keep_links_inside(fresh)
        use_own_loader(java_home(fresh, release), os.path.join(folder, LIBRARY_FOLDER))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(fresh, folder)
        home = java_home(folder, release)
        if runs(home):
            return home
        jdk_source.say(f"the JDK in {folder} does not run; give one in ANTTRACKS_BOOT_JDK")
        return None
    except subprocess.CalledProcessError as error:
        jdk_source.say(f"{error}: {(error.stderr or '')[-300:]}")
        return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def found_or_made(destination, options):
    home = java_home(os.path.join(destination, options.release), options.release)
    if options.fresh or not runs(home):
        if os.environ.get("ANTTRACKS_NO_INSTALL"):
            jdk_source.say(
                "there is no JDK to build with, and ANTTRACKS_NO_INSTALL forbids to fetch one: "
                "give one in ANTTRACKS_BOOT_JDK"
            )
            return None
        home = make(destination, options.release)
    return home


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="boot_jdk.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("destination", nargs="?", default=os.path.join(cache(), "boot"))
    later = [release for release in jdk_source.TRIED if release != "17"]
    parser.add_argument("--release", choices=later, required=True)
    parser.add_argument("--fresh", action="store_true", help="whatever is there already")
    options = parser.parse_args(arguments)
    destination = os.path.realpath(options.destination)
    os.makedirs(destination, exist_ok=True)
    with open(os.path.join(destination, f".{options.release}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = found_or_made(destination, options)
    if not home:
        return 1
    print(home)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
