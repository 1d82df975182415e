#!/usr/bin/env bash
# One shard of a sweep: what sweep-slurm.sh and sweep-parallel.sh run many of.
#
#   pipelines/sweep-shard.sh DIRECTORY SHARD SHARDS PF-SIMULATE-OPTION...
#
# Writes DIRECTORY/shards/SHARD.tar.gz. Run again, it goes on where it was ended; a shard that is finished is checked, not computed again.
set -euo pipefail
source "$(dirname "$0")/build.sh"
usage='usage: pipelines/sweep-shard.sh DIRECTORY SHARD SHARDS PF-SIMULATE-OPTION...'
directory=${1:?$usage} shard=${2:?$usage} shards=${3:?$usage}
shift 3

# Shards are many: each takes the cores of its task, one unless Slurm gave more.
case " $*" in *" --threads"*) ;; *) set -- "$@" --threads "${SLURM_CPUS_PER_TASK:-1}" ;; esac
mkdir -p "$directory/shards"
exec pf-simulate "$@" --shard "$shard/$shards" -o "$directory/shards/$shard.tar.gz" --resume
