#!/bin/sh
# Kills `fathom agent` at random times, 1,000 times or as often as requested, and checks that each
# recording is in its place exactly once: in a directory, in a bucket, or in both at the same time.
# Takes some five seconds per kill.
#
#   scripts/agent-kills.sh [KILLS [place|bucket]]
set -eu
cd "$(dirname "$0")/.."
FATHOM_AGENT_KILLS="${1:-1000}" cargo test -p fathom --test agent \
  "whenever_it_is_killed_each_recording_is_in_the_${2:-}" -- --nocapture
