#!/usr/bin/env bash
# Records every application of the gallery that is installed, and prints one CSV table. What is missing is named with its package on
# standard error. Takes five minutes on two cores.
#
#   pipelines/gallery/all.sh [OUTPUT-DIRECTORY]
#
# Ends with status 1 if an application that is there failed. The table is left in OUTPUT-DIRECTORY/gallery.csv, too.
set -euo pipefail
gallery=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-phaseflow-gallery}")
mkdir -p "$out"
failed=()
table() {
  local name status
  echo "application,ranks,messages,seconds,unmatched,sections,phases,rows,f1_auto,covering_auto,ari_auto,f1_leaf,covering_leaf,ari_leaf,near"
  for name in lammps gromacs openfoam quantum-espresso cp2k nwchem hpcc mpi4py-fft; do
    status=0
    "$gallery/$name.sh" "$out" || status=$?
    case $status in
      0 | 77) ;;
      *) failed+=("$name") ;;
    esac
  done
}
table > "$out/gallery.csv.part"
mv "$out/gallery.csv.part" "$out/gallery.csv"
cat "$out/gallery.csv"
if [ "${#failed[@]}" != 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
