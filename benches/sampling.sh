#!/bin/bash
# How far phases from samples (`--sampling on`) are from those of the whole run, whether their error estimates cover that, and how much faster
# they are: the phase archive as pf-segment writes it against one with all messages (`--keep-messages`, `--sampling off`); whole processes, one thread, processor time.
# Prints a line for each run, `name messages phases error % estimate % covered seconds-off seconds-on ratio`, where error is the largest of a
# phase and estimate the largest one, then all phases of all runs together. Needs a release build (PHASEFLOW_BIN, default target/release) and
# Python; recorded runs need Open MPI.
# Usage: [SEEDS="1 2 3"] benches/sampling.sh [NAME...]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${PHASEFLOW_BIN:-$here/target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
names=" $* "

# wanted NAME
wanted() { [ "$names" = "  " ] || [[ "$names" == *" $1 "* ]]; }

# compare NAME TRACE NETWORK [OPTION OF pf-segment...]
compare() {
    local name=$1 trace=$2 network=$3
    shift 3
    "$bin/pf-segment" --quiet "$trace" "$@" -o "$work/on.tar"
    "$bin/pf-segment" --quiet "$trace" "$@" --keep-messages -o "$work/off.tar"
    for sampling in off on; do
        TIMEFORMAT='%U %S'
        { time "$bin/pf-simulate" --quiet --threads 1 "$work/$sampling.tar" --topology "$network" --model "flow[sampling=$sampling]" -o "$work/$sampling.results"; } \
            2>"$work/$sampling.time"
        "$bin/pf-report" --quiet "$work/$sampling.results" --table phases >"$work/$sampling.csv"
    done
    python3 - "$name" "$work" "$("$bin/pf-collect" --summary "$trace" | sed -n 's/^messages: //p')" <<'PYTHON'
import csv, sys
name, work, messages = sys.argv[1:]
rows = {kind: {row["phase"]: row for row in csv.DictReader(open(f"{work}/{kind}.csv"))} for kind in ("on", "off")}
seconds = {kind: sum(map(float, open(f"{work}/{kind}.time").read().split())) for kind in ("on", "off")}
found = []
for phase, row in rows["on"].items():
    on, off = float(row["makespan_s"]), float(rows["off"][phase]["makespan_s"])
    estimate = float(row["makespan_error"] or "inf")
    if off > 0:
        found.append((abs(on / off - 1), estimate, abs(on - off) <= estimate * on + 1e-9 * off))
with open(f"{work}/all", "a") as all_phases:
    for error, estimate, covered in found:
        print(error, estimate, int(covered), file=all_phases)
errors, estimates, covered = zip(*found)
print(f"{name:20} {messages:>9} {len(found):3} {100 * max(errors):7.2f} {100 * max(estimates):7.2f} {sum(covered):3} "
      f"{seconds['off']:8.3f} {seconds['on']:7.3f} {seconds['off'] / seconds['on']:6.1f}", flush=True)
PYTHON
}

# generated NAME RANKS NETWORK PATTERN [OPTION OF pf-collect...], with each of SEEDS.
generated() {
    local name=$1 ranks=$2 network=$3 pattern=$4
    shift 4
    wanted "$name" || return 0
    for seed in ${SEEDS:-1 2 3}; do
        "$bin/pf-collect" --quiet --pattern "$pattern" --ranks "$ranks" --seed $seed "$@" -o "$work/trace.tar"
        compare "$name.$seed" "$work/trace.tar" "$network" --method marks
    done
}

# recorded NAME RANKS PROGRAM
recorded() {
    wanted "$1" || return 0
    rm -rf "$work/run"
    "$bin/pf-profile" --quiet -o "$work/run" -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$2" "$work/phases" -c 50 "$3" >"$work/log"
    "$bin/pf-collect" --quiet "$work/run" -o "$work/trace.tar"
    compare "$1" "$work/trace.tar" 'fat-tree[k=4]'
}

tapered='xgft[m=4:4,w=1:2]'
wanted lammps && compare lammps "$here/tests/data/recordings/lammps.trace.tar.gz" 'fat-tree[k=4]'
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -O1 -o "$work/phases" "$here/tests/mpi/phases.c"; then
    recorded mpi-phases 8 'halo*200,alltoall*60,transpose*200,hotspot:1024*200'
    recorded mpi-loop 8 '(halo*20,allreduce:64*20)*500'
fi
# 10 000 rounds of each pattern, or 10 000 times both of two.
generated shift 16 "$tapered" 'shift*10000' --gap 20us --jitter 0.5
generated halo 16 'star[hosts=16]' 'halo2d*10000' --gap 20us --jitter 0.5
generated halo-tapered 16 "$tapered" 'halo2d*10000' --gap 20us --jitter 0.5
generated halo-noise 16 "$tapered" 'halo2d*10000' --gap 50us --jitter 0.5 --noise 0.05
generated halo-drift 16 "$tapered" 'halo2d*10000' --gap 20us --jitter 0.3 --drift 1
generated alltoall 16 "$tapered" 'alltoall*10000' --gap 200us --jitter 0.5
generated random 16 "$tapered" 'random*10000' --gap 10us --jitter 0.5
generated sweep 16 'fat-tree[k=4]' 'sweep*10000' --gap 10us --jitter 0.5
generated ring-shift 16 "$tapered" '(allreduce,shift)*10000' --gap 20us
generated ring-halo 16 "$tapered" '(allreduce,halo2d)*10000' --gap 20us --jitter 0.5
generated ring-halo-3000 16 "$tapered" '(allreduce,halo2d)*3000' --gap 20us --jitter 0.5
generated halo-alltoall 16 'fat-tree[k=4]' '(halo2d*20,alltoall*5)*500' --gap 50us --jitter 1 --skew 20us
generated three 16 "$tapered" 'halo2d*10000,shift*10000,alltoall*2000' --gap 20us --jitter 0.2
generated cube 27 'xgft[m=9:3,w=1:3]' '(halo3d*30,allreduce*2,idle[time=1ms])*300' --gap 30us --jitter 0.5
# Loops of the same.
generated clean-shift 16 "$tapered" 'shift*10000' --gap 20us
generated clean-ring 16 "$tapered" 'allreduce*10000' --gap 20us
generated clean-pair 16 "$tapered" '(halo2d*20,alltoall*5)*500' --gap 50us
python3 - "$work/all" <<'PYTHON'
import statistics, sys
rows = [tuple(map(float, line.split())) for line in open(sys.argv[1])]
errors, estimates, covered = zip(*rows)
print(f"{len(rows)} phases, covered {100 * sum(covered) / len(rows):.1f} %, median error {100 * statistics.median(errors):.2f} %, "
      f"median estimate {100 * statistics.median(estimates):.2f} %, error at most 2 %: {100 * sum(e <= 0.02 for e in errors) / len(rows):.1f} %")
PYTHON
