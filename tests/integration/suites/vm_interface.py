# SPDX-License-Identifier: Apache-2.0
"""The interface of the patched VM, asked directly (vmpatch/abi/anttracks_abi.h)."""

from judge.world import ASK_SITES, add, expect, java_command, run, tail


def sites_of_headers(collector, scheme):
    def body(t):
        flags = (f"-XX:+Use{collector}GC", "-Xmx64m", "-Xint", "-Dnative.ask_sites=" + ASK_SITES, *scheme)
        done = run(java_command("AskSites", (), flags), cwd=t.folder)
        expect(
            done.returncode == 0 and done.stdout == "ok\n",
            f"java ended with {done.returncode}\n{tail(done.stdout)}\n{tail(done.stderr, 20)}",
        )

    where = f"With {collector}" + "".join(f" and {flag}" for flag in scheme)
    add(f"{where} any thread may ask for the site of an object, whatever its header holds", body)


for name in ("Parallel", "Serial", "G1"):
    for where in ((), ("-XX:AntTracksSites=hash",), ("-XX:AntTracksSites=ash",)):
        sites_of_headers(name, where)
