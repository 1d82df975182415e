#!/usr/bin/env python3
"""ATP: throughput by the number of aggregators, shared by jobs or divided among them.

8 jobs of 8 workers at one switch. Demand is what the windows of all jobs fill. Published: half of the
aggregators cost 5 to 10 %, and sharing is up to 38 % better than a static division.

Where hosts fill their links this is not reached. A packet without an aggregator goes to the server
with those of 7 other workers, so the server's link is full once a few per cent of packets do. Where
hosts fill a fifth of their links, half of the aggregators cost nothing. The paper's workers had 100
Gbit/s links too, but GPUs and hosts that did not fill them. Sharing wins where jobs are out of step.
"""

from figure import Figure

figure = Figure(__file__, x="aggregators / demand", y="throughput / throughput with plenty")
TENSOR, WORKERS, WINDOW = 4_000_000, 8, 256
jobs = 4 if figure.quick else 8
tensors = 4 if figure.quick else 12


def network(gbps):
    """A switch with hosts of a rate and, behind them, servers of 100 Gbit/s."""
    path = f"{figure.scratch.name}/{gbps}.graphml"
    edges = []
    for host in range(jobs * (WORKERS + 1)):
        capacity = gbps if host < jobs * WORKERS else 100
        edges += [f'<node id="h{host:03}"><data key="t">host</data><data key="s">1</data></node>']
        edges += [f'<edge source="{a}" target="{b}"><data key="c">{capacity}</data></edge>'
                  for a, b in ((f"h{host:03}", "s"), ("s", f"h{host:03}"))]
    with open(path, "w") as file:
        file.write('<graphml><key id="t" for="node" attr.name="typ"/><key id="s" for="node" attr.name="capacity"/>'
                   '<key id="c" for="edge" attr.name="capacity"/><graph edgedefault="directed">'
                   f'<node id="s"><data key="t">switch</data></node>{"".join(edges)}</graph></graphml>')
    return path


def program(gap_us):
    path = f"{figure.scratch.name}/{gap_us}.tar"
    trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", WORKERS, "--bytes", TENSOR, "--repeat", tensors,
                       "--gap", f"{gap_us}us")
    figure.run("pf-segment", "--method", "none", "-o", path, data=trace)
    return path


def throughput(programs, topology, aggregators, sharing):
    results = figure.run("pf-simulate", *programs, "--model", "packet", "--transport", "roce", "--topology", topology,
                         "--latency", "1us", "--switch-latency", "0s", "--collective",
                         f"atp[window={WINDOW},aggregators={aggregators},sharing={sharing}]")
    return sum(1 / float(row["run_s"]) for row in figure.rows("jobs", results)) / jobs


full, fifth = network(100), network(20)
out_of_step = [program(1000 + 170 * job) for job in range(jobs)]
CASES = [("full links", [program(0)] * jobs, full), ("a fifth of the links", [program(0)] * jobs, fifth),
         ("out of step", out_of_step, full)]
ratios = []
for series, programs, topology in CASES:
    plenty = throughput(programs, topology, 8 * WINDOW * jobs, "dynamic")
    for share in (2.0, 1.0, 0.5, 0.25):
        shared, divided = (throughput(programs, topology, int(WINDOW * jobs * share), sharing) / plenty
                           for sharing in ("dynamic", f"static,jobs={jobs}"))
        figure.add(f"{series}, shared", share, shared)
        figure.add(f"{series}, divided", share, divided)
        ratios.append(shared / divided)
figure.add("best gain of sharing over division", 0.5, max(ratios))
figure.finish(log="x")
