#!/usr/bin/env bash
# Every stage to a file of its own, with a look at what it holds: for long runs, for keeping the middle, for replacing a
# stage by your own program.
#
#   pipelines/stages-by-hand.sh [OUTPUT-DIRECTORY]
set -euo pipefail
source "$(dirname "$0")/build.sh"
out=${1:-phaseflow-stages}
mkdir -p "$out"

# A trace: here a generated one (nearest-neighbour exchange, then all-to-all); normally a run directory of pf-profile.
pf-collect --pattern halo2d,alltoall --ranks 16 --bytes 64KiB --repeat 20 -o "$out/trace.tar.gz"
pf-collect "$out/trace.tar.gz" --summary

# Its phases, in time.
pf-segment "$out/trace.tar.gz" -o "$out/phases.tar.gz"
pf-segment "$out/trace.tar.gz" --list

# Each phase on a two-level fat tree of 16 hosts that has half the bandwidth above its edge switches.
pf-simulate "$out/phases.tar.gz" --topology 'xgft[m=4:4,w=1:2]' --router dmodk,greedy -o "$out/results.tar.gz"

# Tables, graphs and a page to look at.
pf-report "$out/results.tar.gz" -o "$out/report"
