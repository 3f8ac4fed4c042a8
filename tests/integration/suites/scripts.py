# SPDX-License-Identifier: Apache-2.0
"""The set-up scripts, as far as they can be tested without building a JDK."""

import hashlib
import os
import shutil
import subprocess

import boot_jdk
import jdk_source
import workloads
from judge.world import ROOT, expect, run, test

SETUP = os.path.join(ROOT, "scripts", "setup-packages")


@test("Source entries are made from Debian's one-line entries only")
def one_line(t):
    text = """
# deb http://example.org/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://example.org/debian \
bookworm main contrib # x
deb http://example.org/debian-security bookworm-security main
deb-src http://example.org/debian-security bookworm-security main
deb [signed-by=/etc/apt/keyrings/other.gpg] http://example.org/linux/debian bookworm main
deb http://example.org/linux/debian bookworm stable
"""
    found = jdk_source.one_line_sources(text)
    expect(
        found
        == [
            "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://example.org/debian "
            "bookworm main contrib",
            "deb-src http://example.org/debian-security bookworm-security main",
        ],
        found,
    )


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
    expect(
        found
        == [
            "Types: deb-src\nURIs: http://example.org/debian\nSuites: bookworm bookworm-updates\n"
            "Components: main\n"
            "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg"
        ],
        found,
    )


@test("Source entries name the archive where a list of mirrors is given")
def mirrors(t):
    with open(t.path("debian.list"), "w", encoding="utf-8") as file:
        file.write("# one of\nhttp://example.org/debian\nhttp://example.com/debian\n")
    text = f"""Types: deb deb-src
URIs: mirror+file://{t.path("debian.list")} mirror+file:{t.path("none.list")}
Suites: bookworm
Components: main
"""
    found = jdk_source.deb822_sources(jdk_source.without_mirrors(text))
    expect(len(found) == 1 and "URIs: http://example.org/debian\n" in found[0], found)


@test("Of sources that are there the version that the patch was tried on is taken, if it is among them")
def cached_source(t):
    tried = jdk_source.TRIED["17"][0][0]
    for version in (tried, "17.0.99+1", "17.0.1+2"):
        with open(t.path(f"openjdk-17_{version}.orig.tar.xz"), "w", encoding="utf-8"):
            pass
    expect(tried in jdk_source.cached(t.folder, "17"), jdk_source.cached(t.folder, "17"))
    os.remove(jdk_source.cached(t.folder, "17"))
    expect("17.0.99+1" in jdk_source.cached(t.folder, "17"), "not the newest")
    expect(jdk_source.cached(t.folder, "21") is None, "of another release")
    expect("17.0.1+2" in jdk_source.cached(t.folder, "17", "17.0.1+2"), "not the one that is asked for")
    expect(jdk_source.cached(t.folder, "17", tried) is None, "another one than is asked for")


@test("A JDK to build with whose folder was moved is none")
def moved_boot_jdk(t):
    os.makedirs(t.path("jdk/bin"))
    expect(not boot_jdk.runs(t.path("jdk")), "without a program")
    with open(t.path("jdk/bin/javac"), "w", encoding="utf-8") as file:
        file.write("#!/nonexistent/loader\n")
    os.chmod(file.name, 0o755)
    expect(not boot_jdk.runs(t.path("jdk")), "without its loader")


@test("The newest version of the source comes first")
def versions(t):
    found = jdk_source.newest_first(
        ["17.0.9+9-1", "17.0.19+10-1~deb12u2", "17.0.19+10-1~deb12u1", "17.0.9+9-1"]
    )
    expect(found == ["17.0.19+10-1~deb12u2", "17.0.19+10-1~deb12u1", "17.0.9+9-1"], found)


@test("The version that the patch was tried on comes before newer ones, unless these are asked for")
def tried_first(t):
    del t
    tried = jdk_source.TRIED["17"][0][0]
    listed = ["17.0.99+1-1", f"{tried}-2~deb12u1", f"{tried}-1", "17.0.9+9-1"]
    found = jdk_source.in_order(listed, "17", False)
    expect(found == (listed[1:3], [listed[0], listed[3]]), found)
    expect(jdk_source.in_order(listed, "17", True) == (listed, []), "the newest is asked for")
    expect(jdk_source.in_order(listed, "17", False, "17.0.99+1") == (listed[:1], []), "one is asked for")


