#!/usr/bin/env bash
# Which link of a cluster hurts in which phase of a program, under which routing? Builds PhaseFlow, then runs its stages on
# a bundled trace and a bundled cluster. Needs nothing but Rust.
#
#   pipelines/quickstart.sh [OUTPUT-DIRECTORY]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
data="$here/../tests/data"
out=${1:-phaseflow-quickstart}

pf-collect "$data/quickstart.trace.tar.gz" |
  pf-segment |
  pf-simulate --topology "$data/cluster.graphml" --router dmodk,greedy |
  pf-report -o "$out"

echo "The whole report: $out/index.html"
