#!/usr/bin/env bash
# A sweep by GNU parallel: shards side by side, one a core, then one report of all.
#
#   pipelines/sweep-parallel.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...
#   pipelines/sweep-parallel.sh sweep 20 phases.tar.gz --topology 'xgft[m=8:8,w=1:4],torus[dims=8x8]' --router dmodk,greedy
#
# The same command goes on after it was ended. Shards are in DIRECTORY/shards, the report is in DIRECTORY/report. Options of
# parallel come in PARALLEL: `-j 4`, or `--sshlogin node1,node2 --workdir .` where nodes see the same files.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
usage='usage: pipelines/sweep-parallel.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...'
directory=${1:?$usage} shards=${2:?$usage}
shift 2
PHASEFLOW_BIN=$(dirname "$(command -v pf-simulate)")
export PHASEFLOW_BIN

# --quote: options have brackets and blanks, which are not for the shells that parallel starts.
# A shard that fails does not keep the others from ending; parallel then ends with another status than 0.
mkdir -p "$directory"
if ! seq "$shards" | parallel --quote --env PHASEFLOW_BIN --joblog "$directory/jobs.tsv" \
  "$here/sweep-shard.sh" "$directory" {} "$shards" "$@"; then
  echo "sweep-parallel.sh: $directory: not all shards are finished, see jobs.tsv there; the same command goes on with them" >&2
  exit 1
fi
"$here/sweep-merge.sh" "$directory" "$shards" "$@"
