# SPDX-License-Identifier: Apache-2.0
"""The ways to attach to a service that docs/staging.md tells, also in a container, by the lines that it has.

Instead of a container engine: namespaces of its own for processes and mounts, a /tmp of its own, and the
service as process 1, of a user who is not root. The lines are those of the page; of their words only folders
and the name of the program are replaced, and sudo and kubectl are scripts."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import stat
import textwrap

from judge.attached import Program
from judge.exact import judge
from judge.world import AGENT, ANALYZER, CLASSES, JDK, OUT, ROOT, Skip, expect, run, tail, test, verified
from suites.attach_preflight import SOMEBODY, as_user, only_root

PAGE = os.path.join(ROOT, "docs", "staging.md")
# Empty but for the folders that tests need: /tmp, and what only some users may enter.
_ENTER = """
umask 022
for hidden in {hidden}; do
  mount --bind "$hidden" /mnt && mount -t tmpfs -o mode=1777 tmpfs "$hidden" || exit
  for folder in {folders}; do
    case "$folder" in
      "$hidden"/*) mkdir -p "$folder" && mount --bind "/mnt${{folder#"$hidden"}}" "$folder" || exit ;;
    esac
  done
  umount /mnt || exit
done
exec "$@"
"""
_KUBECTL = """#!/bin/sh
# `kubectl cp -c CONTAINER FOLDER POD:FOLDER` and `kubectl exec -c CONTAINER POD -- COMMAND`, of one container.
inside() {{ nsenter --target {pid} --mount --pid -- {user} "$@"; }}
case $1 in
  cp) tar -C "$4" -cf - . | inside sh -c 'mkdir "$0" && tar -C "$0" -xf -' "${{5#*:}}" ;;
  exec) shift 5; inside "$@" ;;
esac
"""


def _closed(path):
    """The uppermost folder on the way there that not everybody may enter, or None."""
    names = path.split("/")
    folders = ["/".join(names[:length]) or "/" for length in range(1, len(names))]
    return next((folder for folder in folders if not os.stat(folder).st_mode & stat.S_IXOTH), None)


def _enter():
    """Words in front of those of a command that is to run in a /tmp of its own."""
    binaries = [os.path.dirname(os.path.realpath(path)) for path in (AGENT, ANALYZER)]
    folders = list(dict.fromkeys([ROOT, OUT, os.path.realpath(JDK), *binaries]))
    closed = {_closed(folder) for folder in folders if not folder.startswith("/tmp/")} - {None}
    script = _ENTER.format(hidden=shlex.join(["/tmp", *sorted(closed)]), folders=shlex.join(folders))
    return ("sh", "-c", script, "sh")


class Service(Program):
    """A program in a container, of the user SOMEBODY, to whom the test's folder belongs. pid_outside: its
    number outside."""

    def __init__(self, test_):
        only_root()
        if run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]).returncode != 0:
            raise Skip("the system lets nobody make namespaces")
        namespaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
        before = (*namespaces, *_enter(), *as_user(SOMEBODY))
        os.chown(test_.folder, SOMEBODY, SOMEBODY)
        needed = (AGENT, CLASSES, JDK + "/bin/java", JDK + "/lib/modules", test_.folder)
        seen = run([*before, "sh", "-c", 'for path; do test -r "$path" || exit; done', "sh", *needed])
        if seen.returncode != 0:
            raise Skip(f"the user {SOMEBODY} cannot read the JDK, or what is built: {tail(seen.stderr)}")
        super().__init__(test_, before=before)
        self.pid_outside = None

    def __enter__(self):
        super().__enter__()
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="utf-8") as file:
            self.pid_outside = file.read().split()[0]
        return self

    def __exit__(self, *error):
        # As it became another user, it does not end when unshare is killed.
        if self.process.poll() is None and self.pid_outside:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self.pid_outside), signal.SIGKILL)
        super().__exit__(*error)

    def inside(self, *command, namespaces=("--mount", "--pid"), before=as_user(SOMEBODY)):
        """before: words that the command runs behind; by default it is the service's user who runs it."""
        enter = ("nsenter", "--target", self.pid_outside, *namespaces, "--")
        return _done([*enter, *before, *command], cwd=self.test.folder)

    def tmp(self):
        return f"/proc/{self.pid_outside}/root/tmp"


def _done(command, cwd=None):
    done = run(command, cwd=cwd)
    expect(done.returncode == 0, f"{command} ended with {done.returncode}: {tail(done.stderr)}")
    return done


def _package(t):
    """A folder with what these ways need of a package: bin/."""
    bin_ = t.path("package/bin")
    os.makedirs(bin_)
    shutil.copy(AGENT, bin_ + "/libanttracks.so")
    shutil.copy(ANALYZER, bin_ + "/anttracks")
    return t.path("package")


def _blocks(title):
    """The blocks of lines to type in the section of that title, as the page has them."""
    with open(PAGE, encoding="utf-8") as file:
        section = re.split(rf"^#+ {title}\n", file.read(), maxsplit=1, flags=re.M)[1]
    return re.findall(r"(?:^    .*\n)+", re.split("^#+ ", section, maxsplit=1, flags=re.M)[0], re.M)


def _replaced(text, replaced):
    """replaced: pattern of a word's part -> what stands for it here; each must be there."""
    text = textwrap.dedent(text)
    for pattern, here in replaced.items():
        text, count = re.subn(pattern, lambda _, here=here: here, text)
        expect(count > 0, f"no {pattern} in the lines of {PAGE}:\n{text}")
    return text


def _lines(number, replaced):
    """(what the number-th block of the page says on containers to type, what of it to type later), for sh."""
    blocks = _blocks("Containers")
    expect(len(blocks) == 3, f"{PAGE} has {len(blocks)} blocks of lines on containers, not 3")
    lines = _replaced(blocks[number], replaced).splitlines()
    later = next((at for at, line in enumerate(lines) if "# later" in line), len(lines))
    variables = [line for line in lines[:later] if re.match(r"\w+=", line)]
    return "\n".join(lines[:later]), "\n".join(variables + lines[later:])


def _type(t, script):
    """Root types it, in the test's folder."""
    path = t.path("words") + ":" + os.environ["PATH"]
    return _done(["env", "PATH=" + path, "sh", "-ec", script], cwd=t.folder)


def _make_word(t, name, script):
    os.makedirs(t.path("words"), exist_ok=True)
    with open(t.path("words/" + name), "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(file.name, 0o755)


def _exact(t, service):
    """The service ends; its trace has been copied into the test's folder."""
    service.end()
    verified(t.path("app.trace"))
    expect(judge(t.folder, t.path("app.trace")) == 2, "not all was judged")


@test("The lines of the page on staging attach to a service, give the first answer, and leave")
def outside(t):
    package, trace = _package(t), t.path("app.trace")
    _make_word(t, "anttracks", f'#!/bin/sh\nexec {shlex.quote(package)}/bin/anttracks "$@"\n')
    with Program(t) as service:
        here = {"/opt/anttracks": package, "PID": str(service.pid)}
        (attach,), (answer,), (leave,) = (_blocks(title) for title in ("Attach", "The first answer", "Leave"))
        _type(t, _replaced(attach, here | {"/var/tmp/app.trace": trace}))
        service.tell("both")
        _type(t, _replaced(leave, here))
        _exact(t, service)
        _type(t, _replaced(answer, {}))
    expect(os.path.getsize(t.path("app.html")) > 10_000, "there is no report")


@test("A service in a container is attached to from the host, with a library that is copied into it")
def from_the_host(t):
    with Service(t) as service:
        _make_word(t, "sudo", '#!/bin/sh\nexec "$@"\n')
        # The program has the test's folder in its command line.
        replaced = {"/opt/anttracks": _package(t), r"app\.jar": os.path.basename(t.folder)}
        now, later = _lines(0, replaced)
        _type(t, now)
        service.tell("both")
        _type(t, later)
        _exact(t, service)


@test("A service in a container is attached to from inside, with a copy of the package's bin/")
def inside(t):
    with Service(t) as service:
        kubectl = _KUBECTL.format(pid=service.pid_outside, user=shlex.join(as_user(SOMEBODY)))
        _make_word(t, "kubectl", kubectl)
        now, later = _lines(1, {r"anttracks-[\d.]+-jdk\d+-linux-x64": _package(t)})
        _type(t, now)
        status = service.inside("/tmp/anttracks/anttracks", "ctl", "1", "status").stdout
        expect("/tmp/app.trace" in status, f"the status does not name the trace: {status!r}")
        service.tell("both")
        _type(t, later)
        _exact(t, service)


@test("A service in a container is attached to from a sidecar, with a library in the volume that both have")
def from_a_sidecar(t):
    with Service(t) as service:
        # The sidecar has the service's processes and user, and a /tmp of its own; the volume is in the
        # test's folder.
        volume = t.path("volume")
        os.mkdir(volume)
        os.chown(volume, SOMEBODY, SOMEBODY)
        now, later = _lines(2, {r"(?<![\w/])/anttracks": volume, "/opt/anttracks": _package(t)})
        expect(not later, f"there is something left to type: {later}")
        sidecar = ("unshare", "--mount", "--mount-proc", *_enter(), *as_user(SOMEBODY))
        service.inside("sh", "-ec", now, namespaces=("--pid",), before=sidecar)
        service.tell("both")
        service.inside(volume + "/bin/anttracks", "ctl", "1", "stop")
        for name in os.listdir(volume):
            if name.startswith("app.trace"):
                shutil.copy(os.path.join(volume, name), t.folder)
        _exact(t, service)
