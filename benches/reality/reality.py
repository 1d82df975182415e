#!/usr/bin/env python3
"""Predicted against measured makespans: real Open MPI over TCP on shaped namespaces, and the models from one recording.

    benches/reality/reality.py WORK calibrate          a recorded ping-pong on the shaped star: WORK/pingpong-SETTINGS.csv
    benches/reality/reality.py WORK record             each program once on the unshaped star: WORK/PROGRAM.trace.tar
    benches/reality/reality.py WORK measure STAGE...   each program on a network and a mapping: appends to WORK/measured.csv
    benches/reality/reality.py WORK predict            each model: WORK/predicted.csv
    benches/reality/reality.py WORK table              Markdown

STAGE is NETWORK:MAPPING:REPEATS, for example star:block:5, tree:even:5, so that a long measurement can be done in pieces. Environment:
PHASEFLOW_BIN (default target/release), MBIT (100), BURST (5000), LIMIT (4000000), PROGRAMS (all, by comma), SETTINGS (stock or plain:
without PUT, see OPTIONS).

Rates are those of the bucket, with headers. Parameters of the models come from the ping-pong alone: `pipelines/calibrate.py`. Computation is
as recorded. Needs root, Open MPI, iproute2; HPCC's rows need the package hpcc. Where namespaces are not permitted it says so and ends.
"""

import csv
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ.get("PHASEFLOW_BIN", HERE / "../../target/release")).resolve()
MBIT, BURST, LIMIT = (int(os.environ.get(name, value)) for name, value in (("MBIT", 100), ("BURST", 5000), ("LIMIT", 4_000_000)))
SETTINGS = os.environ.get("SETTINGS", "stock")
# Open MPI as it comes, and with sends in place of PUT and socket buffers that hold little in front of what asks for data.
OPTIONS = {"stock": "", "plain": "--mca btl_tcp_flags 1 --mca btl_tcp_sndbuf 65536 --mca btl_tcp_rcvbuf 65536"}
# Rounds, bytes and microseconds of computation; see program.c.
PROGRAMS = {
    "halo": "halo 20 262144 1000",
    "alltoall": "alltoall 8 65536 1000",
    "small": "alltoall 200 4096 500",
    "allreduce": "allreduce 8 1048576 1000",
    "training": "training 1 0 2000",
}
SECTIONS = ["PTRANS", "MPIFFT"]
# By rank: its host. Tree: hosts 0 to 3 are on one side.
MAPPINGS = {"block": [0, 1, 2, 3, 4, 5, 6, 7], "even": [0, 4, 1, 5, 2, 6, 3, 7], "rows": [0, 1, 4, 5, 2, 3, 6, 7]}
# What is predicted and measured: on a star all mappings are alike.
CASES = [("star", "block"), *(("tree", mapping) for mapping in MAPPINGS)]
# One way over a link: a quarter of an idle round trip between two hosts of the star.
LATENCY_US = 5
# What is set of Open MPI's sockets is set of the transport.
TRANSPORTS = {"stock": f"tcp[host-queue={LIMIT}]", "plain": f"tcp[window=64KiB,host-queue={LIMIT}]"}
RENDEZVOUS = {"stock": "put", "plain": "handshake"}
# ompi_info --param btl tcp --level 5: btl_tcp_eager_limit.
EAGER = 65536


def run(command, **options):
    return subprocess.run(command, check=True, text=True, **options)