@test("A source that the index no longer names is fetched by name, and checked")
def kept(t):
    archive = f"file://{t.path('debian')}"
    name = f"openjdk-21_{jdk_source.TRIED['21'][0][0]}.orig.tar.xz"
    pool = os.path.join(t.path("debian"), "pool", "main", "o", "openjdk-21")
    scratch, destination = t.path("scratch"), t.path("destination")
    for folder in (pool, scratch, destination):
        os.makedirs(folder)
    arguments = ([f"file://{t.path('none')}", archive], "21", scratch, destination)
    expect(jdk_source.fetch_kept(*arguments) is None, "found where nothing is")
    with open(os.path.join(pool, name), "w", encoding="utf-8") as file:
        file.write("something else")
    expect(jdk_source.fetch_kept(*arguments) is None and os.listdir(destination) == [], "a wrong file was used")
    before = jdk_source.TRIED["21"]
    jdk_source.TRIED["21"] = [(before[0][0], hashlib.sha256(b"something else").hexdigest())]
    try:
        expect(jdk_source.fetch_kept(*arguments, "21.0.99+1") is None, "another one is asked for")
        expect(jdk_source.fetch_kept(*arguments) == os.path.join(destination, name), os.listdir(destination))
    finally:
        jdk_source.TRIED["21"] = before


@test("Newer suites are looked at in Debian's archives that have them")
def newer(t):
    found = jdk_source.newer_entries(["http://example.org/debian", "http://example.org/debian-security", "x/y"])
    expect(
        found
        == [
            "deb-src http://example.org/debian trixie main\n",
            "deb-src http://example.org/debian sid main\n",
            "deb-src http://example.org/debian-security trixie-security main\n",
        ],
        found,
    )


@test("Of the packages of a JDK to build with the newest of a stable suite comes first")
def boot_versions(t):
    listed = """
 libgcc-s1 |   16.2.0-4 | http://example.org/debian sid/main amd64 Packages
 libgcc-s1 |  14.2.0-19 | http://example.org/debian trixie/main amd64 Packages
 libgcc-s1 |  14.2.0-20 | http://example.org/debian-security trixie-security/main amd64 Packages
"""
    found = boot_jdk.stable_first(listed)
    expect(found == ["14.2.0-20", "14.2.0-19", "16.2.0-4"], found)


@test("Links of an unpacked JDK lead into its own folder, not into the system's")
def boot_links(t):
    os.makedirs(t.path("jdk/etc/java"))
    os.makedirs(t.path("jdk/usr/lib"))
    with open(t.path("jdk/etc/java/a.cfg"), "w", encoding="utf-8") as file:
        file.write("ours")
    os.symlink("/etc/java/a.cfg", t.path("jdk/usr/lib/a.cfg"))
    os.symlink("/etc/java", t.path("jdk/usr/lib/conf"))
    os.symlink("/etc/none", t.path("jdk/usr/lib/elsewhere"))
    boot_jdk.keep_links_inside(t.path("jdk"))
    expect(os.readlink(t.path("jdk/usr/lib/a.cfg")) == "../../etc/java/a.cfg", "a file's link")
    expect(os.path.exists(t.path("jdk/usr/lib/conf/a.cfg")), "a folder's link")
    expect(os.readlink(t.path("jdk/usr/lib/elsewhere")) == "/etc/none", "a link out of the folder")


@test("setup-jdk names the releases that there is a patch for")
def releases(t):
    for wrong in ("8", "26", "src", "", "../17"):
        done = run([os.path.join(ROOT, "scripts", "setup-jdk"), "--jdk", wrong, "--until", "download"])
        said = f"no patch for JDK '{wrong}', only for 17, 21, 25"
        expect(done.returncode == 1 and said in done.stderr, f"{wrong}: {done.stderr}")


SCRIPTS = (
    *("quickstart", "build", "test", "fuzz", "stress", "setup-packages", "setup-jdk", "package"),
    *("bench", "profile", "harness", "jtreg"),
)


