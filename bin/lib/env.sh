# Sourced by the scripts in bin/: paths and messages.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=$root/.deps

# Shells inside older Emacsen set EMACS=t, which names no program.
emacs=${EMACS:-emacs}
if [[ $emacs == t ]]; then emacs=emacs; fi

# The module of `make quick', which is not optimized, is used where there is no other.
quick=${CARGO_TARGET_DIR:-$root/target}/quick

have() { command -v "$1" >/dev/null 2>&1; }
in_ci() { [[ -n ${CI:-} && $CI != false ]]; }
strict() { [[ -n ${STRICT:-} && $STRICT != false ]]; } # fail instead of skipping
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$@"; exit 1; }
emacs_version() { "$1" --version | sed -n '1s/^GNU Emacs //p'; } # EMACS
