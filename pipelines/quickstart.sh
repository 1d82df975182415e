#!/usr/bin/env bash
# Which link of a network hurts in which phase of a program, under which routing? Builds PhaseFlow, then runs its stages on
# a bundled trace, recorded by pf-profile from LAMMPS on 12 ranks, and a fat tree of 16 hosts. Needs nothing but Rust.
#
#   pipelines/quickstart.sh [OUTPUT-DIRECTORY]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/build.sh"
data="$here/../tests/data"
out=${1:-phaseflow-quickstart}

pf-collect "$data/quickstart.trace.tar.gz" |
  pf-segment |
  pf-simulate --topology 'fat-tree[k=4]' --router dmodk,greedy |
  pf-report -o "$out"

echo "The whole report: $out/index.html"
