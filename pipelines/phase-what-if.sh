#!/usr/bin/env bash
# What would another routing change, phase by phase? Prints CSV: the hottest link of every phase under every router, and
# what a single averaged matrix (the way before PhaseFlow) would have shown.
#
#   pipelines/phase-what-if.sh TRACE TOPOLOGY [ROUTERS]
#   pipelines/phase-what-if.sh run.tar.gz cluster.graphml dmodk,smodk,random,ecmp,greedy,greedy-max
set -euo pipefail
source "$(dirname "$0")/build.sh"
trace=${1:?name a trace}
topology=${2:?name a topology, for example cluster.graphml or "xgft[m=4:4,w=1:2]"}
routers=${3:-dmodk,smodk,random,ecmp,greedy,greedy-max}

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
pf-segment "$trace" -o "$results/phases.tar"
pf-simulate "$results/phases.tar" --topology "$topology" --router "$routers" --phases segmented,merged -o "$results/results.tar"

# Table `phases` knows runs by number; table `runs` says which router and which kind of phases a number is. Commas inside
# quoted labels come only in topology names, which stand before neither of the columns used here.
pf-report "$results/results.tar" --table runs > "$results/runs.csv"
pf-report "$results/results.tar" --table phases > "$results/phases.csv"
awk -F, '
  function unquoted(line) { while (match(line, /"[^"]*"/)) line = substr(line, 1, RSTART - 1) "q" substr(line, RSTART + RLENGTH); return line }
  { $0 = unquoted($0) }
  FNR == 1 { for (i = 1; i <= NF; i++) column[FILENAME, $i] = i; if (NR == 1) next
             print "router,phases,phase,occurrences,max_link_load,max_utilization,bottleneck_src,bottleneck_dst"; next }
  FILENAME == ARGV[1] { router[$1] = $column[FILENAME, "router"]; kind[$1] = $column[FILENAME, "phases"]; next }
  { f = FILENAME
    printf "%s,%s,%s,%s,%s,%s,%s,%s\n", router[$1], kind[$1], $column[f, "phase"], $column[f, "occurrences"],
      $column[f, "max_link_load"], $column[f, "max_utilization"], $column[f, "bottleneck_src"], $column[f, "bottleneck_dst"] }
' "$results/runs.csv" "$results/phases.csv"
