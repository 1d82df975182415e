#!/usr/bin/env bash
# A sweep on a cluster: a Slurm job array, one task a shard, and a job that depends on it and puts the results together.
#
#   pipelines/sweep-slurm.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...
#   pipelines/sweep-slurm.sh sweep 100 phases.tar.gz --topology 'xgft[m=8:8,w=1:4],torus[dims=8x8]' --router dmodk,greedy
#
# Prints the numbers of both jobs. Shards are in DIRECTORY/shards, the report is in DIRECTORY/report, what jobs said in DIRECTORY/logs.
# DIRECTORY has to be seen by all nodes. When tasks were killed or failed, the same command starts those again that are not finished;
# they go on after their last complete run. Time, partition and account come in sbatch's variables: SBATCH_TIMELIMIT=2:00:00,
# SBATCH_PARTITION, SBATCH_ACCOUNT.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
usage='usage: pipelines/sweep-slurm.sh DIRECTORY SHARDS PF-SIMULATE-OPTION...'
directory=${1:?$usage} shards=${2:?$usage}
shift 2
PHASEFLOW_BIN=$(dirname "$(command -v pf-simulate)")
export PHASEFLOW_BIN

mkdir -p "$directory/shards" "$directory/logs"
# Points that cannot be run are found here, not by a hundred tasks.
pf-simulate --quiet "$@" --list > "$directory/points.ndjson"
unfinished=()
for ((shard = 1; shard <= shards; shard++)); do
  [ -e "$directory/shards/$shard.tar.gz" ] || unfinished+=("$shard")
done

# sbatch keeps a copy of what it is given: the scripts are named, not copied, as they read build.sh beside them.
quoted() { printf '%q ' "$@"; }
dependency=()
if [ ${#unfinished[@]} -gt 0 ]; then
  tasks=$(IFS=, && echo "${unfinished[*]}")
  array=$(sbatch --parsable --requeue --array="$tasks" --job-name=phaseflow-sweep --open-mode=append \
    --output="$directory/logs/shard-%a.txt" <<JOB
#!/usr/bin/env bash
exec $(quoted "$here/sweep-shard.sh" "$directory") "\$SLURM_ARRAY_TASK_ID" $(quoted "$shards" "$@")
JOB
  )
  echo "shards: job $array, tasks $tasks"
  # After tasks that failed, too: the merge then says which are missing, where a job that waits for ever would say nothing.
  dependency=(--dependency="afterany:${array%%;*}")
fi
merge=$(sbatch --parsable --job-name=phaseflow-merge "${dependency[@]}" --output="$directory/logs/merge.txt" <<JOB
#!/usr/bin/env bash
exec $(quoted "$here/sweep-merge.sh" "$directory" "$shards" "$@")
JOB
)
echo "merge: job $merge"
