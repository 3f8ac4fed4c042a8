# SPDX-License-Identifier: Apache-2.0
"""scripts/anttracks-install: the VM beside the one of a JDK that is there already. That JDK is the tested one,
or the same without the patch where it is built."""

import contextlib
import os
import re
import shutil
import subprocess

from judge.exact import judge
from judge.host import SmallDisk
from judge.world import AGENT, BUILD, CLASSES, JDK, ROOT, Skip, expect, jdk_release, run, tail, test

INSTALL = os.path.join(ROOT, "scripts", "anttracks-install")


def source_version(home):
    with open(home + "/release", encoding="utf-8") as file:
        return re.search(r'^JAVA_RUNTIME_VERSION="([0-9.]+\+\d+)', file.read(), re.M)[1]


def unpatched_jdk():
    """The home of the same JDK without the patch, if it is built; else None."""
    home = os.path.join(BUILD, "jdk-stock" if jdk_release() == 17 else f"jdk{jdk_release()}-stock")
    return home if os.path.exists(home) and source_version(home) == source_version(JDK) else None


def needs_own_vm():
    if os.path.exists(JDK + "/lib/anttracks"):
        raise Skip("the JDK that is tested is one with a VM beside its own")


def linked_jdk(folder, jdk=JDK):
    """A JDK that may be written into: all are links but the programs, which find it by their own place."""
    needs_own_vm()
    os.makedirs(folder + "/lib")
    shutil.copytree(jdk + "/bin", folder + "/bin")
    for name in os.listdir(jdk):
        if name not in ("bin", "lib", "release"):
            os.symlink(os.path.join(os.path.realpath(jdk), name), os.path.join(folder, name))
    for name in os.listdir(jdk + "/lib"):
        if name != "jvm.cfg":
            os.symlink(os.path.join(os.path.realpath(jdk), "lib", name), os.path.join(folder, "lib", name))
    shutil.copy(jdk + "/lib/jvm.cfg", folder + "/lib/jvm.cfg")
    shutil.copy(jdk + "/release", folder + "/release")
    return folder


