#!/usr/bin/env bash
# What an average over the whole run hides: the load of the hottest link in the hottest phase against that of the average, PFSim's view.
#
#   pipelines/gallery/per-phase.sh OUTPUT-DIRECTORY [NAME=]ARCHIVE...
#
# ARCHIVE is a trace archive of pf-collect or a phase archive of pf-segment, called NAME in the results. Each is run on a fat tree and on a dragonfly that are just
# large enough, with two routers each, by the model `traffic`. A summary is printed. OUTPUT-DIRECTORY gets per-phase.csv, one row for each
# archive, network and router, and per-phase.svg.
set -euo pipefail
if [ $# -lt 2 ]; then
  echo "usage: $(basename "$0") OUTPUT-DIRECTORY [NAME=]ARCHIVE..." >&2
  exit 2
fi
gallery=$(cd "$(dirname "$0")" && pwd)
source "$gallery/../build.sh"
out=$1
shift
mkdir -p "$out/tables"
rm -f "$out"/tables/*

# What an archive is called: lammps.trace.tar.gz is lammps, and so is lammps/trace.tar.gz.
name_of() {
  local name
  name=$(basename "$1")
  name=${name%.gz} name=${name%.tar} name=${name%.trace}
  case $name in
    trace | phases) basename "$(dirname "$(realpath "$1")")" ;;
    *) echo "$name" ;;
  esac
}

# The smallest networks of these families with a host for each of $1 ranks.
fat_tree() {
  awk -v n="$1" 'BEGIN { for (k = 2; k * k * k / 4 < n; k += 2); print "fat-tree[k=" k "]" }'
}
dragonfly() {
  if [ "$1" -le 20 ]; then echo "dragonfly[a=2,h=2,p=2]"; else
    awk -v n="$1" 'BEGIN { for (h = 2; 2 * h * h * (2 * h * h + 1) < n; h++); print "dragonfly[a=" 2 * h ",h=" h ",p=" h "]" }'
  fi
}

simulate() {
  pf-simulate --quiet "$work/phases.tar" --topology "$3" --router "$4" --phases segmented,merged --model traffic -o "$work/$2.tar"
  local table
  for table in runs phases links; do
    pf-report "$work/$2.tar" --table "$table" > "$out/tables/$1+$2+$table.csv"
  done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for argument in "$@"; do
  archive=${argument#*=}
  name=${argument%%=*}
  [ "$name" != "$argument" ] || name=$(name_of "$archive")
  if [ -e "$out/tables/$name+fat-tree+runs.csv" ]; then
    echo "$(basename "$0"): $archive: a second archive called $name; give it another name, NAME=$archive" >&2
    exit 2
  fi
  case $(tar -xOf "$archive" header.json) in
    *phaseflow.phases*) cp "$archive" "$work/phases.tar" ;;
    *) pf-segment --quiet "$archive" -o "$work/phases.tar" ;;
  esac
  ranks=$(tar -xOf "$work/phases.tar" header.json | sed 's/.*"ranks":\([0-9]*\).*/\1/')
  simulate "$name" fat-tree "$(fat_tree "$ranks")" dmodk,greedy
  simulate "$name" dragonfly "$(dragonfly "$ranks")" minimal,ugal
done
python3 "$gallery/per-phase.py" "$out"
