# SPDX-License-Identifier: Apache-2.0
"""scripts/vm-port-check: which hunks of the patch fail on another source,
and whether the hook table is complete."""

import os

import vm_patches
from judge.world import ROOT, Skip, expect, jdk_release, run, tail, test

PAGE = """# The patch

## Hooks

| patch | file: function | why | collector |
|---|---|---|---|
| 1 | `fits.cpp` f | the reason of f | all |
| 1 | `differs.{hpp,cpp}` g; `gone.cpp` | the reason of g | Serial |
| 2 | `moved.*` h | the reason of h | G1 |

## Other
"""
CODE = "int {0}(int a) {{\n  begin();\n  middle();\n  end();\n  return a;\n}}\n"


def part(name, function="f", line=1):
    return (
        f"--- a/src/hotspot/share/{name}\n+++ b/src/hotspot/share/{name}\n@@ -{line},6 +{line},7 @@\n"
        f" int {function}(int a) {{\n   begin();\n   middle();\n"
        "+  hook();\n   end();\n   return a;\n }\n"
    )


INCLUDE = (
    "--- a/src/hotspot/share/differs.hpp\n+++ b/src/hotspot/share/differs.hpp\n"
    '@@ -1,2 +1,3 @@\n #include "a.hpp"\n+#include "ours.hpp"\n #include "b.hpp"\n'
)


