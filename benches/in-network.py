#!/usr/bin/env python3
"""What a network that sums is worth when jobs share it: prints the tables of docs/models-packet.md.

    benches/in-network.py [DIRECTORY-OF-THE-COMMANDS]

Each job sums 4 MB tensors over 8 workers, one after the other, without computing. All jobs hang at one switch, 100 Gbit/s and 1 us a link, with a host
for a server each. Throughput is what a worker gets summed, mean over the jobs. Memory is given as a share of what all jobs need: a job
of ATP keeps its window of 200 packets in the switch, one of SwitchML the slots that fill its links.
"""

import csv
import io
import subprocess
import sys
import tempfile

BIN = (sys.argv[1] if len(sys.argv) > 1 else "target/release") + "/"
TENSOR, TENSORS, WORKERS = 4_000_000, 4, 8
WINDOW = 256  # packets that a job of ATP has under way (window=)
SLOTS = 256  # packets that a job of SwitchML has under way


def command(name, *arguments, data=b""):
    done = subprocess.run([BIN + name, *arguments], input=data, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout


trace = command("pf-collect", "--pattern", "allreduce", "--ranks", str(WORKERS), "--bytes", str(TENSOR), "--repeat", str(TENSORS))
phases = tempfile.NamedTemporaryFile(suffix=".tar")
phases.write(command("pf-segment", "--method", "none", data=trace))
phases.flush()


def throughput(collective, jobs, loss=0.0):
    """Gbit/s of gradients that a worker gets summed; None if the protocol does not end."""
    options = ["--model", "packet", "--compute-scale", "0", "--capacity", "100", "--latency", "1us", "--switch-latency", "0s"]
    options += ["--topology", f"star[hosts={jobs * (WORKERS + 1)}]", "--collective", collective, "--transport", "roce"]
    if loss:
        options += ["--loss", str(loss)]
    results = command("pf-simulate", *options, *[phases.name] * jobs)
    rows = csv.DictReader(io.StringIO(command("pf-report", "--table", "jobs", data=results).decode()))
    times = [float(row["run_s"]) for row in rows]
    return sum(TENSOR * TENSORS * 8 / time for time in times) / len(times) / 1e9


def table(title, head, rows):
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |", flush=True)


ATP = f"atp[window={WINDOW}"
SWITCHML = "switchml[k=64"
COLLECTIVES = {"ring": "ring", "ps": "ps", "switchml": f"{SWITCHML},slots={SLOTS}]", "atp": f"{ATP}]"}
JOBS = [1, 2, 4, 8]
SHARES = [1.0, 0.75, 0.5, 0.25]
LOSSES = [0, 1e-4, 1e-3, 1e-2]

table("Jobs that share a switch with memory for all, Gbit/s", ["collective", *map(str, JOBS)],
      [(name, [throughput(text.replace("k=64", f"k=64,jobs={jobs}").replace(f"slots={SLOTS}", f"slots={SLOTS * jobs}"), jobs)
               for jobs in JOBS]) for name, text in COLLECTIVES.items()])

jobs = 8
dynamic = [throughput(f"{ATP},aggregators={int(jobs * WINDOW * share)}]", jobs) for share in SHARES]
static = [throughput(f"{ATP},aggregators={int(jobs * WINDOW * share)},sharing=static,jobs={jobs}]", jobs) for share in SHARES]
switchml = [throughput(f"{SWITCHML},slots={int(jobs * SLOTS * share)},jobs={jobs}]", jobs) for share in SHARES]
table("8 jobs, by the share of the memory that they need", ["sharing", *(f"{share:.0%}" for share in SHARES)],
      [("atp, shared by hash", dynamic), ("atp, divided among jobs", static), ("switchml, divided among jobs", switchml)])

table("One job, by the probability that a link loses a packet", ["collective", *(f"{loss:g}" for loss in LOSSES)],
      [(name, [throughput(text, 1, loss) for loss in LOSSES]) for name, text in COLLECTIVES.items()])

WORKERS_SET = [2, 4, 8, 16, 32]
rows = []
for name in ("ring", "switchml"):
    cells = []
    for WORKERS in WORKERS_SET:
        trace = command("pf-collect", "--pattern", "allreduce", "--ranks", str(WORKERS), "--bytes", str(TENSOR), "--repeat", str(TENSORS))
        phases.seek(0)
        phases.truncate()
        phases.write(command("pf-segment", "--method", "none", data=trace))
        phases.flush()
        cells.append(throughput(COLLECTIVES[name], 1))
    rows.append((name, cells))
table("One job, by the number of workers", ["collective", *map(str, WORKERS_SET)], rows)
