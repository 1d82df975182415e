#!/bin/sh
# Peak memory of pf-collect and pf-segment: must not grow with the number of messages. Prints `stage messages peak_kB`.
# The last lines are of longer runs, 10^6, 10^7 and 10^8 messages unless arguments say (10^9 need 6 GB in TMPDIR, and as much for
# the copy of what comes down a pipe).
# Needs a release build (PHASEFLOW_BIN, default target/release), GNU time and awk.
set -eu
bin=${PHASEFLOW_BIN:-$(dirname "$0")/../target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# peak NAME MESSAGES COMMAND…: standard input and output are the caller's.
peak() {
    name=$1 messages=$2
    shift 2
    /usr/bin/time -f "%M" -o "$work/peak" "$@"
    echo "$name $messages $(cat "$work/peak")" >&2
}

for messages in 1000000 10000000; do
    # Rounds of 48 and 16 messages, some of them late.
    pattern="(halo2d*30,shift*10)*$((messages / 1600))"
    peak collect-pattern "$messages" "$bin/pf-collect" --pattern "$pattern" --ranks 16 --jitter 1 --noise 0.1 --skew 1ms \
        --truth "$work/truth.csv" -o "$work/trace.tar"
    # 64 ranks, microseconds apart; `shuffled` swaps times far away from each other.
    awk -v n="$messages" 'BEGIN {
        print "t_ns,src,dst,bytes"
        for (i = 0; i < n; i++) printf "%.0f,%d,%d,%d\n", i * 1000, i % 64, (i * 7 + 1) % 64, 1024 + i % 5
    }' >"$work/ordered.csv"
    awk -v n="$messages" 'BEGIN {
        print "t_ns,src,dst,bytes"
        for (i = 0; i < n; i++) printf "%.0f,%d,%d,%d\n", (i * 7919) % n * 1000, i % 64, (i * 7 + 1) % 64, 1024 + i % 5
    }' >"$work/shuffled.csv"
    peak collect-file "$messages" "$bin/pf-collect" "$work/ordered.csv" -o "$work/trace.tar"
    peak collect-pipe "$messages" "$bin/pf-collect" - -o "$work/trace.tar" <"$work/ordered.csv"
    peak collect-file-unordered "$messages" "$bin/pf-collect" "$work/shuffled.csv" -o "$work/trace.tar"
    peak collect-archive "$messages" "$bin/pf-collect" "$work/trace.tar" --summary >"$work/summary"
    peak segment-file "$messages" "$bin/pf-segment" "$work/trace.tar" -o "$work/phases.tar"
    peak segment-pipe "$messages" "$bin/pf-segment" -o "$work/phases.tar" <"$work/trace.tar"
done

# Three kinds of phases in turn on 64 ranks, from the archive to the phase archive with the representatives' messages.
[ $# -gt 0 ] || set -- 1000000 10000000 100000000
for messages; do
    rounds=$((messages / 1536))
    "$bin/pf-collect" --pattern "(halo2d*$rounds,shift*$rounds,transpose*$rounds)*4" --ranks 64 --bytes 16KiB --gap 100us \
        -o "$work/trace.tar"
    peak segment-long-file "$messages" "$bin/pf-segment" "$work/trace.tar" -o "$work/phases.tar"
    peak segment-long-pipe "$messages" "$bin/pf-segment" -o "$work/phases.tar" <"$work/trace.tar"
done
