#!/usr/bin/env bash
# Installs a JDK 8 runtime into ~/.cache/fathom/jdks/8 for the tests of its GC logs, locks and
# flight recorder, and prints the path of its `java`.
#
# Debian's unstable suite has openjdk-8. It is fetched from this machine's own mirror, with a
# separate package state: nothing is installed, no list of the system is touched. Where the C
# library here is older than the one that the runtime was built with, unstable's is installed next
# to the runtime and used for it alone.
#
# Exit status: 0 installed; 3 not available here (the reason is printed).
set -euo pipefail

home=${XDG_CACHE_HOME:-$HOME/.cache}/fathom/jdks/8
say() { printf 'jdk8: %s\n' "$*" >&2; }
give_up() { say "JDK 8 cannot be installed here: $*"; exit 3; }
java=$(find "$home" -path '*/jre/bin/java' 2>/dev/null | head -n 1 || true)
if [ -n "$java" ] && "$java" -version >/dev/null 2>&1; then echo "$java"; exit 0; fi

for tool in apt-get apt-cache dpkg dpkg-deb; do
  command -v $tool >/dev/null || give_up "it comes from Debian's packages, and $tool is missing"
done
mirror=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
  awk '$2 == "main" && $1 ~ /\/debian\/$/ { print $1; exit }')
[ -n "$mirror" ] || give_up "no Debian mirror is configured on this machine"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || give_up "$keyring is missing (package debian-archive-keyring)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$work"/packages "$work"/root "$work"/libc
printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nSigned-By: %s\n' "$mirror" $keyring >"$work/sid.sources"
apt=(-qq -o Dir::Etc::SourceList="$work/sid.sources" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=)
say "asking this machine's Debian mirror for the packages of unstable"
apt-get "${apt[@]}" update >/dev/null 2>&1 || give_up "the mirror has no unstable suite, or is not reachable"
(cd "$work/packages" && apt-get "${apt[@]}" download openjdk-8-jre-headless >/dev/null 2>&1) ||
  give_up "unstable has no openjdk-8-jre-headless for $(dpkg --print-architecture)"
dpkg -x "$work"/packages/openjdk-8-jre-headless_*.deb "$work/root"

# The package's configuration is linked by absolute paths: make them relative.
find "$work/root" -type l -lname '/etc/*' | while read -r link; do
  target=$work/root$(readlink "$link")
  ln -sfn "$(realpath --relative-to="$(dirname "$link")" -m "$target")" "$link"
done

jre=$(dirname "$(find "$work/root" -path '*/jre/bin' | head -n 1)")
if ! "$jre/bin/java" -version >/dev/null 2>&1; then
  say "the C library here is older than the runtime's: using unstable's for it"
  (cd "$work/packages" && apt-get "${apt[@]}" download libc6 libstdc++6 libgcc-s1 zlib1g >/dev/null 2>&1) ||
    give_up "its C library could not be fetched"
  for package in libc6 libstdc++6 libgcc-s1 zlib1g; do
    dpkg -x "$work"/packages/${package}_*.deb "$work/libc"
  done
  mkdir "$jre/libc"
  find "$work/libc" -name '*.so.*' ! -type d ! -path '*/gconv/*' -exec cp -L {} "$jre/libc/" \;
  # The launcher finds its home next to the program that the kernel started, which is now the
  # loader.
  loader=$(find "$work/libc" -name 'ld-linux*' | head -n 1)
  cp -L "$loader" "$jre/bin/loader"
  mv "$jre/bin/java" "$jre/bin/java.elf"
  cat >"$jre/bin/java" <<'LAUNCHER'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/loader" --library-path "$here/../libc" "$here/java.elf" "$@"
LAUNCHER
  chmod +x "$jre/bin/java" "$jre/bin/loader"
fi
"$jre/bin/java" -version >/dev/null 2>&1 || give_up "the runtime was unpacked but does not start"

rm -rf "$home"
mkdir -p "$home"
cp -a "$work/root/." "$home/"
find "$home" -path '*/jre/bin/java'
