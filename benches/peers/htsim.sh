#!/bin/sh
# Permutations of 1 MiB a host in htsim and here, on fat trees of 128 and 1 024 hosts with 100 Gbit/s and 1 us a link, packets of 4 096
# bytes: CPU seconds of whole processes, in turn, medians. Prints
# `hosts | engine | seconds | packet_hops_per_s | last_end_us | ratio`; the ratio is htsim's seconds over ours with the like transport:
# RoCE with routes by hash beside `roce` with `ecmp`, and the sprayed NDP beside `dctcp` sprayed.
# Builds htsim in its checkout. Needs g++, make, Python and a release build (PHASEFLOW_BIN names another folder of commands).
# Usage: benches/peers/htsim.sh HTSIM (a checkout of Broadcom/csg-htsim); ROUNDS is the number of turns, 3.
set -eu
[ $# = 1 ] || { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
htsim=$(cd "$1" && pwd)/sim
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -C "$htsim" -j2 > "$work/make.log" 2>&1 && make -C "$htsim/datacenter" -j2 htsim_roce htsim_ndp >> "$work/make.log" 2>&1 || {
  tail -n 20 "$work/make.log" >&2
  exit 1
}
HTSIM=$htsim/datacenter WORK=$work BIN=${PHASEFLOW_BIN:-$here/../../target/release} python3 - << 'PYTHON'
import csv, os, random, re, statistics, subprocess

BYTES, PACKET = 1 << 20, 4096
peer, work, ours = os.environ["HTSIM"], os.environ["WORK"], os.environ["BIN"]

def run(command):
    """CPU seconds and standard output of a process."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=work, text=True) as child:
        said = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command}: {said[-500:]}")
    return used.ru_utime + used.ru_stime, said

def flow_ends():
    with open(f"{work}/ends.csv", newline="") as file:
        return max(float(row["end_s"]) for row in csv.DictReader(file)) * 1e6

print("hosts | engine | seconds | packet_hops_per_s | last_end_us | ratio")
for hosts, k in ((128, 8), (1024, 16)):
    draw = random.Random(hosts)
    others = list(range(hosts))
    while any(a == b for a, b in enumerate(others)):
        draw.shuffle(others)
    with open(f"{work}/list.csv", "w") as file:
        file.writelines(f"{src},{dst},{BYTES}\n" for src, dst in enumerate(others))
    with open(f"{work}/list.cm", "w") as file:
        file.write(f"Nodes {hosts}\nConnections {hosts}\n")
        file.writelines(f"{src}->{dst} start 0 size {BYTES}\n" for src, dst in enumerate(others))
    def links(src, dst):
        # Between hosts of one switch, of one pod, of two pods.
        return 2 if src // (k // 2) == dst // (k // 2) else 4 if src // (k * k // 4) == dst // (k * k // 4) else 6
    hops = sum(links(*pair) for pair in enumerate(others)) * BYTES // PACKET
    common = ["-nodes", str(hosts), "-tm", "list.cm", "-linkspeed", "100000", "-mtu", str(PACKET), "-hop_latency", "1", "-end", "20000", "-paths", "128",
              "-o", "log"]
    here = [f"{ours}/pf-simulate", "--quiet", "--flows", "list.csv", "--topology", f"fat-tree[k={k}]", "--capacity", "100", "--latency", "1us",
            "--switch-latency", "0s", "--model", "packet", "--ends", "ends.csv", "-o", "results.tar.gz"]
    pairs = [
        ("htsim RoCE", [f"{peer}/htsim_roce", *common, "-strat", "ecmp_host"],
         "ours roce, ecmp", [*here, "--transport", "roce", "--mtu", str(PACKET), "--paths", "ecmp"]),
        ("htsim NDP", [f"{peer}/htsim_ndp", *common, "-strat", "perm"],
         "ours dctcp, sprayed", [*here, "--transport", "dctcp", "--mtu", str(PACKET), "--paths", "spray"]),
    ]
    for their_name, theirs, our_name, own in pairs:
        turns = [(run(theirs), run(own), flow_ends()) for _ in range(int(os.environ.get("ROUNDS", 3)))]
        times = [statistics.median(turn[side][0] for turn in turns) for side in (0, 1)]
        found = [float(end) for end in re.findall(r"finished at (?:time )?([0-9.]+)", turns[0][0][1])]
        ends = [f"{max(found):.0f}" if found else "", f"{turns[0][2]:.0f}"]
        for side, name in ((0, their_name), (1, our_name)):
            ratio = f"{times[0] / times[1]:.1f}" if side else ""
            print(f"{hosts} | {name} | {times[side]:.3f} | {hops / times[side] / 1e6:.2f} M | {ends[side]} | {ratio}")
PYTHON
