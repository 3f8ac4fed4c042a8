# SPDX-License-Identifier: Apache-2.0
"""What the tests share: where things are, how programs are run, how tests are declared."""

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
import zlib

import sanitizers

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
HERE = os.path.join(ROOT, "tests", "integration")
BUILD = os.path.join(ROOT, "build")
OUT = os.environ.get("ANTTRACKS_TEST_OUT") or os.path.join(BUILD, "integration")
CLASSES = os.path.join(OUT, "classes")
JDK = os.path.abspath(os.environ.get("ANTTRACKS_JDK_HOME") or os.path.join(BUILD, "jdk"))
# The scheme that programs run with; the JVM's choice if not set. compact: ash, with compact headers.
SITES = os.environ.get("ANTTRACKS_TEST_SITES")
IN_THE_HASH = ("hash", "hash-eliminate", "ash")  # with Serial and G1 the heap has 16 GB at most
SITES_FLAGS = [f"-XX:AntTracksSites={SITES}"] if SITES else []
if SITES == "compact":
    SITES_FLAGS = ["-XX:AntTracksSites=ash", "-XX:+UseCompactObjectHeaders"]
BUILT = sanitizers.FOLDER if sanitizers.KINDS else BUILD
AGENT = os.environ.get("ANTTRACKS_AGENT") or os.path.join(BUILT, "libanttracks.so")
ANALYZER = os.environ.get("ANTTRACKS_ANALYZER") or os.path.join(BUILT, "anttracks")
NATIVE = os.path.join(OUT, "libnative.so")  # native/native.c
ASK_SITES = os.path.join(OUT, "libask_sites.so")  # native/ask_sites.c
NEIGHBOUR = os.path.join(OUT, "libneighbour.so")  # native/neighbour.c, another JVM TI agent
HANG = os.path.join(OUT, "libhang.so")  # native/hang.c, preloaded
JAVA_AGENT = os.path.join(OUT, "instrument.jar")  # java/Instrument.java, an agent in Java
TIMEOUT = int(os.environ.get("ANTTRACKS_TEST_TIMEOUT") or 300)  # seconds for a program

TESTS = []


def jdk_release(home=JDK):
    """The release of a JDK, such as 17; 0: there is no JDK."""
    path = os.path.join(home, "release")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        found = re.search(r'^JAVA_VERSION="(\d+)', file.read(), re.M)
    return int(found[1]) if found else 0


class Failure(Exception):
    pass


class Inconclusive(Failure):
    """The run says nothing: the machine was too slow or too busy, or what the test is about did not come up.
    The test runs once more, alone."""


class Skip(Exception):
    pass


