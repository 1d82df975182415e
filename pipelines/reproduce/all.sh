#!/usr/bin/env bash
# Makes the figures of the documents that PhaseFlow comes from again, each beside its published values.
#
#   pipelines/reproduce/all.sh [--quick] [OUTPUT-DIRECTORY]
#
# Prints `figure, published, ours, ratio` for each, and the table of docs/reproduction.md; the page is OUTPUT-DIRECTORY/index.html.
# --quick makes fewer and smaller points. PYTHON is an interpreter with matplotlib (default python3). PFSIM_DATA is the folder of PFSim's
# traces, LABELLED_RUNS one of labelled traces; figures whose input or program is absent are named as not made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../build.sh"
quick=() out=phaseflow-reproduction
for argument in "$@"; do
  case $argument in
    --quick) quick=(--quick) ;;
    *) out=$argument ;;
  esac
done
interpreter=${PYTHON:-python3}
if ! "$interpreter" -c 'import matplotlib' 2>/dev/null; then
  echo "all.sh: $interpreter has no matplotlib, which draws the pictures (apt: python3-matplotlib); PYTHON names another interpreter" >&2
  exit 1
fi
# Scripts that run Python programs under MPI look for an interpreter of their own.
unset PYTHON

failed=()
for script in "$here"/*.py; do
  name=$(basename "$script" .py)
  case $name in figure | page) continue ;; esac
  "$interpreter" "$script" "${quick[@]}" "$out" || failed+=("$name")
done
echo
"$interpreter" "$here/page.py" "$out"
echo "The page: $out/index.html" >&2
# A figure that was not made says why itself.
[ ${#failed[@]} = 0 ] || echo "Not made: ${failed[*]}" >&2
