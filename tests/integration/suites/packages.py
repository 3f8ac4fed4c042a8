# SPDX-License-Identifier: Apache-2.0
"""The packages that scripts/package made, installed into roots that have nothing but the C library and zlib."""

import glob
import os

from judge.world import BUILD, ROOT, Skip, expect, jdk_release, run, tail, test

TRY = os.path.join(ROOT, "scripts", "lib", "try_package")


@test("The packages work where nothing is installed: a program is traced, attached to, analysed", slow=True)
def packages(t):
    release = jdk_release()
    archive = glob.glob(os.path.join(BUILD, "package", f"anttracks-*-jdk{release}-linux-x64.tar.xz"))
    deb = glob.glob(os.path.join(BUILD, "package", f"anttracks-jdk{release}_*.deb"))
    if not archive or not deb:
        raise Skip(f"there are no packages: scripts/package --jdk {release} makes them")
    made_from = run(["tar", "--wildcards", "-xOf", archive[0], "*/commit.txt"]).stdout.strip()
    here = run(["git", "-C", ROOT, "rev-parse", "HEAD"]).stdout.strip()
    if made_from != here:
        raise Skip(f"the packages are of commit {made_from or 'unknown'}: scripts/package makes new ones")
    if os.geteuid() != 0:
        raise Skip("roots of their own need root's rights")
    done = run([TRY, archive[0], deb[0]])
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}\n{tail(done.stdout)}")
    expect("both work" in done.stderr, done.stderr)
