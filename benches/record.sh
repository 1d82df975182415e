#!/usr/bin/env bash
# Records a program of tests/data/recordings anew: `benches/record.sh NAME` writes NAME.trace.tar.gz here and prints the scores of the default
# method. Needs Open MPI, and the commands in PHASEFLOW_BIN (default target/release).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "${PHASEFLOW_BIN:-$here/../target/release}")
out=$PWD/${1:?usage: benches/record.sh NAME}.trace.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=8 program=
case $1 in
  sequence) program='halo*200,alltoall*60,transpose*200,hotspot:1024*200' ;;
  turns) program='halo*100,alltoall*30,halo*100,alltoall*30,halo*100' ;;
  loop) program='shift*100,(halo*20,allreduce:64*20)*6,transpose*100' ;;
  few-rounds) program='halo*200,hotspot:512*15,halo*200,alltoall:256*8,halo*200' ;;
  idle) program='alltoall*40,idle:30,halo*200,idle:30,alltoall*40,idle:30,shift*200' ;;
  ranks-16) ranks=16 program='alltoall*20,shift*150,halo*80' ;;
  ranks-24) ranks=24 program='halo*40,alltoall*8,halo*40' ;;
  hpcc) ranks=4 ;;
  training) ;;
  eigenvector) ranks=16 ;; # tests/data/quickstart.trace.tar.gz; needs numpy
  *) echo "record.sh: no program is called $1" >&2; exit 2 ;;
esac
cd "$work"
profile=("$bin/pf-profile" --quiet -o run -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks")
if [ -n "$program" ]; then
  mpicc.openmpi -O1 -o phases "$here/../tests/mpi/phases.c"
  "${profile[@]}" ./phases -c 50 "$program" > /dev/null
elif [ "$1" = hpcc ]; then
  mpicc.openmpi -shared -fPIC -O1 -o announce.so "$here/../tests/mpi/announce.c" -ldl
  sed 's/^1000 *Ns/100 Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt
  LD_PRELOAD="$work/announce.so" "${profile[@]}" hpcc > /dev/null
elif [ "$1" = eigenvector ]; then
  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "${profile[@]}" "${PYTHON:-/usr/bin/python3}" "$here/../pipelines/eigenvector.py" 3 48
else
  "${profile[@]}" "${PYTHON:-/usr/bin/python3}" "$here/../pipelines/training.py" 2 6
fi
case $1 in training | eigenvector) truth=() ;; *) truth=(--truth truth.csv) ;; esac
"$bin/pf-collect" --quiet run "${truth[@]}" -o trace.tar
gzip -9nc trace.tar > "$out"
[ ${#truth[@]} = 0 ] || "$bin/pf-segment" --quiet trace.tar --score truth.csv
