# SPDX-License-Identifier: Apache-2.0
"""Makes the host misbehave: small disks, folders that nobody may change, threads that stand still.

All are context managers that undo what they did, and raise Skip where the machine does not let them."""

import ctypes
import errno
import os
import time

from .world import Skip, run

_PTRACE_SEIZE, _PTRACE_INTERRUPT, _PTRACE_DETACH = 0x4206, 0x4207, 17
_WALL = 0x40000000  # threads, too


class SmallDisk:
    """A file system of a few bytes at the folder `disk` of the test; only root can make one."""

    def __init__(self, test, size):
        self.folder = test.path("disk")
        os.makedirs(self.folder)
        self.mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder]

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skip("only root can mount the small disk that this needs")
        done = run(self.mount)
        if done.returncode != 0:
            raise Skip(f"the small disk that this needs cannot be mounted: {done.stderr.strip()}")
        return self.folder

    def __exit__(self, *_):
        run(["umount", self.folder])


class Unchangeable:
    """No file can be made or deleted in the folder; those that are open can be written on."""

    def __init__(self, folder):
        self.folder, self.root = folder, os.geteuid() == 0

    def __enter__(self):
        if not self.root:
            os.chmod(self.folder, 0o555)
            return
        done = run(["chattr", "+i", self.folder])  # permissions do not bind root
        if done.returncode != 0:
            raise Skip(f"the folder cannot be made immutable: {done.stderr.strip()}")

    def __exit__(self, *_):
        if self.root:
            run(["chattr", "-i", self.folder])
        else:
            os.chmod(self.folder, 0o755)


class _Version1:
    """The files of a memory control group."""

    limit, peak, kills, swap = (
        "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
        "memory.oom_control",
        "memory.swappiness",
    )
    programs, kernel = "total_rss", "memory.kmem.usage_in_bytes"
    without_limit = "-1"


class _Version2:
    limit, peak, kills, swap = "memory.max", "memory.peak", "memory.events", "memory.swap.max"
    programs, kernel = "anon", None  # the kernel's is in memory.stat
    without_limit = "max"


class MemoryLimit:
    """A memory control group (v1, or v2 where it can be had) inside of that of this process; what runs in it
    has so many bytes, and nothing of it is swapped out. None: no limit yet.

    command: words in front of a command that is to run in it."""

    def __init__(self, test, limit):
        self.limit, self.folder = limit, None
        self.name = f"anttracks-{os.getpid()}-{os.path.basename(test.folder)}"

    def __enter__(self):
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            groups = [line.strip().split(":", 2) for line in file]
        for root, path, self.files in (
            *(
                ("/sys/fs/cgroup/memory", path, _Version1)
                for _, controllers, path in groups
                if "memory" in controllers.split(",")
            ),
            *(("/sys/fs/cgroup", path, _Version2) for number, _, path in groups if number == "0"),
        ):
            if os.path.exists(os.path.join(root + path, "cgroup.procs")) and self._make(
                os.path.join(root + path, self.name)
            ):
                return self
        raise Skip("no memory control group can be made here")

    def _make(self, folder):
        try:
            os.mkdir(folder)
        except OSError:
            return False
        self.folder = folder
        self.command = ("sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh")
        try:
            self._write(self.files.limit, self.files.without_limit if self.limit is None else self.limit)
        except OSError:  # v2: its parent does not hand on the controller
            os.rmdir(folder)
            return False
        if os.path.exists(os.path.join(folder, self.files.swap)):
            self._write(self.files.swap, 0)
        return True

    def _write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def _read(self, name):
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            return file.read()

    def _number(self, name, key):
        return next(
            (int(line.split()[1]) for line in self._read(name).splitlines() if line.split()[0] == key), 0
        )

    def peak(self):
        """The most bytes that were ever used, of files in memory, too."""
        return int(self._read(self.files.peak))

    def leave(self, room):
        """From now on what runs in it may have so many bytes more than it has; files in memory go,
        if they must."""
        kernel = (
            int(self._read(self.files.kernel)) if self.files.kernel else self._number("memory.stat", "kernel")
        )
        limit = self._number("memory.stat", self.files.programs) + kernel + room
        _when_not_busy(
            lambda: self._write(self.files.limit, limit)
        )  # what is being written to a disk cannot go at once

    def kills(self):
        """Processes that were killed for want of memory in it."""
        return self._number(self.files.kills, "oom_kill")

    def __exit__(self, *_):
        _when_not_busy(lambda: os.rmdir(self.folder))  # what was killed takes its time to go


def _when_not_busy(action):
    until = time.monotonic() + 30
    while True:
        try:
            return action()
        except OSError as e:
            if e.errno != errno.EBUSY or time.monotonic() > until:
                raise
        time.sleep(0.05)


def cpu_seconds(pid):
    """The CPU time, user and system, that all threads of a process have used until now."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(pid, seconds):
    """Until a process uses nearly no CPU time for half a second; false: not within that many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = cpu_seconds(pid)
        time.sleep(0.5)
        if cpu_seconds(pid) - before < 0.15:
            return True
    return False


def state_of_process(pid):
    """A letter, as in ps: T it is stopped, Z it has ended and nobody has waited for it."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def in_system_call(tid):
    """Of a thread that stands still."""
    with open(f"/proc/{tid}/syscall", encoding="utf-8") as file:
        return file.read().split()[0] != "-1"


class StoppedThread:
    """The threads of a process that have the name stand still, all others go on.
    To be used in one Python thread.

    They stop in a system call if they make one within a second or so: what stands in the middle of its own code
    may hold a lock that no slow disk would ever hold."""

    TRIES = 300

    def __init__(self, pid, name):
        self.tids = []
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as file:
                if file.read().strip() == name:
                    self.tids.append(int(tid))
        if not self.tids:
            raise ValueError(f"process {pid} has no thread {name}")
        self._ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self._ptrace.restype = ctypes.c_long
        self._ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def _ask(self, request, tid):
        if self._ptrace(request, tid, None, None) != 0:
            raise Skip(f"a thread cannot be stopped by ptrace: {os.strerror(ctypes.get_errno())}")

    def __enter__(self):
        for tid in self.tids:
            for _ in range(self.TRIES):
                self._ask(_PTRACE_SEIZE, tid)
                self._ask(_PTRACE_INTERRUPT, tid)
                os.waitpid(tid, _WALL)
                if in_system_call(tid):
                    break
                self._ask(_PTRACE_DETACH, tid)
                time.sleep(0.003)
            else:
                self._ask(_PTRACE_SEIZE, tid)
                self._ask(_PTRACE_INTERRUPT, tid)
                os.waitpid(tid, _WALL)

    def __exit__(self, *_):
        for tid in self.tids:
            if self._ptrace(_PTRACE_DETACH, tid, None, None) == 0:
                continue
            try:
                os.waitpid(
                    tid, _WALL
                )  # killed meanwhile: its process does not end before its tracer has waited for it
            except ChildProcessError:
                pass
