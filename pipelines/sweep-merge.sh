#!/usr/bin/env bash
# Puts the shards of a sweep together, when all of them are finished: DIRECTORY/report is byte for byte that of the sweep in one piece.
#
#   pipelines/sweep-merge.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...
#
# A missing or unfinished shard, or one of another sweep, is an error.
set -euo pipefail
source "$(dirname "$0")/build.sh"
usage='usage: pipelines/sweep-merge.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...'
directory=${1:?$usage} shards=${2:?$usage}
shift 2

results=() missing=()
for ((shard = 1; shard <= shards; shard++)); do
  result=$directory/shards/$shard.tar.gz
  status=$(pf-simulate --quiet "$@" --shard "$shard/$shards" -o "$result" --status)
  case $status in *'"done":false'*) missing+=("$shard") ;; *) results+=("$result") ;; esac
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "sweep-merge.sh: $directory: not finished: shards ${missing[*]} of $shards; begin the sweep again to go on with them" >&2
  exit 1
fi
pf-report "${results[@]}" -o "$directory/report"
