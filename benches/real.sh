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
        rm -rf "$work/run"
        "$bin/pf-profile" --quiet -o "$work/run" -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 \
            -n $ranks "$work/phases" -c 50 "$program" >"$work/printed"
        "$bin/pf-collect" --quiet "$work/run" -o "$work/trace.tar" --truth "$work/truth.csv"
        for method in "$@"; do
            "$bin/pf-segment" --quiet "$work/trace.tar" --method "$method" --score "$work/truth.csv" |
                awk -v name="$ranks $number $method" -F': ' '{ value[$1] = $2 }
                    END { print name, value["boundary_f1"], value["exact_f1"], value["covering"], value["label_ari"] }'
        done
    done
done | tee "$work/table"
awk '{ count[$3]++; for (i = 4; i <= 7; i++) sum[$3, i] += $i }
    END { for (name in count) { line = "mean - " name; for (i = 4; i <= 7; i++) line = line sprintf(" %.3f", sum[name, i] / count[name]); print line } }' \
    "$work/table" | sort