class Test:
    def __init__(self, name, function, slow):
        self.name, self.function, self.slow = name, function, slow
        words = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
        self.folder = os.path.join(OUT, f"{words[:100]}-{zlib.crc32(name.encode()):08x}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def clear(self):
        """An empty folder, as at the start."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)


def add(name, function, slow=False):
    if any(test.name == name for test in TESTS):
        raise ValueError(f"two tests are named {name!r}")
    TESTS.append(Test(name, function, slow))


def test(name, slow=False):
    """Declares a test: a function of its Test, whose folder is empty when it starts."""

    def declare(function):
        add(name, function, slow)
        return function

    return declare


def expect(condition, message):
    if not condition:
        raise Failure(message)


def conclusive(condition, message):
    """As expect, of what depends on the machine's speed or on chance. Never of what the agent must not do."""
    if not condition:
        raise Inconclusive(message)


def tail(text, lines=12):
    return "\n".join(text.strip().splitlines()[-lines:])


def run(command, timeout=TIMEOUT, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")}
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env=environment,
            **options,
        )
    except subprocess.TimeoutExpired as e:
        raise Failure(f"no end after {timeout} s: {' '.join(command)}") from e


@functools.cache
def stock_java(release=None):
    """A JDK without the patch, of that release or the one under test: of 17 Debian's own; of others what
    scripts/setup-jdk --stock built, else Debian's."""
    release = release or jdk_release()
    built = os.path.join(BUILD, f"jdk{release}-stock")
    if release == 17:
        machine = run(["dpkg", "--print-architecture"]).stdout.strip()
        homes = (f"/usr/lib/jvm/java-17-openjdk-{machine}", "/usr/lib/jvm/java-17-openjdk")
    elif os.path.exists(built):
        homes = (built,)
    else:  # the one that the patched JDK was built with
        script = os.path.join(ROOT, "scripts", "lib", "boot_jdk.py")
        homes = (run([script, "--release", str(release)]).stdout.strip(),)
    for home in homes:
        if home and os.path.exists(home + "/bin/java"):
            return home
    raise Skip(f"there is no JDK {release} without the patch: Debian's package, or scripts/setup-jdk --stock")


def java_command(main, arguments=(), flags=("-XX:+UseParallelGC", "-Xmx64m"), agent=None, jdk=JDK):
    # Before the test's own flags, which may name another scheme.
    sites = SITES_FLAGS if jdk == JDK else []
    command = [*sanitizers.jvm_words(), jdk + "/bin/java", *sites, *flags]
    if agent is not None:
        command.append(f"-agentpath:{AGENT}" + (f"={agent}" if agent else ""))
    if jdk_release(jdk) >= 24:  # or it warns of System.load
        command.append("--enable-native-access=ALL-UNNAMED")
    return [*command, "-Dnative.library=" + NATIVE, "-cp", CLASSES, main, *map(str, arguments)]


def run_traced(
    test_, main, arguments=(), flags=("-XX:+UseParallelGC", "-Xmx64m"), options="", judged=True, before=()
):
    """Runs a program under the agent; returns (the trace's path, the finished process); it must exit with 0.

    before: words of a command in front of java's."""
    trace = test_.path("trace")
    extra = [f"-Djudge.dir={test_.folder}"] if judged else []
    done = run(
        [*before, *java_command(main, arguments, [*flags, *extra], f"file={trace}" + options)], cwd=test_.folder
    )
    expect(
        done.returncode == 0, f"java ended with {done.returncode}\n{tail(done.stdout)}\n{tail(done.stderr, 30)}"
    )
    return trace, done


def analyze(*arguments, code=0):
    done = run([ANALYZER, *arguments])
    expect(
        done.returncode == code,
        f"anttracks {' '.join(arguments)} ended with {done.returncode}, not {code}\n{tail(done.stdout)}\n"
        f"{tail(done.stderr)}",
    )
    return done.stdout


def analyze_json(*arguments):
    return json.loads(analyze(*arguments, "--json"))


def verified(trace, clean_end=True):
    """No error in the whole trace, nothing lost, and it says that it is complete."""
    report = run([ANALYZER, "verify", trace, "--json"])
    expect(
        report.returncode == 0,
        f"anttracks verify ended with {report.returncode}\n{tail(report.stdout, 40)}\n{tail(report.stderr)}",
    )
    result = json.loads(report.stdout)
    expect(result["errors"] == 0, f"verify: {result}")
    if clean_end:
        expect(result["ended_cleanly"], "the trace has no end record")
    return result


_prepared = threading.Lock()
_MANIFEST = (
    "Manifest-Version: 1.0\nPremain-Class: Instrument\n"
    "Can-Redefine-Classes: true\nCan-Retransform-Classes: true\n"
)


def _compile_native(source, library):
    return run(
        [
            "gcc",
            "-shared",
            "-fPIC",
            "-O2",
            f"-I{JDK}/include",
            f"-I{JDK}/include/linux",
            f"-I{ROOT}",
            "-o",
            library,
            os.path.join(HERE, "native", source),
        ]
    )


def wait_for_others():
    """Until no other run is at work in this folder: each compiles the programs anew, with its own JDK. To be
    called once; the lock is held until the process ends."""
    os.makedirs(os.path.dirname(os.path.abspath(OUT)), exist_ok=True)
    lock = os.open(OUT + ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another tests/integration/run is at work in {OUT}; waiting for it", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)


def prepare():
    """Compiles the programs with the JDK under test. Returns None, or why that is not possible."""
    with _prepared:
        for path in (JDK + "/bin/javac", AGENT, ANALYZER):
            if not os.path.exists(path):
                return f"{path} is missing: run scripts/build"
        shutil.rmtree(OUT, ignore_errors=True)
        os.makedirs(CLASSES)
        sources = [os.path.join(HERE, "java", name) for name in sorted(os.listdir(os.path.join(HERE, "java")))]
        # The baselines run on Debian's 17, and what asks for stock_java(17).
        version = ["-source", "17", "-target", "17"] if jdk_release() > 17 else []
        done = run([JDK + "/bin/javac", "-nowarn", "-g", *version, "-d", CLASSES, *sources])
        if done.returncode != 0:
            return "javac failed\n" + tail(done.stderr, 30)
        with zipfile.ZipFile(JAVA_AGENT, "w") as jar:  # its class is found on the class path
            jar.writestr("META-INF/MANIFEST.MF", _MANIFEST)
        for source, library in (
            ("native.c", NATIVE),
            ("neighbour.c", NEIGHBOUR),
            ("ask_sites.c", ASK_SITES),
            ("hang.c", HANG),
        ):
            done = _compile_native(source, library)
            if done.returncode != 0:
                return "gcc failed\n" + tail(done.stderr, 30)
        return None
