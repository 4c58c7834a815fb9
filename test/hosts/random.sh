#!/usr/bin/env bash
# Does random things to three genuine Claude Codes, and checks at every quiet point that the plans
# and states shown are theirs; lib.sh says how:
#
#   SECONDS=900 SEED=7 test/hosts/random.sh
#
# Both are optional: by default it runs for a minute with a random seed, which it prints.
# shellcheck source-path=SCRIPTDIR
# bash counts SECONDS up; what it began with is the user's.
export SECONDS_TO_RUN=$((SECONDS > 0 ? SECONDS : 60))
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks random