@test("The scripts say with --help how they are used, and do nothing else")
def helpful(t):
    for script in (*SCRIPTS, "tidy", "vm-port-check"):
        done = run([os.path.join(ROOT, "scripts", script), "--help"])
        expect(done.returncode == 0 and f"scripts/{script}" in done.stdout, f"{script}: {done.returncode}")


@test("The scripts refuse unknown options and name the valid ones")
def unknown_options(t):
    for script in SCRIPTS:
        done = run([os.path.join(ROOT, "scripts", script), "--frobnicate"])
        text = done.stdout + done.stderr
        expect(
            done.returncode != 0 and "frobnicate" in text and "--" in text.replace("--frobnicate", ""),
            f"{script}: {done.returncode} {text}",
        )


@test("A patch hunk that does not fit is named, with what to do")
def hunk(t):
    for folder in (
        "scripts/lib",
        "vmpatch/17",
        "vmpatch/abi",
        "vmpatch/src/hotspot/share/anttracks",
        "tree/src",
        "tree/make/conf",
    ):
        os.makedirs(t.path(folder))
    run(["cp", "-r", os.path.join(ROOT, "scripts"), t.folder])
    run(["cp", os.path.join(ROOT, "vmpatch/abi/anttracks_abi.h"), t.path("vmpatch/abi")])
    files = {
        "tree/configure": "exit 1\n",
        "tree/make/conf/version-numbers.conf": "DEFAULT_VERSION_FEATURE=17\n",
        "tree/src/a.txt": "one\ntwo\nthree\n",
        "vmpatch/17/series": "# comment\nfits.patch\nfails.patch\n",
        "vmpatch/17/fits.patch": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,4 @@\n one\n+more\n two\n"
        " three\n",
        "vmpatch/17/fails.patch": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n"
        " three\n",
    }
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


