#!/usr/bin/env bash
# Checks todo-write-efrit-mode against a checkout of Efrit, in every Emacs that
# bin/setup knows of:
#
#   test/hosts/efrit.sh [PATH]
#
# PATH is a clone of https://github.com/steveyegge/efrit, which is only read; without it,
# .deps/hosts/efrit is taken.
# MATCH is a regexp on the names of the checks, VERBOSE=1 names those that pass.
# The module must be built (`make build'); the session needs the mock server that
# `bin/setup test' fetches.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../../bin/lib/env.sh"

if (($# == 0)) && [[ ! -e $deps/hosts/efrit ]]; then
  printf 'skipped Efrit: no clone of it was given\n\n0 passed, 0 failed\n'
  exit
fi
efrit=${1:-$deps/hosts/efrit}
[[ -f $efrit/lisp/efrit.el ]] || die "no Efrit in $efrit"
efrit=$(cd "$efrit" && pwd)
cd "$root"
module=$(echo lisp/todo-write-dyn.*)
[[ -e $module ]] || die "not built; run make build"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As installed: Lisp, module and autoloads; and Efrit where it may write.
mkdir -p "$work/site" "$work/home/.emacs.d"
cp -r "$efrit" "$work/efrit"
find "$work/efrit" -name '*.elc' -delete
find lisp -name '*.el' ! -name '*-autoloads.el' -exec cp {} "$work/site" \;
cp "$module" "$work/site"

emacsen=("$emacs")
for candidate in "$deps"/emacs-*[0-9]/emacs; do
  if have "$candidate" && [[ $(emacs_version "$candidate") != "$(emacs_version "$emacs")" ]]; then
    emacsen+=("$candidate")
  fi
done

"${emacsen[0]}" -Q --batch -l package --eval '(setq inhibit-message t)' \
  --eval "(package-generate-autoloads \"todo-write\" \"$work/site\")" 2>/dev/null

export HOME=$work/home EFRIT=$work/efrit
export PATH=$deps/mock/node_modules/.bin:$PATH
passed=0 failed=0
for candidate in "${emacsen[@]}"; do
  echo "Emacs $(emacs_version "$candidate")"
  log=$work/log status=0
  EMACS=$candidate "$candidate" -Q --batch -L "$work/site" -l test/run.el \
    test/hosts/efrit-checks.el </dev/null >"$log" 2>&1 || status=$?
  cat "$log"
  read -r p f s <<<"$(sed -n 's/^ERT: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log")" || true
  if [[ -z ${p:-} ]]; then p=0 f=1 s=0; fi
  if ((status != 0 && f == 0)); then f=1; fi
  # What was not checked is not known to work.
  passed=$((passed + p)) failed=$((failed + f + s))
done

printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
