# Makes, in the current directory, the files that examples of the manual name. Run by tests/manual.rs with the commands on
# PATH; the first argument is the checkout.
set -euo pipefail
root=$1
ln -s "$root/pipelines" pipelines
export PATH="$PWD/bin:$PATH"

pf-collect --quiet --pattern 'halo2d*20,alltoall*5' --ranks 16 --gap 1ms --truth truth.csv -o run.tar.gz
ln -s run.tar.gz run.trace.tar.gz
pf-collect --pattern transpose --ranks 4 -o small.tar.gz
pf-segment run.tar.gz -o phases.tar.gz
pf-segment small.tar.gz -o other.tar.gz
pf-simulate --topology 'xgft[m=4:5,w=1:2]' --slots 2 --write-topology cluster.graphml

simulate() { pf-simulate --quiet phases.tar.gz --topology cluster.graphml "$@"; }
simulate --router dmodk,greedy -o results.tar.gz
simulate --model flow -o before.tar.gz
simulate --model flow --router greedy -o after.tar.gz
for shard in 1 2; do
  simulate --router dmodk,greedy --shard "$shard/2" -o "shard-$shard.tar.gz"
done
# What a sweep leaves that was ended after its first run.
cp shard-1.tar.gz results.tar.gz.partial

printf 'src,dst,bytes,start_ns\n0,1,1000000,0\n2,1,1000000,500000\nh3,h1,4096,0\n' > flows.csv
pf-collect run.tar.gz --to csv > messages.csv
pf-collect run.tar.gz --to ndjson | gzip > messages.ndjson.gz
pf-collect run.tar.gz --to pfprof --gzip > cg-c-128.tar.gz
printf 'topology: cluster.graphml\nrouter: [dmodk, greedy]\njobs:\n  - trace: phases.tar.gz\n  - trace: other.tar.gz\n    at: 5ms\n' \
  > scenario.yml

# Two ranks as liballprof records them.
mkdir traces
for rank in 0 1; do
  call=$([ $rank = 0 ] && echo MPI_Send || echo MPI_Recv)
  status=$([ $rank = 0 ] || echo 0:)
  {
    printf '# hostname: node\n\nMPI_Init:-:1:2:1000\nMPI_Comm_size:1001:94,%s,2:7:1002\n' $rank
    for at in 1100 1200 1300; do
      printf '%s:%s:7:1024:11,8,8:%s:5:94,%s,2:%s%s\n' $call $at $((1 - rank)) $rank "$status" $((at + 20))
    done
    printf 'MPI_Finalize:9000:-\n'
  } > traces/pmpi-trace-rank-$rank.txt
done

# A program under Open MPI, whatever `mpirun` is, and its recordings.
mkdir bin
ln -s /usr/bin/mpirun.openmpi bin/mpirun
ln -s /usr/bin/python3 bin/python3
mpicc.openmpi "$root/tests/mpi/phases.c" -o bin/phases
printf '#!/bin/sh\nexec "%s/bin/phases" halo*10,alltoall*5\n' "$PWD" > app
chmod +x app
pf-profile --quiet -- mpirun -n 2 ./app
