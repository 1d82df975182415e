#!/bin/sh
# How near each method comes to the marks of real MPI runs. Prints `ranks program method boundary_f1 exact_f1 covering label_ari`,
# then the means of each method. Needs a release build (PHASEFLOW_BIN, default target/release) and Open MPI.
# Usage: benches/real.sh [METHOD...]
set -eu
here=$(dirname "$0")
bin=${PHASEFLOW_BIN:-$here/../target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ $# -gt 0 ] || set -- jsd kmeans dbscan optics gmm
mpicc.openmpi -O1 -o "$work/phases" "$here/../tests/mpi/phases.c"

# LAMMPS through its library, if that is there.
mpicc.openmpi -O1 -o "$work/stages" "$here/../tests/mpi/stages.c" -l:liblammps.so.0 2>/dev/null || echo "without LAMMPS" >&2

# measure RANKS NAME METHODS PROGRAM [ARGUMENT...]: records the program and scores each method.
measure() {
    ranks=$1 name=$2 methods=$3
    shift 3
    rm -rf "$work/run"
    "$bin/pf-profile" --quiet -o "$work/run" -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 \
        -n "$ranks" "$@" >"$work/printed"
    "$bin/pf-collect" --quiet "$work/run" -o "$work/trace.tar" --truth "$work/truth.csv"
    for method in $methods; do
        "$bin/pf-segment" --quiet "$work/trace.tar" --method "$method" --score "$work/truth.csv" |
            awk -v name="$ranks $name $method" -F': ' '{ value[$1] = $2 }
                END { print name, value["boundary_f1"], value["exact_f1"], value["covering"], value["label_ari"] }'
    done
}

for ranks in 8 24; do
    number=0
    for program in \
        'halo*200,alltoall*60,transpose*200,hotspot:1024*200' \
        'halo*100,alltoall*30,halo*100,alltoall*30,halo*100,alltoall*30' \
        'shift*100,(halo*20,allreduce:64*20)*8,transpose*100' \
        'halo*400,hotspot:512*15,halo*400,alltoall:256*8,halo*400' \
        'alltoall*40,idle:30,halo*200,idle:30,alltoall*40,idle:30,shift*200'
    do
        number=$((number + 1))
        measure $ranks phases-$number "$*" "$work/phases" -c 50 "$program"
    done
done | tee "$work/table"
awk '{ count[$3]++; for (i = 4; i <= 7; i++) sum[$3, i] += $i }
    END { for (name in count) { line = "mean phases " name; for (i = 4; i <= 7; i++) line = line sprintf(" %.3f", sum[name, i] / count[name]); print line } }' \
    "$work/table" | sort
if [ -x "$work/stages" ]; then
    measure 8 lammps "$*" "$work/stages" "$here/../tests/data/stages.lammps"
fi
