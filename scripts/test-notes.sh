#!/usr/bin/env bash
# Prints what a run of the tests skipped or tried again: the last output of `make test` before its
# result.
#
#   scripts/test-notes.sh FILE     the file that FATHOM_TEST_NOTES named
set -eu
notes=${1:?usage: scripts/test-notes.sh FILE}
if ! [ -s "$notes" ]; then echo "make test: nothing was skipped and nothing was tried again"; exit 0; fi
echo "make test: $(grep -c '^SKIPPED' "$notes" || true) skipped, $(grep -c '^TRIED AGAIN' "$notes" || true) tried again:"
sort "$notes" | uniq -c | sed 's/^ *1 /  /; s/^ *\([0-9][0-9]*\) /  (\1 times) /'
