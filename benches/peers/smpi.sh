#!/bin/sh
# Makespans of recorded runs in the flow model and in SimGrid's SMPI (3.32, Debian's libsimgrid-dev), equal parameters: a star of
# 100 Gbit/s and 1 us a link, no overheads, all messages eager, no order among them. Needs a release build, Open MPI, HPCC, mpi4py.
# COMPUTE_SCALE (default 1) multiplies computation, so that the network decides.
# usage: smpi.sh NAME RANKS COMMAND…
set -eu
name=$1 ranks=$2 scale=${COMPUTE_SCALE:-1}
shift 2
here=$(dirname "$0")/../..
bin=${PHASEFLOW_BIN:-$here/target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/pf-profile" --quiet -o "$work/run" -- mpirun --oversubscribe -n "$ranks" "$@" >"$work/log" 2>&1
"$bin/pf-collect" --quiet "$work/run" | "$bin/pf-segment" --quiet --method none --keep-messages -o "$work/phases.tar"
ours=$("$bin/pf-simulate" --quiet "$work/phases.tar" --topology "star[hosts=$ranks,slots=1]" --capacity 100 --latency 1us --switch-latency 0ns \
    --model 'flow[order=none,sampling=off,eager=1GiB,compute-scale='$scale']' | "$bin/pf-report" --quiet --table runs | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["makespan_s"])')
"$bin/examples/ti" "$work/phases.tar" "$work/ti" >"$work/log"
cat >"$work/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="h" suffix="" radical="0-$((ranks - 1))" speed="$(awk -v scale="$scale" 'BEGIN { printf "%.0f", 1e9 / scale }')f" bw="12.5GBps" lat="1us" sharing_policy="SPLITDUPLEX"/>
</platform>
XML
seq 0 $((ranks - 1)) | sed 's/^/h/' >"$work/hosts"
theirs=$(smpirun -np "$ranks" -hostfile "$work/hosts" -platform "$work/platform.xml" -replay "$work/ti/ti.txt" \
    --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 \
    --cfg=smpi/bw-factor:1 --cfg=smpi/lat-factor:1 --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 \
    --cfg=smpi/async-small-thresh:2147483647 --cfg=smpi/send-is-detached-thresh:2147483647 \
    --cfg=smpi/display-timing:yes 2>&1 | sed -n 's/.*Simulated time: \([0-9.e+-]*\) seconds.*/\1/p')
echo "$name $ranks $ours $theirs" | awk '{ printf "| %s, %d ranks | %.6f | %.6f | %+.2f %% |\n", $1, $2, $3, $4, 100 * ($3 / $4 - 1) }'
