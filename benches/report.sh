#!/bin/sh
# A report of a large sweep: 96 000 links × 50 phases × 12 runs, 47 million rows of links. Prints time and peak memory of the
# summary, of one table, and of the whole directory; the size of the page; and how many graphs stand beside it.
# Then benches/browse.py times the page in Chromium, if there is one.
# Needs a release build (PHASEFLOW_BIN, default target/release), GNU time and 6 GB in TMPDIR.
set -eu
bin=${PHASEFLOW_BIN:-$(dirname "$0")/../target/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 50 permutations of 16 000 ranks, each larger than the one before: every one loads most links of the tree.
pattern=
for seed in $(seq 50); do
    pattern="$pattern${pattern:+,}permutation[seed=$seed,bytes=$((64 * seed))KiB]"
done
"$bin/pf-collect" --pattern "$pattern" --ranks 16000 --repeat 2 --gap 1ms -o "$work/trace.tar"
"$bin/pf-segment" --method marks "$work/trace.tar" -o "$work/phases.tar"
"$bin/pf-simulate" --quiet "$work/phases.tar" --topology 'fat-tree[k=40]' --process-mapper block,cyclic,random \
    --router dmodk,smodk,random,ecmp -o "$work/results.tar"

# timed NAME COMMAND…: standard output is the caller's.
timed() {
    name=$1
    shift
    /usr/bin/time -f "$name: %e s, %U s of user, %S s of system, %M kB" "$@"
}
timed summary "$bin/pf-report" "$work/results.tar" >"$work/summary.txt"
timed links.csv "$bin/pf-report" "$work/results.tar" --table links >/dev/null
timed directory "$bin/pf-report" "$work/results.tar" -o "$work/report" >"$work/summary.txt"
echo "page: $(stat -c %s "$work/report/index.html") bytes; $(ls "$work/report/graphml" | wc -l) graphs; links.csv: $(wc -l <"$work/report/links.csv") lines" >&2
if command -v chromedriver >/dev/null; then
    "${PYTHON:-python3}" "$(dirname "$0")/browse.py" "$work/report" "${SCREENSHOTS:-$work}" >&2
fi
