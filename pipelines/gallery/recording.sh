# Sourced by the scripts of the gallery: records an application, takes the truth from its log, and looks at what PhaseFlow says.
#
# A script does, in this order:
#   application NAME PACKAGE PROGRAM...   where a program is missing, the script ends with status 77 and names the Debian package
#   (its input, made in the current directory)
#   record COMMAND...                     under pf-profile and Open MPI; run/, log (each line with its time), trace.tar.gz
#   sections AWK-PROGRAM [LOG [FILE]]     truth.csv: the program reads `ns`, `$0` of each line and calls begin(LABEL) or at(NS, LABEL).
#                                         A second call with FILE inner.csv makes the truth for `leaf`, where a log tells so much
#   look                                  scores, hot spots, choices; one line of CSV on standard output
#
# A script's only argument is OUTPUT-DIRECTORY, default phaseflow-gallery. RANKS is the number of ranks, default 16. With more ranks than
# cores they take turns in real-time round robin where the machine permits it (TURNS=no: never): only there does a rank that waits and
# yields let the others run at once. Quantum ESPRESSO is four times as fast so.
# What is left in OUTPUT-DIRECTORY/NAME: trace.tar.gz, phases.tar, log, truth.csv, list.csv (rows at `auto`), row.csv (the line printed),
# hot-spots.csv, and for each network what pf-report says (NETWORK-choices.txt, NETWORK-phases.csv, NETWORK/index.html).
set -euo pipefail
gallery=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$gallery/../build.sh"
ranks=${RANKS:-16}
out=$(realpath -m "${1:-phaseflow-gallery}")
cores=$(nproc)
# The log's times must not wait for the ranks, so that its reader comes before them.
turns=() reader=()
if [ "${TURNS:-yes}" = yes ] && [ "$ranks" -gt "$cores" ] && chrt -r 2 true 2> /dev/null; then
  turns=(chrt -r 1) reader=(chrt -r 2)
fi
# A container's root may run MPI; threads of libraries would only add to the crowd.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Lines of Fortran programs come when they are written.
export GFORTRAN_UNBUFFERED_PRECONNECTED=y

# application NAME PACKAGE PROGRAM...: goes to an empty directory for it.
application() {
  name=$1
  local program
  for program in "${@:3}"; do
    command -v "$program" > /dev/null && continue
    echo "$name: not run, as $program is not there: apt install $2" >&2
    exit 77
  done
  work=$out/$name
  rm -rf "$work"
  mkdir -p "$work"
  cd "$work"
}

# record COMMAND...: the program unmodified, ranks that wait give their core away. Its lines come through a pipe of their own: through
# mpirun they pass a terminal's worker in the kernel, which ranks in real time would hold up for a second.
record() {
  local status=0 stamping
  mkfifo lines
  "${reader[@]}" python3 "$gallery/stamp.py" < lines > log &
  stamping=$!
  pf-profile --quiet -o run -- "${turns[@]}" mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks" \
    sh -c 'exec stdbuf -oL "$0" "$@" > lines 2>&1' "$@" > lines 2>&1 < /dev/null || status=$?
  wait "$stamping"
  rm lines
  if [ "$status" != 0 ]; then
    tail -n 20 log >&2
    echo "$name: ended with status $status on $ranks ranks; its output is in $work/log" >&2
    exit 1
  fi
  collect
}

