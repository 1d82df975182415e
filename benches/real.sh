#!/bin/sh
# How near each method comes to the marks of real MPI runs. Prints `ranks program method boundary_f1 exact_f1 covering label_ari` of every
# recording, then the means and the worst of each method. Needs a release build (PHASEFLOW_BIN, default target/release) and Open MPI.
# Usage: [REPEATS=3] benches/real.sh [METHOD...]
set -eu
here=$(dirname "$0")
bin=${PHASEFLOW_BIN:-$here/../target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ $# -gt 0 ] || set -- rounds jsd kmeans dbscan optics gmm
mpicc.openmpi -O1 -o "$work/phases" "$here/../tests/mpi/phases.c"

# HPCC with its sections as marks, if it is there; a small problem.
if command -v hpcc >/dev/null && mpicc.openmpi -shared -fPIC -O1 -o "$work/announce.so" "$here/../tests/mpi/announce.c" -ldl; then
    sed 's/^1000 *Ns/400 Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt >"$work/hpccinf.txt"
fi
# LAMMPS through its library, if that is there.
mpicc.openmpi -O1 -o "$work/stages" "$here/../tests/mpi/stages.c" -l:liblammps.so.0 2>/dev/null || echo "without LAMMPS" >&2

# measure RANKS NAME METHODS PROGRAM [ARGUMENT...]: records the program and scores each method.
measure() {
    ranks=$1 name=$2 methods=$3
    shift 3
    rm -rf "$work/run"
    ${preload:+env "LD_PRELOAD=$preload"} "$bin/pf-profile" --quiet -o "$work/run" -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 \
        -n "$ranks" "$@" >"$work/printed"
    "$bin/pf-collect" --quiet "$work/run" -o "$work/trace.tar" --truth "$work/truth.csv"
    for method in $methods; do
        "$bin/pf-segment" --quiet "$work/trace.tar" --method "$method" --score "$work/truth.csv" |
            awk -v name="$ranks $name $method" -F': ' '{ value[$1] = $2 }
                END { print name, value["boundary_f1"], value["exact_f1"], value["covering"], value["label_ari"] }'
    done
}

# sections METHOD: how many beginnings and ends of sections with at least a hundredth of the messages METHOD finds, within a
# thousandth of the run or between the last message of one section and the first of the next; and how many stretches it
# makes of how many sections. The end of the run is the end of its last stretch.
sections() {
    "$bin/pf-segment" --quiet "$work/trace.tar" --method "$1" --list >"$work/list.csv"
    awk -v method="$1" -F, '
        FNR == 1 { file++; next }
        file == 1 { start[n] = $1; end = $2; first[n] = $5; last[n] = $6; traffic[n] = $6 != "" ? $6 - $5 + 1 : 0; total += traffic[n++]; next }
        $3 == 0 { found[m] = $4; before[m++] = sum; sum += $6; found[m] = $5; before[m] = sum }
        END {
            for (i = 1; i < n; i++) {
                if (traffic[i] < total / 100 && traffic[i - 1] < total / 100) continue
                wanted++
                for (j = 0; j <= m; j++) {
                    off = found[j] - start[i]
                    between = traffic[i] && traffic[i - 1] && before[j] > last[i - 1] && before[j] <= first[i]
                    if (between || off * off <= end * end / 1e6) { hits++; break }
                }
            }
            printf "%s: %d of %d boundaries of sections, %d stretches for %d sections\n", method, hits, wanted, m, n
        }' "$work/truth.csv" "$work/list.csv"
}

for repeat in $(seq "${REPEATS:-1}"); do
for ranks in 8 16 24; do
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
done
done | tee "$work/table"
awk '{ count[$3]++; for (i = 4; i <= 7; i++) { sum[$3, i] += $i; if (count[$3] == 1 || $i < worst[$3, i]) worst[$3, i] = $i } }
    END { for (name in count) { mean = "mean phases " name; least = "worst phases " name
        for (i = 4; i <= 7; i++) { mean = mean sprintf(" %.3f", sum[name, i] / count[name]); least = least sprintf(" %.3f", worst[name, i]) }
        print mean; print least } }' "$work/table" | sort
if [ -x "$work/stages" ]; then
    measure 8 lammps "$*" "$work/stages" "$here/../tests/data/stages.lammps"
fi
if [ -e "$work/hpccinf.txt" ]; then
    bin=$(realpath "$bin")
    cd "$work"
    for ranks in 4 8; do
        rm -f hpccoutf.txt
        preload="$work/announce.so"
        measure $ranks hpcc "$*" hpcc 2>"$work/announced"
        preload=
        for method in "$@"; do sections "$method"; done
    done
fi
