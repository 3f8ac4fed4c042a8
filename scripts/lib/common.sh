# SPDX-License-Identifier: Apache-2.0
# What the scripts share. Source it; it sets `root` (the checkout) and what follows.

unset CDPATH  # cd would print where it goes
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}  # services have none
cache=${ANTTRACKS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/anttracks}
[[ $cache = /* ]] || cache=$PWD/$cache  # links lead there
[ -z "${ANTTRACKS_CACHE:-}" ] || export ANTTRACKS_CACHE=$cache
me=$(basename "$0")

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }

# For --help: the comment at the head of the script.
show_help() { sed -n '3,${/^#/!q; s/^# \{0,1\}//p}' "$root/scripts/$me"; exit 0; }

# Progress is redrawn in place on a terminal only.
on_terminal() { [ -t 2 ] && [ -z "${CI:-}" ]; }

elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# The JDK 17 that Debian packages: boot JDK of the build, and the stock JVM of tests.
packaged_jdk() {
  local home
  for home in /usr/lib/jvm/java-17-openjdk-"$(dpkg --print-architecture)" /usr/lib/jvm/java-17-openjdk*; do
    [ -x "$home/bin/javac" ] && { echo "$home"; return 0; }
  done
  return 1
}

# build_of JDK_HOME: such as 17.0.19+10; nothing if its release file does not tell. Build 0 is any source that nobody numbered.
build_of() { sed -n 's/^JAVA_RUNTIME_VERSION="\([0-9.]*+[1-9][0-9]*\).*/\1/p' "$1/release"; }

# link TARGET NAME: build/NAME -> TARGET, replaced in one step.
link() {
  mkdir -p "$build"
  ln -sfn "$1" "$build/.$2.$$" && mv -Tf "$build/.$2.$$" "$build/$2"
}
