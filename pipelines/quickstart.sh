#!/usr/bin/env bash
# Which link of a network hurts in which phase of a program, and would another routing or a faster network help? Runs the
# stages of PhaseFlow, installed or built from this checkout, on a bundled recording of pipelines/eigenvector.py (16 ranks,
# by pf-profile) and a fat tree of 16 hosts. The recording machine ran eight ranks on each core, so computation counts for
# an eighth.
#
#   pipelines/quickstart.sh [OUTPUT-DIRECTORY]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
data="$here/../tests/data"
out=${1:-phaseflow-quickstart}

pf-collect "$data/quickstart.trace.tar.gz" |
  pf-segment |
  pf-simulate --model flow --compute-scale 0.125 --router dmodk,greedy \
    --topology 'fat-tree[k=4,capacity=1],fat-tree[k=4,capacity=2]' |
  pf-report -o "$out"

echo "The whole report: $out/index.html"
