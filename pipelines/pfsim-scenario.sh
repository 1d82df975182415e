#!/usr/bin/env bash
# Runs a scenario file of PFSim, the simulator of the PFAnalyzer paper, unchanged: every combination of its algorithms, the
# highest congestion of each on standard output (CSV) and the whole report in a directory.
#
#   pipelines/pfsim-scenario.sh [SCENARIO.yml [OUTPUT-DIRECTORY]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
scenario=${1:-$here/../tests/data/pfsim/scenario.yml}
out=${2:-phaseflow-scenario}

mkdir -p "$out"
pf-simulate --scenario "$scenario" -o "$out/results.tar.gz"
pf-report "$out/results.tar.gz" --quiet -o "$out" > /dev/null
pf-report "$out/results.tar.gz" --table runs