def bare_system(t, apt_get="exit 0"):
    """Words in front of a command for which no package is installed; apt-get is this shell script,
    and its calls are written down."""
    os.makedirs(t.path("bin"))
    for name, text in (
        ("dpkg-query", "exit 1"),
        ("id", "echo 0"),
        ("apt-get", f'echo "$@" >>{t.path("calls")}\n{apt_get}'),
    ):
        with open(t.path("bin/" + name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(t.path("bin/" + name), 0o755)
    return ["env", "PATH=" + t.path("bin") + ":" + os.environ["PATH"]]


def calls(t):
    if not os.path.exists(t.path("calls")):
        return []
    with open(t.path("calls"), encoding="utf-8") as file:
        return file.read().splitlines()


@test(
    "setup-packages waits for locks that somebody else holds, and fetches the index when a package is not in it"
)
def locks(t):
    apt_get = f"""case $(wc -l <{t.path("calls")}) in
1) echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)" >&2; exit 100 ;;
2) echo "E: Unable to locate package a" >&2; exit 100 ;;
3) echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2; exit 100 ;;
esac"""
    done = run([*bare_system(t, apt_get), "env", "-u", "ANTTRACKS_NO_INSTALL", SETUP, "--only", "a", "b"])
    expect(done.returncode == 0, f"ended with {done.returncode}: {done.stderr}")
    found = [next(word for word in call.split() if word in ("install", "update")) for call in calls(t)]
    expect(found == ["install", "install", "update", "update", "install"], f"{calls(t)}")
    expect(
        all("DPkg::Lock::Timeout=" in call for call in calls(t)) and calls(t)[-1].endswith(" a b"),
        f"{calls(t)}",
    )
    expect(done.stderr.count("waiting for a lock") == 2, done.stderr)


@test("A package counts as installed by the machine's own architecture")
def architectures(t):
    bare = bare_system(t)
    native = run(["dpkg", "--print-architecture"]).stdout.strip()
    for shown, missing in (
        (f"{native} installed\\nother installed", False),
        ("all installed", False),
        ("other installed", True),
        (f"{native} config-files\\nother installed", True),
    ):
        with open(t.path("bin/dpkg-query"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '{shown}\\n'\n")
        done = run([*bare, SETUP, "--only", "a"])
        expect(("missing: a;" in done.stderr) == missing, f"{shown}: {done.returncode} {done.stderr}")


@test("Scripts run without HOME, with CDPATH, and with a cache that is named from here")
def surroundings(t):
    done = run(["env", "-u", "HOME", "CDPATH=.:/", "sh", "-c", f"cd {ROOT} && scripts/build --help"])
    expect(done.returncode == 0 and "build/jdk" in done.stdout, f"{done.returncode} {done.stderr}")
    setup = os.path.join(ROOT, "scripts", "setup-jdk")
    done = run(["env", "ANTTRACKS_CACHE=cache", setup, "--help"], cwd=t.folder)
    expect(f"(now {os.path.join(os.path.realpath(t.folder), 'cache')})" in done.stdout, done.stdout)


@test("Of two builds in one checkout one waits for the other")
def two_builds(t):
    shutil.copytree(os.path.join(ROOT, "scripts"), t.path("scripts"))
    os.makedirs(t.path("bin"))
    scripts = {
        "meson": 'mkdir -p "$3" && touch "$3/build.ninja" "$3/libanttracks.so" "$3/anttracks"',
        "ninja": f"echo begin >>{t.path('calls')}; sleep 3; echo end >>{t.path('calls')}",
    }
    for name, text in scripts.items():
        with open(t.path("bin/" + name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(file.name, 0o755)
    with open(t.path("meson.build"), "w", encoding="utf-8"):
        pass
    command = ["env", "PATH=" + t.path("bin") + ":" + os.environ["PATH"], t.path("scripts/build"), "--no-jdk"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate()[1] for each in both]
    expect([each.returncode for each in both] == [0, 0], f"{said}")
    expect(calls(t) == ["begin", "end"] * 2, f"{calls(t)}")
    expect(sum("waiting for it" in each for each in said) == 1, f"{said}")


@test("setup-packages gives up at another error than a lock")
def no_lock(t):
    apt_get = (
        "echo Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend.; "
        "echo E: no network >&2; exit 100"
    )
    done = run([*bare_system(t, apt_get), "env", "-u", "ANTTRACKS_NO_INSTALL", SETUP, "--only", "a"])
    expect(
        done.returncode == 1 and "no network" in done.stderr and len(calls(t)) == 2,
        f"{done.returncode} {done.stderr} {calls(t)}",
    )


@test("From within a test nothing is installed or fetched, and what is missing is named")
def no_install(t):
    expect(os.environ.get("ANTTRACKS_NO_INSTALL") == "1", "tests may install")
    bare = bare_system(t)
    done = run([*bare, SETUP, "--only", "a", "b"])
    expect(
        done.returncode == 1 and "missing: a b;" in done.stderr and "--only a b" in done.stderr,
        f"{done.returncode} {done.stderr}",
    )
    done = run([*bare, os.path.join(ROOT, "scripts", "jtreg"), "--short", "--out", t.folder])
    expect(done.returncode == 77 and "jtreg7" in done.stderr, f"{done.returncode} {done.stderr}")
    done = run([*bare, os.path.join(ROOT, "scripts", "harness"), "--install", "h2"])
    expect(done.returncode == 1 and "libh2-java" in done.stderr, f"{done.returncode} {done.stderr}")
    done = run(
        [
            *bare,
            "env",
            "-u",
            "ANTTRACKS_JDK_HOME",
            "-u",
            "ANTTRACKS_JDK_SOURCE",
            "ANTTRACKS_CACHE=" + t.path("cache"),
            os.path.join(ROOT, "scripts", "setup-jdk"),
            "--until",
            "download",
        ]
    )
    expect(done.returncode == 1 and "--until download" in done.stderr, f"{done.returncode} {done.stderr}")
    expect(calls(t) == [], f"apt-get was called: {calls(t)}")


@test("scripts/test installs all packages of the workloads but for three large ones")
def test_packages(t):
    done = run([*bare_system(t), SETUP, "--test"])
    missing = done.stderr.split("missing: ")[1].split(";")[0].split()
    left_out = set(workloads.PACKAGES) - set(missing)
    expect(
        left_out == {"jython", "liblucene8-java", "scala"} and "jtreg7" in missing, f"not installed: {left_out}"
    )