class Network:
    """The namespaces, as long as the block lasts."""

    def __init__(self, shape, is_shaped):
        self.shape, self.is_shaped, self.name = shape, is_shaped, f"pf{os.getpid()}h"

    def __enter__(self):
        made = subprocess.run([HERE / "network.sh", "up", self.name, self.shape], text=True, capture_output=True)
        if made.returncode:
            self.__exit__()
            reason = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"reality.py: cannot make namespaces here, so nothing is measured: {reason}", file=sys.stderr)
            sys.exit(0)
        if self.is_shaped:
            run([HERE / "network.sh", "shape", self.name, str(MBIT), str(BURST), str(LIMIT)])
        return self

    def __exit__(self, *_):
        run([HERE / "network.sh", "down", self.name])

    def drops(self):
        return int(run([HERE / "network.sh", "drops", self.name], capture_output=True).stdout)

    def mpi(self, work, mapping, program, before=(), preload=()):
        """Runs a program with rank i on the host of the mapping; what it printed."""
        agent = work / "agent"
        # Stands for ssh; each host has a name of its own, or Open MPI would take them for one.
        agent.write_text(
            f'#!/bin/sh\nhost=$1; shift\ni=$((${{host##*.}} - 1))\nexec ip netns exec {self.name}$i unshare --uts sh -c "hostname node$i; $*"\n'
        )
        agent.chmod(0o755)
        net = "10.88.0.0/24"
        hosts = ",".join(f"10.88.0.{host + 1}:1" for host in mapping)
        launch = (
            f"mpirun.openmpi --mca plm_rsh_agent {agent} --mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl tcp,self "
            f"--mca btl_tcp_if_include {net} --mca oob_tcp_if_include {net} --mca mpi_yield_when_idle 1 --bind-to none --map-by node "
            f"{OPTIONS[SETTINGS]} {'' if before else '-x LD_PRELOAD'} -H {hosts} -n {len(mapping)}"
        )
        # pf-profile adds its library to what is preloaded, and hands both on.
        script = work / "launch"
        libraries = ":".join(map(str, [work / "rest.so", *preload]))
        script.write_text(
            f"#!/bin/sh\nexport OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\ncd {work}\n"
            f"exec env LD_PRELOAD={libraries} {' '.join(map(str, before))} {launch} {program}\n"
        )
        script.chmod(0o755)
        first = f"10.88.0.{mapping[0] + 1}"
        done = run([agent, first, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        return done.stdout + done.stderr


def chosen():
    wanted = os.environ.get("PROGRAMS", "")
    names = [*PROGRAMS, *(["hpcc"] if shutil.which("hpcc") else [])]
    return [name for name in names if not wanted or name in wanted.split(",")]


def build(work):
    work.mkdir(parents=True, exist_ok=True)
    run(["mpicc.openmpi", "-O1", "-o", work / "program", HERE / "program.c"])
    run(["cc", "-shared", "-fPIC", "-O1", "-o", work / "rest.so", HERE / "rest.c"])
    if shutil.which("hpcc"):
        run(["mpicc.openmpi", "-shared", "-fPIC", "-O1", "-o", work / "announce.so", HERE / "../../tests/mpi/announce.c", "-ldl"])


def hpcc_input(work):
    """A small problem: PTRANS of 1200, everything else as small as it may be."""
    lines = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text().splitlines()
    lines[5] = "400 Ns"
    lines[10], lines[11] = "2 Ps", "4 Qs"
    lines[32], lines[33] = "1 Number of additional problem sizes for PTRANS", "1200 values of N"
    (work / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    (work / "hpccoutf.txt").unlink(missing_ok=True)


def execute(network, work, mapping, name, before=()):
    """(what, seconds) of a run."""
    if name == "hpcc":
        hpcc_input(work)
        said = network.mpi(work, mapping, "hpcc", before, [work / "announce.so"])
        # mark 3 Begin of PTRANS section. 12.345678
        begins = [line.split() for line in said.splitlines() if line.startswith("mark ")]
        rows = []
        for begin, end in zip(begins, begins[1:]):
            if begin[4] in SECTIONS:
                rows.append((begin[4], float(end[6]) - float(begin[6]), begin[1]))
        return rows
    said = network.mpi(work, mapping, f"{work}/program {PROGRAMS[name]}", before)
    seconds = [float(line.split()[1]) for line in said.splitlines() if line.startswith("seconds ")]
    return [(name, seconds[0], "1")]


def collect(work, name):
    run([BIN / "pf-collect", "--quiet", work / "run", "-o", work / f"{name}.trace.tar"])
    shutil.rmtree(work / "run")


def record(work):
    build(work)
    profile = [BIN / "pf-profile", "--quiet", "--force", "-o", work / "run", "--"]
    levels = {}
    with Network("star", False) as network:
        for name in chosen():
            for what, seconds, level in execute(network, work, MAPPINGS["block"], name, profile):
                levels[what] = level
                print(f"recorded {what}: {seconds:.3f} s", file=sys.stderr)
            collect(work, name)
    with open(work / "levels.csv", "a") as file:
        csv.writer(file).writerows(levels.items())


def calibrate(work):
    build(work)
    profile = [BIN / "pf-profile", "--quiet", "--force", "-o", work / "run", "--"]
    with Network("star", True) as network:
        network.mpi(work, MAPPINGS["block"], f"{work}/program pingpong 20 262144 0", profile)
        print("packets dropped:", network.drops(), file=sys.stderr)
    with open(work / f"pingpong-{SETTINGS}.csv", "w") as file:
        run([BIN / "pf-collect", "--quiet", work / "run", "--to", "csv"], stdout=file)
    shutil.rmtree(work / "run")


def measure(work, stages):
    build(work)
    out = work / "measured.csv"
    for stage in stages:
        shape, mapping, repeats = stage.split(":")
        with Network(shape, True) as network:
            for repeat in range(int(repeats)):
                for name in chosen():
                    for what, seconds, _ in execute(network, work, MAPPINGS[mapping], name):
                        row = f"{SETTINGS},{shape},{mapping},{what},{seconds:.6f}"
                        print(row, file=sys.stderr)
                        with open(out, "a") as file:
                            print(row, file=file)
            print(f"{stage}: packets dropped: {network.drops()}", file=sys.stderr)


def graphml(work, shape):
    """The network of network.sh as a file. What a small message takes is mostly waiting for a rank that sleeps (rest.c), which keeps no rank
    busy; so it is latency of the links of hosts, and not overhead of ranks."""
    path = work / f"{shape}.graphml"
    hosts = [f"h{i}" for i in range(8)]
    sides = {host: "left" if shape == "star" or i < 4 else "right" for i, host in enumerate(hosts)}
    lines = ['<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for key, kind, where in (("typ", "string", "node"), ("slots", "int", "node"), ("capacity", "double", "edge"), ("latency_ns", "long", "edge")):
        lines.append(f'<key id="{key}" for="{where}" attr.name="{key.replace("slots", "capacity")}" attr.type="{kind}"/>')
    lines.append('<graph edgedefault="undirected">')
    lines += [f'<node id="{host}"><data key="typ">host</data><data key="slots">1</data></node>' for host in hosts]
    lines += [f'<node id="{side}"><data key="typ">switch</data></node>' for side in sorted(set(sides.values()))]
    own = calibrated(work)[0] / 2
    edges = [(host, sides[host], 1, own) for host in hosts] + ([("left", "right", 2, LATENCY_US)] if shape == "tree" else [])
    for a, b, factor, latency in edges:
        data = f'<data key="capacity">{factor * MBIT / 1000}</data><data key="latency_ns">{1000 * latency:.0f}</data>'
        lines.append(f'<edge source="{a}" target="{b}">{data}</edge>')
    lines.append("</graph></graphml>")
    path.write_text("\n".join(lines) + "\n")
    return path


def calibrated(work):
    """What pipelines/calibrate.py finds: microseconds of a small message, and the goodput."""
    recorded = open(work / f"pingpong-{SETTINGS}.csv")
    recipe = [HERE / "../../pipelines/calibrate.py", "--capacity", str(MBIT / 1000), "--latency", f"{2 * LATENCY_US}us"]
    said = run([sys.executable, *recipe], stdin=recorded, capture_output=True).stdout
    found = dict(line.split(": ", 1) for line in said.splitlines())
    return float(found["small_message_ns"]) / 1000, min(float(found["goodput"]), 1.0)


def models(work):
    """Options by model."""
    common = ["--eager", str(EAGER), "--rendezvous", RENDEZVOUS[SETTINGS]]
    # Packets have headers of their own.
    packets = [*common, "--transport", TRANSPORTS[SETTINGS], "--buffer", str(LIMIT)]
    return {"flow": [*common, "--goodput", f"{calibrated(work)[1]:.4f}"], "packet": packets, "auto": packets}


def predict(work):
    with open(work / "levels.csv") as file:
        levels = dict(csv.reader(file))
    for name in chosen():
        rows = []
        phases = work / f"{name}.phases.tar"
        run([BIN / "pf-segment", "--quiet", "--method", "marks", "--keep-messages", work / f"{name}.trace.tar", "-o", phases])
        for shape, mapping in CASES:
            hosts = work / f"{mapping}.csv"
            hosts.write_text("".join(f"{rank},h{host}\n" for rank, host in enumerate(MAPPINGS[mapping])))
            network = ["--topology", graphml(work, shape), "--process-mapper", f"file:{hosts}"]
            for model, options in models(work).items():
                simulate = [BIN / "pf-simulate", "--quiet", phases, *network, "--model", model, "--sampling", "off", *options]
                run([*simulate, "-o", work / "results.tar"])
                table = run([BIN / "pf-report", "--quiet", "--table", "phases", work / "results.tar"], capture_output=True).stdout
                found = {row["phase"]: row["makespan_s"] for row in csv.DictReader(table.splitlines())}
                for what in SECTIONS if name == "hpcc" else [name]:
                    rows.append((SETTINGS, shape, mapping, what, model, found[levels[what]]))
                    print(*rows[-1], file=sys.stderr)
        with open(work / "predicted.csv", "a") as file:
            csv.writer(file).writerows(rows)


def table(work):
    """Makespans, errors, and who is right about mappings, as Markdown."""
    measured, predicted = {}, {}
    for settings, shape, mapping, what, seconds in csv.reader(open(work / "measured.csv")):
        measured.setdefault((settings, shape, mapping, what), []).append(float(seconds))
    for settings, shape, mapping, what, model, seconds in csv.reader(open(work / "predicted.csv")):
        predicted[settings, shape, mapping, what, model] = float(seconds)
    print("| settings | program | network, mapping | measured | flow | packet | auto |\n|---|---|---|---|---|---|---|")
    errors = {}
    for (settings, shape, mapping, what), times in sorted(measured.items(), key=lambda item: (item[0][0], item[0][3], item[0][1:3])):
        median = statistics.median(times)
        cells = []
        for model in ("flow", "packet", "auto"):
            guess = predicted[settings, shape, mapping, what, model]
            error = guess / median - 1
            errors.setdefault((settings, model), []).append(abs(error))
            cells.append(f"{guess:.3f} ({100 * error:+.0f} %)")
        print(f"| {settings} | {what} | {shape}, {mapping} | {median:.3f} ({min(times):.3f}–{max(times):.3f}) | {' | '.join(cells)} |")
    print("\n| settings, model | median error | largest | mappings that differ by over 5 % | ordered right |\n|---|---|---|---|---|")
    for (settings, model), found in sorted(errors.items()):
        pairs = right = 0
        for (_, shape, mapping, what), times in (item for item in measured.items() if item[0][0] == settings):
            for other in MAPPINGS:
                against = measured.get((settings, shape, other, what))
                if other <= mapping or not against:
                    continue
                real = statistics.median(times) / statistics.median(against)
                if max(real, 1 / real) > 1.05:
                    pairs += 1
                    guess = predicted[settings, shape, mapping, what, model] / predicted[settings, shape, other, what, model]
                    right += (guess > 1) == (real > 1) and guess != 1
        print(f"| {settings}, {model} | {100 * statistics.median(found):.1f} % | {100 * max(found):.1f} % | {pairs} | {right} |")


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("calibrate", "record", "measure", "predict", "table"):
        sys.exit(__doc__)
    work, action = Path(sys.argv[1]).resolve(), sys.argv[2]
    if action == "measure":
        measure(work, sys.argv[3:])
    else:
        {"calibrate": calibrate, "record": record, "predict": predict, "table": table}[action](work)


if __name__ == "__main__":
    main()
