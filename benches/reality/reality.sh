#!/usr/bin/env bash
# How near both models come to a real network: an alltoall and an allreduce of 8 ranks by Open MPI over TCP on the star of network.sh, and
# the same recorded and simulated. Prints one row a phase and repeat (CSV with `;`), then the medians (Markdown), all in seconds.
#
#   REPEATS=5 MBIT=100 BURST=3000 LIMIT=1000000 benches/reality/reality.sh
#
# In each repeat every kind of run is done once, in turn: a recording by pf-profile on the network, one in the shared memory of one machine, the
# real run with Open MPI as it comes, and one without PUT and with small socket buffers, which uses both directions of a link: requests
# of PUT wait behind what is in the buffers. Models get the rate of the links, 5 us a link (an idle round trip is 20 us), the queue, and no computation, as there is none. Needs root, Open MPI,
# iproute2 and the commands in PHASEFLOW_BIN (default target/release). Ranks poll, so no processor time is left on a quiet machine either; what others took of it
# while a real run lasted is `others_percent`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "${PHASEFLOW_BIN:-$here/../../target/release}")
repeats=${REPEATS:-5} mbit=${MBIT:-100} burst=${BURST:-3000} limit=${LIMIT:-1000000}
# Bytes a pair, alltoalls, bytes of the vector, allreduces.
arguments=(${PROGRAM_ARGUMENTS:-65536 10 1048576 10})
name=pf$$h
work=$(mktemp -d)
trap '"$here/network.sh" down "$name"; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if ! "$here/network.sh" up "$name" "$mbit" "$burst" "$limit" 2>"$work/why"; then
  echo "reality.sh: cannot make namespaces with shaped links here, so nothing is measured: $(tail -1 "$work/why")" >&2
  exit 0
fi
mpicc.openmpi -O1 -o "$work/program" "$here/program.c"
# Starts a command on the host of an address, as ssh would; each has a name of its own, or Open MPI would take them for one.
cat > "$work/agent" <<AGENT
#!/bin/sh
host=\$1; shift
i=\$((\${host##*.} - 1))
exec ip netns exec $name\$i unshare --uts sh -c "hostname node\$i; \$*"
AGENT
chmod +x "$work/agent"
net=10.88.0.0/24
launch="mpirun.openmpi --mca plm_rsh_agent $work/agent --mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl tcp,self \
  --mca btl_tcp_if_include $net --mca oob_tcp_if_include $net --mca mpi_yield_when_idle 1 --bind-to none \
  -H $(seq -s, -f '10.88.0.%g:1' 8) -n 8"

# real REPEAT KIND OPTION...: seconds of both phases
real() {
  local repeat=$1 kind=$2
  shift 2
  read -r _ user nice system idle rest < /proc/stat
  local busy=$((user + nice + system)) before=$((user + nice + system + idle))
  "$work/agent" 10.88.0.1 "$launch $* $work/program ${arguments[*]}" > "$work/said"
  read -r _ user nice system idle rest < /proc/stat
  local passed=$((user + nice + system + idle - before))
  busy=$((user + nice + system - busy))
  # All of it is in ticks.
  awk -v row="$repeat;$kind" -v busy="$busy" -v passed="$passed" -v ticks="$(getconf CLK_TCK)" '
    $1 == "processor" { others = 100 * (busy - $2 * ticks) / passed; next }
    { rows[++n] = row ";" $1 ";" $2 }
    END { for (i = 1; i <= n; i++) printf "%s;%.0f\n", rows[i], others }' "$work/said"
}

# modelled REPEAT SUFFIX COMMAND: seconds of both phases by each model, from a recording by COMMAND; SUFFIX says in the table which
modelled() {
  rm -rf "$work/run" "$work/on-host"
  # The agent hands on the command in one word.
  printf '#!/bin/sh\nexec %s %s\n' "$work/program" "${arguments[*]}" > "$work/on-host"
  chmod +x "$work/on-host"
  $3 "$bin/pf-profile --quiet -o $work/run -- $4 $work/on-host" > "$work/said"
  "$bin/pf-collect" --quiet "$work/run" | "$bin/pf-segment" --quiet --method marks --keep-messages -o "$work/phases.tar"
  local rate common='sampling=off,compute-scale=0'
  rate=$(awk -v mbit="$mbit" 'BEGIN { print mbit / 1000 }')
  local models=("flow[order=connection,$common]" "flow[order=adapter,$common]" "flow[order=none,$common]" "packet[buffer=$limit,$common]")
  # Linux waits at least 200 ms before it sends again.
  local transport=() names=("flow, order=connection" "flow, order=adapter" "flow, order=none" "packet, dctcp")
  for i in "${!models[@]}"; do
    [ "$i" = 3 ] && transport=(--transport 'dctcp[least-timeout=200ms]')
    "$bin/pf-simulate" --quiet "$work/phases.tar" --topology 'star[hosts=8]' --capacity "$rate" --latency 5us --switch-latency 0ns \
      --model "${models[$i]}" "${transport[@]}" | "$bin/pf-report" --quiet --table phases > "$work/phases.csv"
    awk -F, -v row="$1;${names[$i]}$2" '
      NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
      $column["phase"] == 1 { print row ";alltoall;" $column["makespan_s"] ";" }
      $column["phase"] == 2 { print row ";allreduce;" $column["makespan_s"] ";" }' "$work/phases.csv"
  done
}

echo "repeat;kind;phase;seconds;others_percent" | tee "$work/rows"
for repeat in $(seq "$repeats"); do
  modelled "$repeat" "" "$work/agent 10.88.0.1" "$launch"
  modelled "$repeat" " (recorded in shared memory)" "sh -c" "mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 8"
  real "$repeat" "Open MPI"
  real "$repeat" "Open MPI, no PUT, socket buffers of 64 KiB" --mca btl_tcp_flags 1 --mca btl_tcp_sndbuf 65536 --mca btl_tcp_rcvbuf 65536
done | tee -a "$work/rows"
echo
awk -F';' -v about="$mbit Mbit/s, burst $burst bytes, queue $limit bytes; ${arguments[*]}; medians of $repeats, least and most in brackets" '
  NR == 1 { next }
  { if (!(($2) in kinds)) { kinds[$2]; order[++n] = $2 } count[$2, $3]++; value[$2, $3, count[$2, $3]] = $4 }
  function sorted(kind, phase, i, j, swap) {
    for (i = 2; i <= count[kind, phase]; i++) for (j = i; j > 1 && value[kind, phase, j - 1] + 0 > value[kind, phase, j] + 0; j--) {
      swap = value[kind, phase, j]; value[kind, phase, j] = value[kind, phase, j - 1]; value[kind, phase, j - 1] = swap } }
  function median(kind, phase, m) { m = count[kind, phase]; return (value[kind, phase, int((m + 1) / 2)] + value[kind, phase, int(m / 2) + 1]) / 2 }
  END {
    print about "\n"
    print "| seconds | alltoall | allreduce |\n|---|---|---|"
    for (k = 1; k <= n; k++) {
      line = "| " order[k]
      for (p = 1; p <= 2; p++) {
        phase = p == 1 ? "alltoall" : "allreduce"
        sorted(order[k], phase)
        line = line sprintf(" | %.3f (%.3f–%.3f)", median(order[k], phase), value[order[k], phase, 1], value[order[k], phase, count[order[k], phase]])
      }
      print line " |"
    }
  }' "$work/rows"
echo "packets dropped: $("$here/network.sh" drops "$name")"
