#!/bin/sh
# Flow lists in SimGrid and here: whole processes, and how far the ends of the flows are apart. Prints
# `list simgrid_ms ours_ms ratio makespan_simgrid_ms makespan_ours_ms makespan_rtt_ms furthest_end_rtt furthest_end_maxmin`; times are
# user and system time, the least of three; ends are compared as parts of SimGrid's. Needs libsimgrid-dev, Python and
# `cargo build --release -p phaseflow-simulate --example flows`.
# Usage: benches/peers/simgrid.sh [LIST.csv...] (hosts of a fat tree m=4,4,8 w=1,4,4; SHAPE_M and SHAPE_W say otherwise)
set -eu
here=$(dirname "$0")
export FLOWS="${FLOWS:-$here/../../target/release/examples/flows}" SHAPE_M="${SHAPE_M:-4,4,8}" SHAPE_W="${SHAPE_W:-1,4,4}"
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
g++ -O2 "$here/simgrid.cpp" -lsimgrid -o "$WORK/simgrid"
[ $# -gt 0 ] || set -- "$here"/../../../shared/data/flows/*.csv
exec_python() { python3 - "$@" <<'PYTHON'
import os, resource, subprocess, sys

work, flows = os.environ["WORK"], os.environ["FLOWS"]
m, w = os.environ["SHAPE_M"], os.environ["SHAPE_W"]
tree = f"xgft[m={m.replace(',', ':')},w={w.replace(',', ':')}]"

def spent(command):
    def one():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return min(one() for _ in range(3)) * 1e3

def ends(name):
    with open(f"{work}/{name}") as lines:
        return [float(line) for line in lines]

print("list simgrid_ms ours_ms ratio makespan_simgrid_ms makespan_ours_ms makespan_rtt_ms furthest_end_rtt furthest_end_maxmin")
for path in sys.argv[1:]:
    ours = [flows, tree, path, "--capacity", "100"]
    peer = [f"{work}/simgrid", path, m, w, "12.5e9", "1e-6"]
    for command in (peer + [f"{work}/peer"], ours + ["--ends", f"{work}/maxmin"],
                    ours + ["--fairness", "rtt", "--ends", f"{work}/rtt"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs, maxmin, rtt = ends("peer"), ends("maxmin"), ends("rtt")
    apart = lambda found: max(abs(a - b) / b for a, b in zip(found, theirs))
    a, b = spent(peer), spent(ours)
    name = os.path.basename(path).removesuffix(".csv")
    spans = " ".join(f"{max(times) * 1e3:.6f}" for times in (theirs, maxmin, rtt))
    print(f"{name} {a:.1f} {b:.1f} {a / b:.1f} {spans} {apart(rtt):.1e} {apart(maxmin):.1e}")
PYTHON
}
exec_python "$@"
