#!/usr/bin/env bash
# HPC Challenge: PTRANS, HPL, random access, FFT and the rest, one after the other. SIZE is the order of its matrices, default 1000.
#
#   pipelines/gallery/hpcc.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application hpcc hpcc hpcc
# The grid of processes is as square as the number of ranks allows.
rows=$(awk -v n="$ranks" 'BEGIN { for (r = int(sqrt(n)); n % r; r--); print r }')
cat > hpccinf.txt << INPUT
HPLinpack benchmark input file
HPC Challenge
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
${SIZE:-1000} Ns
1            # of NBs
40           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
$rows        Ps
$((ranks / rows)) Qs
16.0         threshold
1            # of panel fact
1            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
INPUT
# It opens its file of results anew for each section, so that lines come when sections begin.
touch hpccoutf.txt
"${reader[@]}" tail -n +1 -f hpccoutf.txt | "${reader[@]}" python3 "$gallery/stamp.py" > sections.log &
record hpcc
kill "$(jobs -p)" 2> /dev/null || true
wait
sections '
  /^Begin of .* section/ { sub(/^Begin of /, ""); sub(/ section.*/, ""); begin($0) }
  /^End of HPC Challenge tests/ { begin("end") }
' sections.log
look
