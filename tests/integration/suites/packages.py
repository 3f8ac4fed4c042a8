# SPDX-License-Identifier: Apache-2.0
"""The packages that scripts/package made, installed into roots that have nothing but the C library and zlib."""

import glob
import os

from judge.world import BUILD, ROOT, Skip, expect, jdk_release, run, tail, test

TRY = os.path.join(ROOT, "scripts", "lib", "try_package")
SCRIPTS = ("scripts/anttracks-install", "scripts/lib/common.sh", "scripts/package", "scripts/setup-jdk")
# What the programs in them are made from.
MADE_FROM = ("agent", "analyzer", "meson.build", "meson_options.txt", "trace", "vmpatch", *SCRIPTS)


def newest(pattern):
    found = glob.glob(os.path.join(BUILD, "package", pattern))
    return max(found, key=os.path.getmtime, default=None)


@test("The packages work where nothing is installed: a program is traced, attached to, analysed", slow=True)
def packages(t):
    release = jdk_release()
    archive = newest(f"anttracks-*-jdk{release}-linux-x64.tar.xz")
    deb = newest(f"anttracks-jdk{release}_*.deb")
    if not archive or not deb:
        raise Skip(f"there are no packages: scripts/package --jdk {release} makes them")
    made_from = run(["tar", "--wildcards", "-xOf", archive, "*/commit.txt"]).stdout.strip()
    same = run(["git", "-C", ROOT, "diff", "--quiet", made_from or "unknown", "--", *MADE_FROM])
    if same.returncode != 0:
        raise Skip(f"the packages are of commit {made_from or 'unknown'}: scripts/package makes new ones")
    if os.geteuid() != 0:
        raise Skip("roots of their own need root's rights")
    done = run([TRY, archive, deb])
    expect(done.returncode == 0, f"ended with {done.returncode}: {tail(done.stderr)}\n{tail(done.stdout)}")
    expect("both work" in done.stderr, done.stderr)
