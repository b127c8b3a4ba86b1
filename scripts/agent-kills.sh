#!/bin/sh
# Kills `fathom agent` at random times, 1,000 times or as often as requested, and checks that each recording is in its
# place exactly once. Takes some five seconds per kill.
set -eu
cd "$(dirname "$0")/.."
FATHOM_AGENT_KILLS="${1:-1000}" cargo test -p fathom --test agent whenever_it_is_killed -- --nocapture