def small_jdk(folder):
    """What an installation looks at; its java says whatever VM it is asked for."""
    needs_own_vm()
    os.makedirs(folder + "/bin")
    os.makedirs(folder + "/lib/server")
    with open(folder + "/bin/java", "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho "(build 17-anttracks)"\n')
    os.chmod(folder + "/bin/java", 0o755)
    with open(folder + "/lib/server/libjvm.so", "w", encoding="utf-8") as file:
        file.write("no library")
    shutil.copy(JDK + "/lib/jvm.cfg", folder + "/lib/jvm.cfg")
    shutil.copy(JDK + "/release", folder + "/release")
    return folder


def install(*arguments, code=0, vm=JDK, before=()):
    done = run([*before, "env", "ANTTRACKS_VM_HOME=" + os.path.realpath(vm), INSTALL, *arguments])
    expect(done.returncode == code, f"ended with {done.returncode}, not {code}: {tail(done.stderr)}")
    return done.stderr


def state(folder):
    """What is in a JDK's folder, and what its list of VMs says."""
    with open(folder + "/lib/jvm.cfg", encoding="utf-8") as file:
        return sorted(os.listdir(folder)), sorted(os.listdir(folder + "/lib")), file.read()


def trace_exactly(t, java):
    command = [
        java,
        "-anttracks",
        "-XX:+UseG1GC",
        "-Xmx64m",
        f"-agentpath:{AGENT}=file={t.path('trace')}",
        f"-Djudge.dir={t.folder}",
        "-cp",
        CLASSES,
        "Mix",
    ]
    done = run(command, cwd=t.folder)
    expect(done.returncode == 0, f"java ended with {done.returncode}\n{tail(done.stderr, 30)}")
    expect(judge(t.folder, t.path("trace")) > 0, "nothing was judged")


@test("The VM beside another one is exact, has its archives, and is gone without a trace")
def in_place(t):
    home = linked_jdk(t.path("home"), unpatched_jdk() or JDK)
    before = state(home)
    said = install(home)
    expect("--remove" in said, f"how to undo it is not told: {said}")
    names = os.listdir(home + "/lib/anttracks")
    archives = [name for name in os.listdir(JDK + "/lib/server") if name.endswith(".jsa")]
    expect({"libjvm.so", "classes.jsa", *archives} <= set(names), f"lib/anttracks has {names}, not {archives}")
    trace_exactly(t, home + "/bin/java")
    shared = run([home + "/bin/java", "-anttracks", "-Xshare:on", "-Xlog:cds", "-version"])
    expect(shared.returncode == 0, f"the archive is not used: {tail(shared.stdout)}")
    stock = run([home + "/bin/java", "-version"])
    expect(stock.returncode == 0, "the JDK's own VM does not run any more")
    if unpatched_jdk():
        patched = run([home + "/bin/java", "-XX:AntTracksSites=off", "-version"])
        expect("Unrecognized VM option" in patched.stderr, "java runs the patched VM")
        by_environment = ["env", "JDK_JAVA_OPTIONS=-anttracks", home + "/bin/java"]
        chosen = run([*by_environment, "-XX:AntTracksSites=off", "-version"])
        expect(chosen.returncode == 0, f"JDK_JAVA_OPTIONS does not choose the VM: {tail(chosen.stderr)}")
    expect("already" in install(home, code=1), "a second time is not refused")
    install("--remove", home)
    expect(state(home) == before, f"{state(home)} is left, it was {before}")
    gone = run([home + "/bin/java", "-anttracks", "-version"])
    expect(gone.returncode != 0, "the VM still runs")


@test("A JDK of links leaves the JDK alone that it is made of")
def linked(t):
    home = linked_jdk(t.path("home"), unpatched_jdk() or JDK)
    before = state(home)
    install("--to", t.path("with"), home)
    expect(state(home) == before, "the JDK itself has changed")
    trace_exactly(t, t.path("with/bin/java"))
    expect("already" in install("--to", t.path("with"), home, code=1), "a folder that is there is taken")
    install("--remove", t.path("with"))
    expect(not os.path.exists(t.path("with")), "the folder is left")
    expect(state(home) == before, "the JDK itself has changed")


@test("Of two JDKs with links to one list of VMs each has its own VM, and the list stays as it was")
def linked_list(t):
    homes = [small_jdk(t.path(name)) for name in ("one", "two")]
    shutil.move(homes[0] + "/lib/jvm.cfg", t.path("shared.cfg"))
    os.remove(homes[1] + "/lib/jvm.cfg")
    for home in homes:
        os.symlink("../../shared.cfg", home + "/lib/jvm.cfg")
    before = [state(home) for home in homes]
    for home in homes:
        install(home, vm=home)
        expect("-anttracks" in state(home)[2], "the VM is not in the list")
    with open(t.path("shared.cfg"), encoding="utf-8") as file:
        expect(file.read() == before[0][2], "the list of all has changed")
    install("--remove", homes[0])
    expect("-anttracks" in state(homes[1])[2], "the other VM is out of its list")
    install("--remove", homes[1])
    for home, was in zip(homes, before):
        expect(state(home) == was, f"{state(home)} is left, it was {was}")
        link = os.readlink(home + "/lib/jvm.cfg")
        expect(link == "../../shared.cfg", f"the list is a link to {link}")


@test("What somebody else has put into the list of VMs stays when ours is taken out")
def edited_list(t):
    home = small_jdk(t.path("home"))
    before = state(home)
    install(home, vm=home)
    with open(home + "/lib/jvm.cfg", "a", encoding="utf-8") as file:
        file.write("-other KNOWN\n")
    install("--remove", home)
    wanted = (*before[:2], before[2] + "-other KNOWN\n")
    expect(state(home) == wanted, f"{state(home)} is left, not {wanted}")
    with open(home + "/lib/jvm.cfg", "a", encoding="utf-8") as file:
        file.write("-anttracks KNOWN\n")
    expect("take that line out" in install(home, vm=home, code=1), "a list with a foreign -anttracks is taken")


INTERRUPTING_TOOL = """#!/bin/sh
printf x >>"$COUNT"
PATH=/usr/bin:/bin
{tool} "$@"
code=$?
[ "$(wc -c <"$COUNT")" -ne "$KILL_AT" ] || kill -"$SIGNAL" 0
exit $code
"""
# Those that change something; none of them runs beside another one.
TOOLS = ("cat", "chmod", "chown", "cp", "find", "ln", "mkdir", "mktemp", "mv", "rm", "rmdir", "touch")


def interrupted(t, number, signal, *arguments, vm):
    """Whether anttracks-install was interrupted after the number-th program that it ran (one of TOOLS)."""
    count = t.path("count")
    with open(count, "w", encoding="utf-8"):
        pass
    settings = {"COUNT": count, "KILL_AT": number, "SIGNAL": signal, "ANTTRACKS_VM_HOME": vm}
    settings["PATH"] = t.path("tools") + ":" + os.environ["PATH"]
    words = [f"{name}={value}" for name, value in settings.items()]
    done = run(["env", *words, INSTALL, *arguments], start_new_session=True)
    return done.returncode != 0


@test("anttracks-install can be interrupted at any moment, and then be undone")
def interruptions(t):
    os.makedirs(t.path("tools"))
    for tool in TOOLS:
        with open(t.path(f"tools/{tool}"), "w", encoding="utf-8") as file:
            file.write(INTERRUPTING_TOOL.format(tool=tool))
        os.chmod(file.name, 0o755)
    home, linked_home = small_jdk(t.path("home")), t.path("with")
    before = state(home)

    def nothing_left():
        return state(home) == before and not os.path.exists(linked_home)

    for signal in ("KILL", "TERM"):
        for target, arguments in ((home, [home]), (linked_home, ["--to", linked_home, home])):
            for removes in (False, True):
                what = f"{'--remove' if removes else arguments}, SIG{signal}"
                number = 1
                while True:
                    if removes:
                        install(*arguments, vm=home)
                    if not interrupted(
                        t, number, signal, *(["--remove", target] if removes else arguments), vm=home
                    ):
                        break
                    if not nothing_left():
                        install("--remove", target)
                    expect(nothing_left(), f"{what}: left after program {number}: {state(home)}")
                    number += 1
                    expect(number < 200, f"{what}: never comes to its end")
                expect(number > 5, f"{what}: interrupted only {number - 1} times")
                if not removes:
                    install("--remove", target)


@test("What was put beside a JDK that is gone is taken out, and a folder may have any name")
def gone(t):
    home = small_jdk(t.path("home [1]*"))
    install("--to", t.path("with [2]*"), home, vm=home)
    install("--remove", t.path("with [2]*"))
    expect(not os.path.exists(t.path("with [2]*")), "the folder is left")
    install(home, vm=home)
    shutil.rmtree(home + "/bin")
    os.remove(home + "/lib/jvm.cfg")
    own = [home + "/lib/anttracks/anttracks-install", "--remove", home]
    done = run(own)
    expect(done.returncode == 0, f"{done.returncode}: {done.stderr}")
    expect(os.listdir(home + "/lib") == ["server"], f"{os.listdir(home + '/lib')} are left")


@test("A VM of another build, processor or C library is refused with the reason")
def foreign(t):
    home = linked_jdk(t.path("home"))
    before = state(home)
    with open(home + "/release", encoding="utf-8") as file:
        release = file.read()

    def with_release(pattern, text):
        with open(home + "/release", "w", encoding="utf-8") as file:
            file.write(re.sub(pattern, text, release))

    with_release(r'(JAVA_RUNTIME_VERSION=")([0-9.]+\+)\d+', r"\g<1>\g<2>999")
    said = install(home, code=1)
    expect(re.search(r"is [0-9.]+\+999, the AntTracks VM is made from [0-9.]+\+\d+", said), said)
    with_release(r'OS_ARCH="[^"]*"', 'OS_ARCH="aarch64"')
    expect("aarch64" in install(home, code=1), "the processor is not told")
    with_release(r'LIBC="[^"]*"', 'LIBC="musl"')
    expect("musl" in install(home, code=1), "the C library is not told")
    with_release(r'(JAVA_RUNTIME_VERSION="[0-9.]+\+\d+)[^"]*', r"\1-LTS-jvmci-23.1-b30")
    expect("GraalVM" in install(home, code=1), "the other VM is not told")
    with_release(r'(JAVA_RUNTIME_VERSION="[0-9.]+\+)\d+', r"\g<1>0")
    expect("names no version" in install(home, code=1), "a source that nobody numbered fits")
    with_release(r"JAVA_RUNTIME_VERSION", "OTHER")
    expect("names no version" in install(home, code=1), "the missing version is not told")
    os.remove(home + "/release")
    expect("release is missing" in install(home, code=1), "the missing file is not told")
    shutil.copy(JDK + "/release", home + "/release")
    expect(state(home) == before, "the JDK has changed")


@test("A VM that does not run is taken out again")
def broken(t):
    home = linked_jdk(t.path("home"))
    before = state(home)
    os.makedirs(t.path("vm/lib/server"))
    shutil.copy(JDK + "/release", t.path("vm/release"))
    with open(t.path("vm/lib/server/libjvm.so"), "w", encoding="utf-8") as file:
        file.write("no library")
    expect("does not run" in install(home, code=1, vm=t.path("vm")), "the reason is not told")
    expect(state(home) == before, f"{state(home)} is left, it was {before}")
    install("--to", t.path("with"), home, code=1, vm=t.path("vm"))
    expect(not os.path.exists(t.path("with")), "the folder of links is left")


@test("A full disk leaves a JDK as it was, whether the VM comes or goes")
def full_disk(t):
    jvm = os.path.getsize(JDK + "/lib/server/libjvm.so")
    for room, code in ((jvm // 2, 1), (jvm * 5, 0)):
        with SmallDisk(t, room) as disk:
            home = linked_jdk(disk + "/home")
            with open(home + "/lib/jvm.cfg", "a", encoding="utf-8") as file:
                file.write("# a last line without an end")
            before = state(home)
            said = install(home, code=code)
            if code == 0:
                with contextlib.suppress(OSError), open(disk + "/fill", "wb") as file:
                    while True:
                        file.write(bytes(4096))
                        file.flush()
                install("--remove", home)
            else:
                expect("No space left" in said and "undone" in said, said)
            expect(state(home) == before, f"{state(home)} is left, it was {before}")
        os.rmdir(disk)


@test("Of two installations at the same time one is refused, and the other stays whole")
def at_once(t):
    home = linked_jdk(t.path("home"))
    command = ["env", "ANTTRACKS_VM_HOME=" + os.path.realpath(JDK), INSTALL, home]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate()[1] for each in both]
    expect(sorted(each.returncode for each in both) == [0, 1], f"{said}")
    install("--check", home)


@test("Whoever runs the service can use a VM that an administrator with a narrow umask installed")
def narrow_umask(t):
    home = linked_jdk(t.path("home"))
    os.chmod(home + "/bin/java", 0o750)  # a JDK that belongs to the service
    install("--to", t.path("with"), home, before=("sh", "-c", 'umask 077; exec "$@"', "sh"))
    for folder, _, names in os.walk(t.path("with")):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            mode = os.stat(path).st_mode
            expect(mode & 0o004, f"{path} has mode {mode:o}")
    mode = os.stat(t.path("with/bin/java")).st_mode
    expect(mode & 0o005 == 0o005, f"bin/java has mode {mode:o}")


@test("After an update of the JDK the VM is told not to fit, and can be taken out")
def updated(t):
    home = linked_jdk(t.path("home"))
    install("--to", t.path("with"), home)
    # By the script beside the VM, as a unit calls it before its service.
    check = run([t.path("with/lib/anttracks/anttracks-install"), "--check", t.path("with")])
    expect("and so is its AntTracks VM" in check.stderr, f"{check.returncode}: {check.stderr}")
    with open(home + "/release", encoding="utf-8") as file:
        release = file.read()
    with open(home + "/release", "w", encoding="utf-8") as file:
        file.write(re.sub(r'(JAVA_RUNTIME_VERSION="[0-9.]+\+)\d+', r"\g<1>999", release))
    said = install("--check", t.path("with"), code=1)
    expect("+999 now" in said and "--remove" in said, said)
    # As a package that is gone is no help: what is beside the VM undoes it.
    foreign_files = ("mine", "bin/start-service.sh", "lib/libmine.so", "logs")
    for name in foreign_files:
        os.symlink("/nowhere", t.path("with/" + name))
    own = [t.path("with/lib/anttracks/anttracks-install"), "--remove", t.path("with")]
    done = run(own)
    expect(done.returncode == 1, f"{done.returncode}: {done.stderr}")
    for name in foreign_files:
        expect(name in done.stderr and os.path.islink(t.path("with/" + name)), f"{name}: {done.stderr}")
        os.remove(t.path("with/" + name))
    install("--remove", t.path("with"))
    expect(not os.path.exists(t.path("with")), "the folder is left")


@test("Options in the environment, for a service, do not disturb the installation")
def environment(t):
    home = linked_jdk(t.path("home"))
    options = ("env", "JDK_JAVA_OPTIONS=-anttracks", "JAVA_TOOL_OPTIONS=-XX:+UseNoSuchCollector")
    install(home, before=options)
    install("--check", home, before=options)


@test("A JDK that may not be written into is refused, and told how to go on")
def read_only(t):
    home = linked_jdk(t.path("home"))
    vm = t.path("vm")
    os.makedirs(vm + "/lib/server")
    shutil.copy(JDK + "/release", vm)
    shutil.copy(JDK + "/lib/server/libjvm.so", vm + "/lib/server/")
    os.chmod(home + "/lib", 0o555)
    # Root may write everywhere, unless that right is taken away.
    bound = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    said = install(home, code=1, vm=vm, before=bound)
    os.chmod(home + "/lib", 0o755)
    expect("not writable" in said and "--to" in said, said)


@test("anttracks-install tells what is wrong with its arguments")
def arguments(t):
    for words, code, says in (
        ((), 2, "JDK_HOME is missing"),
        (("--frob", "x"), 2, "--frob"),
        (("--to",), 2, "--to needs"),
        (("a", "b"), 2, "one JDK_HOME"),
        (("--remove", "--to", "x", "y"), 2, "--remove takes no --to"),
        (("--check", "--remove", "x"), 2, "one of --remove, --check"),
        (("--check", linked_jdk(t.path("other"))), 1, "has no AntTracks VM"),
        ((t.path("nowhere"),), 1, "no folder"),
        ((t.folder,), 1, "is no JDK"),
        (("--remove", linked_jdk(t.path("home"))), 1, "has no AntTracks VM"),
    ):
        said = install(*words, code=code)
        expect(says in said, f"{words}: {says!r} is not in {said!r}")
    expect("usage: anttracks-install" in run([INSTALL, "--help"]).stdout, "--help shows no usage")
