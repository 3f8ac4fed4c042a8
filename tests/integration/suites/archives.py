# SPDX-License-Identifier: Apache-2.0
"""Programs whose classes come from an archive of their own, which may also have objects."""

import os
import zipfile

from judge.exact import judge
from judge.world import AGENT, CLASSES, add, expect, java_command, jdk_release, run, tail


def with_jar(t, command):
    """An archive takes no folder of classes."""
    jar = t.path("classes.jar")
    if not os.path.exists(jar):
        with zipfile.ZipFile(jar, "w") as file:
            for name in os.listdir(CLASSES):
                file.write(os.path.join(CLASSES, name), name)
    return [jar if word == CLASSES else word for word in command]


def started_from(collector, made, used):
    """made, used: the flags that make an archive and that use it, to which its path is added."""

    def body(t):
        archive, log = t.path("own.archive"), t.path("classes.log")
        flags = (f"-XX:+Use{collector}GC", "-Xmx64m")
        done = run(with_jar(t, java_command("Mix", (20_000,), (*flags, made + archive))), cwd=t.folder)
        expect(done.returncode == 0 and os.path.exists(archive), f"{tail(done.stdout)}\n{tail(done.stderr)}")
        flags = (*flags, used + archive, f"-Djudge.dir={t.folder}", f"-Xlog:class+load:file={log}")
        options = f"file={t.path('trace')}"
        done = run(with_jar(t, java_command("Mix", (), flags, options)), cwd=t.folder)
        expect(done.returncode == 0, f"{AGENT}: {tail(done.stdout)}\n{tail(done.stderr)}")
        with open(log, encoding="utf-8") as file:
            mixed = [line for line in file if " Mix source: " in line]
        expect(len(mixed) == 1 and "shared objects file" in mixed[0], f"not from the archive: {mixed}")
        expect(judge(t.folder, t.path("trace")) > 0, "nothing was judged")

    return body


KINDS = {"a dynamic archive": ("-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile=")}
if jdk_release() >= 25:
    KINDS["an AOT cache"] = ("-XX:AOTCacheOutput=", "-XX:AOTCache=")
for what, (made_, used_) in KINDS.items():
    for each in ("G1", "Parallel"):
        title = f"The rebuilt heap is exact with {each} for a program from {what}"
        add(title, started_from(each, made_, used_))