def doctored(t, files, page=PAGE):
    """A checkout with a series of two patches, and a tree with these files; returns (the script, the tree)."""
    series = {
        "vmpatch/17/series": "0001-one.patch\n0002-two.patch\n",
        "docs/vm-patch.md": page,
        "vmpatch/17/0001-one.patch": "Why\n\n"
        + part("fits.cpp")
        + INCLUDE
        + part("differs.cpp", "g")
        + part("gone.cpp"),
        "vmpatch/17/0002-two.patch": part("old/moved.cpp", "h"),
    }
    for folder, content in (("", series), ("tree", files)):
        for name, text in content.items():
            path = os.path.join(t.folder, folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    run(["cp", "-r", os.path.join(ROOT, "scripts"), t.folder])
    return t.path("scripts/vm-port-check"), t.path("tree")


OTHER = {
    "src/hotspot/share/fits.cpp": "// a line more\n\n" + CODE.format("f"),
    "src/hotspot/share/differs.hpp": '#include "a.hpp"\n#include "c.hpp"\n',
    "src/hotspot/share/differs.cpp": CODE.format("renamed").replace("middle", "something_else"),
    "src/hotspot/share/new/moved.cpp": CODE.format("h"),
    "make/conf/version-numbers.conf": "DEFAULT_VERSION_FEATURE=99\nDEFAULT_VERSION_INTERIM=0\n"
    "DEFAULT_VERSION_UPDATE=7\n",
}
SAYS = """OpenJDK 99.0.7
0001-one.patch: 1 of 4 hunks apply
  src/hotspot/share/differs.hpp, hunk 1 (line 1): fails: only lines around it differ
      an #include
  src/hotspot/share/differs.cpp, hunk 1 (line 1, g): fails: g is gone from the file
      the reason of g (Serial)
  src/hotspot/share/gone.cpp, hunk 1 (line 1, f): the file is gone
      the reason of g (Serial)
0002-two.patch: 0 of 1 hunks apply
  src/hotspot/share/old/moved.cpp, hunk 1 (line 1, h): \
the file is now src/hotspot/share/new/moved.cpp, where it applies
      the reason of h (G1)
1 of 5 hunks apply, 1 of them with an offset; \
4 fail: 3 in the code, 0 that add an #include, 1 because lines around them differ
"""


@test("vm-port-check names each hunk that fails on another source, why, and what it is for")
def other_source(t):
    script, tree = doctored(t, OTHER)
    before = {name: open(os.path.join(tree, name), encoding="utf-8").read() for name in OTHER}
    done = run([script, tree])
    expect(done.returncode == 1 and done.stdout == SAYS, f"{done.returncode}\n{done.stdout}{done.stderr}")
    expect(
        before == {name: open(os.path.join(tree, name), encoding="utf-8").read() for name in OTHER},
        "the source was changed",
    )
    tarball = t.path("source.tar.xz")
    run(["tar", "-C", t.folder, "-cJf", tarball, "tree"])
    packed = run([script, tarball])
    expect(
        packed.returncode == 1 and packed.stdout == SAYS,
        f"of the tarball it says\n{packed.stdout}{packed.stderr}",
    )


@test("vm-port-check is content with a source that all hunks fit")
def fitting_source(t):
    files = {
        "src/hotspot/share/fits.cpp": CODE.format("f"),
        "src/hotspot/share/gone.cpp": CODE.format("f"),
        "src/hotspot/share/differs.cpp": CODE.format("g"),
        "src/hotspot/share/differs.hpp": '#include "a.hpp"\n#include "b.hpp"\n',
        "src/hotspot/share/old/moved.cpp": CODE.format("h"),
    }
    script, tree = doctored(t, files)
    done = run([script, tree, "--all"])
    expect(
        done.returncode == 0 and "5 of 5 hunks apply, 0 of them with an offset; 0 fail" in done.stdout,
        f"{done.returncode}\n{done.stdout}{done.stderr}",
    )
    expect("fits.cpp, hunk 1 (line 1, f): applies" in done.stdout, done.stdout)
    run(["sh", "-c", f"cd {tree} && patch -p1 <{t.path('vmpatch/17/0001-one.patch')}"])
    done = run([script, tree])
    expect(
        done.returncode == 1 and "applied already" in done.stdout, f"of a patched source it says\n{done.stdout}"
    )


@test("vm-port-check refuses what is no source of a JDK")
def no_source(t):
    script, _ = doctored(t, OTHER)
    for source, word in (
        (t.path("nothing"), "there is no"),
        (t.path("vmpatch"), "no JDK source tree"),
        (t.path("docs/vm-patch.md"), "no tarball"),
    ):
        done = run([script, source])
        expect(done.returncode == 2 and word in done.stderr, f"{source}: {done.returncode} {done.stderr}")


@test("The hook table must have a row for each patched file, and no other")
def table(t):
    page = PAGE.replace("| 1 | `fits.cpp` f | the reason of f | all |\n", "").replace(
        "`moved.*` h", "`moved.*` h, `absent.cpp`"
    )
    script, tree = doctored(t, OTHER, page)
    done = run([script, tree])
    for words in (
        "no row for src/hotspot/share/fits.cpp of 0001-one.patch",
        "has absent.cpp in patch 2, which does not touch it",
    ):
        expect(done.returncode == 1 and words in done.stdout, f"{words!r} is not in\n{done.stdout}")
    problems = vm_patches.table_problems(ROOT)
    expect(not problems, "\n".join(problems))


@test("The tables of the ports must name each file that is patched in their release")
def ports(t):
    for folder in ("vmpatch/21", "vmpatch/25", "docs"):
        os.makedirs(t.path(folder))
    for release, page in vm_patches.PORTS.items():
        text = f"--- a/x/f{release}.cpp\n+++ b/x/f{release}.cpp\n@@ -1 +1,2 @@\n a\n+b\n"
        for name, content in (
            (f"vmpatch/{release}/series", "0003-it.patch\n"),
            (f"vmpatch/{release}/0003-it.patch", text),
            (page, f"| 2 | f{release}.cpp | same |\n| 3 | g{release}.* g, f{release}.hpp f | same |\n"),
        ):
            with open(t.path(name), "w", encoding="utf-8") as file:
                file.write(content)
    found = vm_patches.port_problems(t.folder)
    for release, page in vm_patches.PORTS.items():
        words = f"{page}: no row tells what 0003-it.patch does to f{release}.cpp in {release}"
        expect(words in found, f"{found}")
        with open(t.path(page), "a", encoding="utf-8") as file:
            file.write(f"| 3 | f{release}.{{cpp,hpp}} f | same |\n")
    found = vm_patches.port_problems(t.folder) + vm_patches.port_problems(ROOT)
    expect(not found, "\n".join(found))


@test("All hunks of the series fit the source that the JDK is built from")
def real(t):
    release = str(jdk_release())
    setup = [os.path.join(ROOT, "scripts/setup-jdk"), "--jdk", release, "--until", "download"]
    done = run(["env", "-u", "ANTTRACKS_JDK_HOME", *setup])
    if done.returncode != 0:
        raise Skip(f"the source of the JDK is missing: scripts/setup-jdk --jdk {release} --until download")
    check = os.path.join(ROOT, "scripts/vm-port-check")
    done = run([check, done.stdout.strip(), "--release", release])
    expect(
        done.returncode == 0 and " 0 fail" in done.stdout,
        f"{done.returncode}\n{tail(done.stdout, 30)}{tail(done.stderr)}",
    )
