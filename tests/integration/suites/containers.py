# SPDX-License-Identifier: Apache-2.0
"""The ways into a container that docs/staging.md tells.

Instead of a container engine: namespaces of its own for processes and mounts, a /tmp of its own, and the
service as process 1."""

import glob
import os
import shutil

from judge.attached import Program
from judge.exact import judge
from judge.world import AGENT, ANALYZER, OUT, ROOT, Skip, expect, run, tail, test, verified

# A /tmp of its own, in which only those folders of the old one are that the tests need.
_ENTER = f"""
mount --bind /tmp /mnt && mount -t tmpfs tmpfs /tmp || exit
for folder in "{ROOT}" "{OUT}"; do
  case "$folder" in
    /tmp/*) mkdir -p "$folder" && mount --bind "/mnt/${{folder#/tmp/}}" "$folder" || exit ;;
  esac
done
umount /mnt
exec "$@"
"""
_CONTAINER = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", _ENTER, "sh")


class Service(Program):
    """A program in a container, and its number outside, pid_outside."""

    def __init__(self, test_):
        if os.geteuid() != 0:
            raise Skip("only root can make namespaces")
        if run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]).returncode != 0:
            raise Skip("the system lets nobody make namespaces")
        super().__init__(test_, before=_CONTAINER)
        self.pid_outside = None

    def __enter__(self):
        super().__enter__()
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="utf-8") as file:
            self.pid_outside = file.read().split()[0]
        return self

    def inside(self, *command, namespaces=("--mount", "--pid")):
        return _done(["nsenter", "--target", self.pid_outside, *namespaces, "--", *command])

    def tmp(self):
        return f"/proc/{self.pid_outside}/root/tmp"


def _done(command, cwd=None):
    done = run(command, cwd=cwd)
    expect(done.returncode == 0, f"{command} ended with {done.returncode}: {tail(done.stderr)}")
    return done


def _exact(t, service, trace):
    """The service dumps its heap and is left; trace: what it wrote, as it is seen from outside."""
    service.tell("both")
    _done([ANALYZER, "ctl", service.pid_outside, "stop"])
    for path in glob.glob(trace + "*"):
        shutil.copy(path, t.folder)
    service.end()
    copied = os.path.join(t.folder, os.path.basename(trace))
    verified(copied)
    expect(judge(t.folder, copied) == 2, "not all was judged")


@test("A service in a container is attached to from the host, with a library that is copied into it")
def from_the_host(t):
    with Service(t) as service:
        shutil.copy(AGENT, service.tmp())
        options = "maxsize=512M,file=/tmp/app.trace"
        _done([ANALYZER, "attach", service.pid_outside, "--lib=/tmp/libanttracks.so", options], cwd=t.folder)
        _exact(t, service, service.tmp() + "/app.trace")


@test("A service in a container is attached to from inside, with a copy of the package's bin/")
def inside(t):
    with Service(t) as service:
        bin_ = service.tmp() + "/anttracks"
        os.mkdir(bin_)
        for path in (AGENT, ANALYZER):
            shutil.copy(path, bin_)
        service.inside("/tmp/anttracks/anttracks", "attach", "1", "mode=full,maxsize=512M,file=/tmp/app.trace")
        status = service.inside("/tmp/anttracks/anttracks", "ctl", "1", "status").stdout
        expect("/tmp/app.trace" in status, f"the status does not name the trace: {status!r}")
        _exact(t, service, service.tmp() + "/app.trace")


@test("A service in a container is attached to from a sidecar, with a library in the volume that both have")
def from_a_sidecar(t):
    with Service(t) as service:
        # The sidecar has the service's processes and a /tmp of its own; the volume is the test's folder.
        volume = t.path("volume")
        os.mkdir(volume)
        for path in (AGENT, ANALYZER):
            shutil.copy(path, volume)
        attach = [f"{volume}/anttracks", "attach", "1", f"--lib={volume}/libanttracks.so"]
        options = f"mode=full,maxsize=512M,file={volume}/app.trace"
        sidecar = ("unshare", "--mount", "--mount-proc", "sh", "-c", _ENTER, "sh")
        service.inside(*sidecar, *attach, options, namespaces=("--pid",))
        _exact(t, service, f"{volume}/app.trace")
