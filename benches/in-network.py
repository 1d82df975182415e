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


phases = tempfile.NamedTemporaryFile(suffix=".tar")


def program(workers=WORKERS, gap="0s"):
    """Makes the program of a job: tensors one after the other, with computation in between."""
    trace = command("pf-collect", "--pattern", "allreduce", "--ranks", str(workers), "--bytes", str(TENSOR),
                    "--repeat", str(TENSORS), "--gap", gap)
    phases.seek(0)
    phases.truncate()
    phases.write(command("pf-segment", "--method", "none", data=trace))
    phases.flush()


def throughput(collective, jobs, loss=0.0, workers=WORKERS):
    """Gbit/s of gradients that a worker gets summed, computation included."""
    options = ["--model", "packet", "--capacity", "100", "--latency", "1us", "--switch-latency", "0s"]
    options += ["--topology", f"star[hosts={jobs * (workers + 1)}]", "--collective", collective, "--transport", "roce"]
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
COLLECTIVES = {"ring": "ring", "ps": "ps", "switchml": f"{SWITCHML},slots={SLOTS}]", "atp": f"{ATP}]",
               "atp, public code": f"{ATP},profile=code]"}
JOBS = [1, 2, 4, 8]
SHARES = [1.0, 0.5, 0.25, 0.125]
LOSSES = [0, 1e-4, 1e-3, 1e-2]

program()
table("Jobs that share a switch with memory for all, Gbit/s", ["collective", *map(str, JOBS)],
      [(name, [throughput(text.replace("k=64", f"k=64,jobs={jobs}").replace(f"slots={SLOTS}", f"slots={SLOTS * jobs}"), jobs)
               for jobs in JOBS]) for name, text in COLLECTIVES.items()])

jobs = 8
for gap, there, title in (("0s", 8, "8 jobs that do nothing but sum"), ("1ms", 8, "8 jobs that compute 1 ms after each tensor"),
                          ("0s", 2, "2 of 8 jobs are there, and do nothing but sum")):
    program(gap=gap)
    memory = [int(jobs * WINDOW * share) for share in SHARES]
    slots = [int(jobs * SLOTS * share) for share in SHARES]
    table(f"{title}, by the share of the memory that they need, Gbit/s", ["sharing", *(f"{share:g}" for share in SHARES)],
          [("atp, shared by hash", [throughput(f"{ATP},aggregators={rows}]", there) for rows in memory]),
           ("atp, public code, shared by hash", [throughput(f"{ATP},profile=code,aggregators={rows}]", there) for rows in memory]),
           ("atp, divided among jobs", [throughput(f"{ATP},aggregators={rows},sharing=static,jobs={jobs}]", there) for rows in memory]),
           ("switchml, divided among jobs", [throughput(f"{SWITCHML},slots={count},jobs={jobs}]", there) for count in slots])])

program()
table("One job, by the probability that a link loses a packet, Gbit/s", ["collective", *(f"{loss:g}" for loss in LOSSES)],
      [(name, [throughput(text, 1, loss) for loss in LOSSES]) for name, text in COLLECTIVES.items()])

COUNTS = [2, 4, 8, 16, 32]


def by_workers(name):
    for workers in COUNTS:
        program(workers)
        yield throughput(COLLECTIVES[name], 1, workers=workers)


table("One job, by the number of workers, Gbit/s", ["collective", *map(str, COUNTS)],
      [(name, list(by_workers(name))) for name in ("ring", "switchml")])
