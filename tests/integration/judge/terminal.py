# SPDX-License-Identifier: Apache-2.0
"""A program at a terminal of its own: what it writes there, and what is typed."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


def set_size(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
    def __init__(self, command, rows=24, columns=100, **environment):
        self.text = ""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                set_size(0, rows, columns)
                os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", **environment})
            finally:
                os._exit(127)

    def resize(self, rows, columns):
        set_size(self.descriptor, rows, columns)

    def read(self, seconds):
        """What comes within so many seconds; nothing more comes if the program has ended."""
        until, came = time.monotonic() + seconds, ""
        while time.monotonic() < until:
            if not select.select([self.descriptor], [], [], 0.1)[0]:
                continue
            try:
                more = os.read(self.descriptor, 1 << 16)
            except OSError:
                break
            if not more:
                break
            came += more.decode(errors="replace")
        self.text += came
        return came

    def wait_for(self, words, seconds=60):
        until = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > until:
                return False
            if not self.read(0.3) and not self.runs():
                return words in self.text
        return True

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def runs(self):
        return (
            os.path.exists(f"/proc/{self.pid}")
            and open(f"/proc/{self.pid}/stat").read().split(") ")[1][0] != "Z"
        )

    def end(self, seconds=60):
        """Waits for it; returns its exit code, or minus its signal."""
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                break
            self.read(0.2)
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
                break
        self.read(0.5)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)
