#!/usr/bin/env bash
# What would another allreduce change, in the phase of a program that sends most: a ring, a parameter server, or a network that sums
# (SwitchML, ATP)? Prints CSV: the phase's time under each of them, what its busiest link carries, and packets lost and sent again.
#
#   pipelines/in-network-what-if.sh [TRACE [TOPOLOGY [COLLECTIVES]]]
#
# Without a TRACE it records one: pipelines/training.py on 8 ranks, which needs MPI and mpi4py. PYTHON names an interpreter that has it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
trace=${1:-}
topology=${2:-'leaf-spine[leaves=3,spines=2,hosts=3]'}
collectives=${3:-recorded,ring,recursive-doubling,halving-doubling,binomial,ps,switchml,atp}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$trace" ]; then
  # More ranks than cores will do.
  export OMPI_MCA_rmaps_base_oversubscribe=1
  pf-profile -o "$work/run" --quiet -- mpirun -n 8 "${PYTHON:-python3}" "$here/training.py" >&2
  trace=$work/run
fi

pf-collect "$trace" | pf-segment -o "$work/phases.tar"
pf-simulate "$work/phases.tar" --topology "$topology" --capacity 10 --model packet --transport dctcp \
  --collective "$collectives" -o "$work/results.tar"
pf-report "$work/results.tar" --table runs > "$work/runs.csv"
pf-report "$work/results.tar" --table phases > "$work/phases.csv"

# Table `phases` knows runs by number; table `runs` says which collective that is. Names with commas are quoted; as none is needed here but
# the collective, which may have parameters, those are put in order first.
awk -F, -v OFS=, '
  function plain(line) { while (match(line, /"[^"]*"/)) line = substr(line, 1, RSTART - 1) quoted(substr(line, RSTART + 1, RLENGTH - 2)) substr(line, RSTART + RLENGTH); return line }
  function quoted(text) { gsub(/,/, ";", text); return text }
  { $0 = plain($0) }
  FNR == 1 { file++; split("", column); for (i = 1; i <= NF; i++) column[$i] = i; next }
  file == 1 { collective[$1] = $column["collective"]; next }
  { phase = $column["phase"]; bytes[phase] = $column["bytes"]; if (bytes[phase] + 0 > bytes[most] + 0) most = phase
    rows[$1, phase] = phase OFS $column["occurrences"] OFS $column["makespan_s"] OFS $column["max_link_bytes"] OFS \
      $column["drops"] OFS $column["retransmits"]; if ($1 > last) last = $1 }
  END { print "collective,phase,occurrences,makespan_s,max_link_bytes,drops,retransmits"
        for (run = 0; run <= last; run++) print collective[run], rows[run, most] }
' "$work/runs.csv" "$work/phases.csv"