# collect: the trace, and the moment on the log's clock when it begins.
collect() {
  pf-collect --quiet run -o trace.tar.gz
  pf-collect trace.tar.gz --summary > summary
  # Byte 72 of a recording: CLOCK_MONOTONIC in MPI_Init (profiler/preload/src/format.rs). That of rank 0 is time 0 of the trace. The run
  # begins when its first rank does, which may be earlier.
  local files=(run/*.0.*.pfr) first_ns
  first_ns=$(tar -xzOf trace.tar.gz summary.json | sed 's/.*"start_ns":\(-\{0,1\}[0-9]*\).*/\1/')
  begin_ns=$(($(od -An -t u8 -j 72 -N 8 --endian=little "${files[0]}") + first_ns))
  duration_ns=$(summary duration_ns)
  [ "$(summary unmatched)" = 0 ] || { echo "$name: unmatched: $(summary unmatched), expected 0" >&2; exit 1; }
  rm -rf run
}

summary() {
  sed -n "s/^$1: //p" summary
}

# sections AWK-PROGRAM: truth.csv from the log. What is before the first section is `start`; sections with one label in a row are one.
sections() {
  awk -F '\t' -v origin="$begin_ns" -v last="$duration_ns" '
    function at(t, name) {
      if (t < 0) t = 0
      if (t > last) t = last
      if (name == label) return
      if (t > from) printf "%.0f,%.0f,%s\n", from, t, label
      from = t; label = name
    }
    function begin(name) { at(ns, name) }
    BEGIN { print "start_ns,end_ns,label"; label = "start"; from = 0 }
    { ns = $1 - origin; $0 = substr($0, length($1) + 2) }
    '"$1"'
    END { if (last > from) printf "%.0f,%.0f,%s\n", from, last, label }
  ' "${2:-log}" > "${3:-truth.csv}"
}

# score LEVEL [TRUTH]: boundary F1, covering, label ARI at this level.
score() {
  pf-segment --quiet trace.tar.gz --level "$1" --score "${2:-truth.csv}" |
    awk -F ': ' '{ value[$1] = $2 } END { printf "%.3f,%.3f,%.3f", value["boundary_f1"], value["covering"], value["label_ari"] }'
}

# near: how many boundaries of the log have one of `auto` within 1 % of the run.
near() {
  awk -F, -v last="$duration_ns" '
    FNR == 1 { file++; next }
    file == 1 && $3 == 0 && $4 > 0 { found[$4] }
    file == 2 && $1 > 0 { for (t in found) if ((t - $1) ^ 2 <= (last / 100) ^ 2) { near++; break } }
    END { print near + 0 }
  ' list.csv truth.csv
}

# look: one line on standard output. Its columns: application, ranks, messages, seconds, unmatched, sections of the log, phases and rows at
# `auto`, then boundary F1, covering and label ARI at `auto`, the same three at `leaf`
# (against inner.csv where it is there), and `near`.
look() {
  pf-segment --quiet trace.tar.gz --list > list.csv
  pf-segment --quiet trace.tar.gz -o phases.tar
  # The networks have a host for each rank. As many ranks share each core of this machine, computation counts for less.
  local scale
  scale=$(awk -v c="$cores" -v r="$ranks" 'BEGIN { s = c / r; print (s > 1 ? 1 : s) }')
  local model=(--model flow --compute-scale "$scale" --capacity 10 --process-mapper block,random,greedy)
  pf-simulate --quiet phases.tar --topology 'fat-tree[k=4]' --router dmodk,greedy "${model[@]}" -o fat-tree.tar
  pf-simulate --quiet phases.tar --topology 'dragonfly[a=2,h=2,p=2]' --router minimal,ugal "${model[@]}" -o dragonfly.tar
  local network
  for network in fat-tree dragonfly; do
    pf-report "$network.tar" --table phases > "$network-phases.csv"
    pf-report "$network.tar" --quiet -o "$network" > "$network-choices.txt"
  done
  python3 "$gallery/hot-spots.py" fat-tree-phases.csv dragonfly-phases.csv > hot-spots.csv
  local truth_sections auto_rows phases
  truth_sections=$(($(wc -l < truth.csv) - 1))
  auto_rows=$(awk -F, 'NR > 1 && $3 == 0' list.csv | wc -l)
  phases=$(awk -F, 'NR > 1 && $3 == 0 && $2 != "idle" { print $2 }' list.csv | sort -u | wc -l)
  local seconds counts scores inner=truth.csv
  [ ! -e inner.csv ] || inner=inner.csv
  seconds=$(awk -v d="$duration_ns" 'BEGIN { printf "%.1f", d / 1e9 }')
  counts="$(summary messages),$seconds,$(summary unmatched),$truth_sections,$phases,$auto_rows"
  scores=$(score auto)
  scores+=,$(score leaf "$inner")
  echo "$name,$ranks,$counts,$scores,$(near)" | tee row.csv
}
