# SPDX-License-Identifier: Apache-2.0
"""scripts/setup-jdk, with a source whose compiler is a few lines of a Makefile."""

import os
import shutil
import signal
import subprocess

from judge.world import JDK, ROOT, expect, run, test
from suites.host import wait_until

IMAGE = "build/fake/images/jdk"
MAKES_AN_IMAGE = (
    f"mkdir -p {IMAGE}/bin {IMAGE}/lib/server",
    f"printf '#!/bin/sh\\n' >{IMAGE}/bin/java",
    f"chmod +x {IMAGE}/bin/java",
    f"touch {IMAGE}/lib/server/classes.jsa",
)


def fake_jdk_source(t, build):
    """A tree that setup-jdk takes for the source of a JDK; build: what make runs, as lines of a Makefile."""
    tree = t.path("source")
    os.makedirs(os.path.join(tree, "src"))
    os.makedirs(os.path.join(tree, "make"))
    with open(os.path.join(tree, "configure"), "w", encoding="utf-8") as file:
        file.write("mkdir -p build/fake\n")
    os.makedirs(os.path.join(tree, "make", "conf"))
    with open(os.path.join(tree, "make", "conf", "version-numbers.conf"), "w", encoding="utf-8") as file:
        file.write("DEFAULT_VERSION_FEATURE=17\n")
    with open(os.path.join(tree, "Makefile"), "w", encoding="utf-8") as file:
        file.write("product-images:\n" + "".join(f"\t{line}\n" for line in build))
    scripts = t.path("scripts")
    shutil.copytree(os.path.join(ROOT, "scripts"), scripts)
    os.symlink(os.path.join(ROOT, "vmpatch"), t.path("vmpatch"))
    names = {"ANTTRACKS_JDK_SOURCE": tree, "ANTTRACKS_CACHE": t.path("cache")}
    settings = [f"{name}={value}" for name, value in names.items()]
    return ["env", "-u", "ANTTRACKS_JDK_HOME", *settings, os.path.join(scripts, "setup-jdk"), "--stock"]


@test("setup-jdk goes on when a file vanishes while it counts what is compiled")
def vanished(t):
    command = fake_jdk_source(t, ["sleep 34", *MAKES_AN_IMAGE])  # it counts every 30 s
    os.makedirs(t.path("bin"))
    with open(t.path("bin/find"), "w", encoding="utf-8") as file:
        file.write(
            '#!/bin/sh\n/usr/bin/find "$@"\ncase "$*" in *.class*) echo gone >>"$COUNTED"; exit 1 ;; esac\n'
        )
    os.chmod(t.path("bin/find"), 0o755)
    environment = [f"PATH={t.path('bin')}:{os.environ['PATH']}", "COUNTED=" + t.path("counted")]
    done = run(["env", *environment, *command])
    expect(os.path.exists(t.path("counted")), f"nothing was counted: {done.stderr}")
    expect(done.returncode == 0 and "build/jdk-stock ->" in done.stderr, f"{done.returncode} {done.stderr}")


@test("setup-jdk that is ended takes its compiler with it")
def ended(t):
    command = fake_jdk_source(t, [f"echo $$$$ >{t.path('pid')}; exec sleep 300"])
    for number in (signal.SIGTERM, signal.SIGHUP):
        # The tests may run below nohup, and what is ignored then stays so in all programs.
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)
        ) as setup:
            wait_until(lambda: os.path.exists(t.path("pid")) and os.path.getsize(t.path("pid")), "no compiler")
            with open(t.path("pid"), encoding="utf-8") as file:
                compiler = file.read().strip()
            setup.send_signal(number)
            said = setup.communicate()[1]
        expect(setup.returncode == 130, f"{setup.returncode}: {said}")
        expect(not os.path.exists(f"/proc/{compiler}"), "the compiler runs on")
        left = [name for name in os.listdir(t.path("cache/work")) if not name.endswith(".log")]
        expect(left == [], f"{left} are left in the cache")
        os.remove(t.path("pid"))


@test("setup-jdk refuses the source of another release")
def other_release(t):
    command = fake_jdk_source(t, ["exit 1"])
    done = run(["env", "ANTTRACKS_BOOT_JDK=" + JDK, *command, "--jdk", "25"])
    expect(done.returncode == 1 and "is the source of JDK 17, not of 25" in done.stderr, done.stderr)
    os.remove(t.path("source/make/conf/version-numbers.conf"))
    done = run(command)
    expect(done.returncode == 1 and "is the source of JDK (not told), not of 17" in done.stderr, done.stderr)


@test("setup-jdk names an image the same whatever the order of its options")
def order(t):
    command = fake_jdk_source(t, MAKES_AN_IMAGE)[:-1]
    for options in (["--stock", "--fastdebug"], ["--fastdebug", "--stock"]):
        done = run([*command, *options])
        expect("build/jdk-stock-fastdebug ->" in done.stderr, f"{options}: {done.stderr}")
