#!/usr/bin/env python3
"""What a network that sums is worth when jobs share it: prints the tables of docs/shared-switch.md.

    benches/in-network.py [DIRECTORY-OF-THE-COMMANDS]

Each job sums 4 MB tensors over 8 workers, one after the other. All jobs hang at one switch, 1 us a link, with a host for a server each. Throughput is
what a worker gets summed, mean over the jobs. Memory is given as a share of what the windows of all jobs fill: a job of ATP has 256 packets under way at first, one of
SwitchML as many slots.
"""

import csv
import io
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BIN = (sys.argv[1] if len(sys.argv) > 1 else "target/release") + "/"
TENSOR, TENSORS, WORKERS = 4_000_000, 4, 8
WINDOW = 256  # packets that a job has under way
FOLDER = tempfile.TemporaryDirectory()
RUNS = ThreadPoolExecutor(os.cpu_count())


def command(name, *arguments, data=b""):
    done = subprocess.run([BIN + name, *arguments], input=data, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout


def program(workers=WORKERS, gap="0s", tensors=TENSORS):
    """The program of a job: tensors one after the other, with computation in between. Returns the path of its phases."""
    path = f"{FOLDER.name}/{workers}-{gap}-{tensors}.tar"
    if not os.path.exists(path):
        trace = command("pf-collect", "--pattern", "allreduce", "--ranks", str(workers), "--bytes", str(TENSOR),
                        "--repeat", str(tensors), "--gap", gap)
        with open(path, "wb") as file:
            file.write(command("pf-segment", "--method", "none", data=trace))
    return path


def star(jobs, host_gbps, loss=0):
    """A switch with hosts of `host_gbps` and, behind them, servers of 100 Gbit/s; the first host's link to the switch loses packets."""
    path = f"{FOLDER.name}/{jobs}-{host_gbps}-{loss}.graphml"
    capacities = [host_gbps] * (jobs * WORKERS) + [100] * jobs

    def link(a, b, capacity, lost=0):
        return f'<edge source="{a}" target="{b}"><data key="c">{capacity}</data><data key="l">{lost}</data></edge>'

    hosts = "".join(f'<node id="h{i:03}"><data key="t">host</data><data key="s">1</data></node>'
                    + link(f"h{i:03}", "s", capacity, 0 if i else loss) + link("s", f"h{i:03}", capacity)
                    for i, capacity in enumerate(capacities))
    with open(path, "w") as file:
        file.write('<graphml><key id="t" for="node" attr.name="typ"/><key id="s" for="node" attr.name="capacity"/>'
                   '<key id="c" for="edge" attr.name="capacity"/><key id="l" for="edge" attr.name="loss"/>'
                   f'<graph edgedefault="directed"><node id="s"><data key="t">switch</data></node>{hosts}</graph></graphml>')
    return path


def throughput(collective, jobs, loss=0.0, phases=None, workers=WORKERS, network=None, tensors=TENSORS):
    """Gbit/s of gradients that a worker gets summed, computation included; `phases` are one path, or one for each job."""
    network = ["--topology", network] if network else ["--topology", f"star[hosts={jobs * (workers + 1)}]", "--capacity", "100"]
    options = [*network, "--model", "packet", "--latency", "1us", "--switch-latency", "0s", "--loss", str(loss),
               "--collective", collective, "--transport", "roce", "--threads", "1", "--quiet"]
    if not isinstance(phases, list):
        phases = [phases or program(workers)] * jobs
    results = command("pf-simulate", *options, *phases)
    rows = csv.DictReader(io.StringIO(command("pf-report", "--table", "jobs", data=results).decode()))
    times = [float(row["run_s"]) for row in rows]
    return sum(TENSOR * tensors * 8 / time for time in times) / len(times) / 1e9


def table(title, head, rows):
    """Prints a table; a cell is the arguments of a run."""
    cells = [(name, [RUNS.submit(throughput, **cell) for cell in row]) for name, row in rows]
    print(f"\n{title}\n\n| {' | '.join(map(str, head))} |\n|{'---|' * len(head)}")
    for name, row in cells:
        print(f"| {name} | {' | '.join(f'{cell.result():.1f}' for cell in row)} |", flush=True)


def switchml(share, jobs):
    return f"switchml[k=64,slots={int(WINDOW * jobs * share)},jobs={jobs}]"


def atp(share, jobs):
    return f"atp[window={WINDOW},aggregators={int(WINDOW * jobs * share)}]"


def public(share, jobs):
    return atp(share, jobs)[:-1] + ",profile=code]"


def divided(share, jobs):
    return atp(share, jobs)[:-1] + f",sharing=static,jobs={jobs}]"


def public_divided(share, jobs):
    return public(share, jobs)[:-1] + f",sharing=static,jobs={jobs}]"


NAMES = {switchml: "switchml, divided among jobs", atp: "atp, shared by hash", public: "atp, public code, shared by hash",
         divided: "atp, divided among jobs", public_divided: "atp, public code, divided among jobs"}
JOBS = [1, 2, 4, 8]
LOSSES = [0, 1e-4, 1e-3, 1e-2]
SHARES = [1.0, 0.5, 0.25, 0.125]

# Made before runs at the same time share them.
for workers in (2, 4, 8, 16, 32):
    program(workers)

for loss in LOSSES:
    rows = [(name, [dict(collective=name, jobs=jobs, loss=loss) for jobs in JOBS]) for name in ("ring", "ps")]
    for make in (switchml, divided, atp, public):
        shares = (1.0, 0.5, 0.25) if make in (switchml, divided) else (4.0, 1.0, 0.5, 0.25)
        rows += [(f"{NAMES[make]}, memory {share:g}", [dict(collective=make(share, jobs), jobs=jobs, loss=loss) for jobs in JOBS])
                 for share in shares]
    table(f"Loss {loss:g} a link, by the number of jobs", ["collective", *JOBS], rows)

jobs = 8
for gap, there, title in (("1ms", 8, "8 jobs that compute 1 ms after each tensor"), ("0s", 2, "2 of 8 jobs are there")):
    table(f"{title}, by memory", ["sharing", *(f"{share:g}" for share in SHARES)],
          [(NAMES[make], [dict(collective=make(share, jobs), jobs=there, phases=program(gap=gap)) for share in SHARES])
           for make in (atp, public, divided, public_divided, switchml)])

out_of_step = [program(gap=f"{1000 + 170 * job}us", tensors=12) for job in range(jobs)]
table("8 jobs out of step, that compute 1 to 2.2 ms after each tensor, by memory", ["sharing", *(f"{share:g}" for share in SHARES)],
      [(NAMES[make], [dict(collective=make(share, jobs), jobs=jobs, phases=out_of_step, tensors=12) for share in SHARES])
       for make in (atp, public, divided, public_divided, switchml)])

WIDE = [4.0, 2.0, 1.0, 0.5, 0.25, 0.125]
for gbps in (60, 40, 20):
    table(f"8 jobs whose hosts have links of {gbps} Gbit/s, servers of 100, by memory", ["sharing", *(f"{share:g}" for share in WIDE)],
          [(NAMES[make], [dict(collective=make(share, jobs), jobs=jobs, network=star(jobs, gbps)) for share in WIDE])
           for make in (atp, public, divided)])

EACH = [("ring", "ring"), ("ps", "ps"), ("switchml", switchml(1.0, 1)), ("atp", atp(4.0, 1)), ("atp, public code", public(4.0, 1))]
table("One job, one worker of which loses packets on its way to the switch", ["collective", *LOSSES],
      [(name, [dict(collective=text, jobs=1, network=star(1, 100, loss)) for loss in LOSSES]) for name, text in EACH])

COUNTS = [2, 4, 8, 16, 32]
table("One job, by the number of workers", ["collective", *COUNTS],
      [(name, [dict(collective=text, jobs=1, workers=workers) for workers in COUNTS])
       for name, text in (("ring", "ring"), ("switchml", switchml(1.0, 1)))])
