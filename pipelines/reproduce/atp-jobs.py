#!/usr/bin/env python3
"""ATP: throughput of a job by the number of jobs that share a switch with memory for all.

Each job sums tensors of 4 MB over 8 workers, one after the other, over links of 100 Gbit/s, with a
server of its own. Published is the ceiling that packets of 306 bytes with 248 bytes of numbers allow,
75.2 % of a link, and the paper's claim that one job is up to 8.7 times as fast as over existing
systems; the value is that over the parameter server, which is the slowest of them here.
"""

from figure import Figure

figure = Figure(__file__, x="jobs", y="Gbit/s of gradients that a worker gets summed")
TENSOR, TENSORS, WORKERS = 4_000_000, 4, 8
trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", WORKERS, "--bytes", TENSOR, "--repeat", TENSORS)
path = f"{figure.scratch.name}/job.tar"
figure.run("pf-segment", "--method", "none", "-o", path, data=trace)
rates = {}
for jobs in (1, 2, 4) if figure.quick else (1, 2, 4, 8):
    for series, collective in (("atp", f"atp[window=256,aggregators={1024 * jobs}]"), ("ring", "ring"), ("ps", "ps"),
                               ("switchml, divided", f"switchml[k=64,slots={256 * jobs},jobs={jobs}]")):
        results = figure.run("pf-simulate", *[path] * jobs, "--model", "packet", "--collective", collective, "--transport",
                             "roce", "--topology", f"star[hosts={jobs * (WORKERS + 1)}]", "--capacity", "100", "--latency",
                             "1us", "--switch-latency", "0s")
        times = [float(row["run_s"]) for row in figure.rows("jobs", results)]
        rates[series, jobs] = sum(TENSOR * TENSORS * 8e-9 / time for time in times) / len(times)
        figure.add(series, jobs, rates[series, jobs])
figure.add("atp over ps", 1, rates["atp", 1] / rates["ps", 1])
figure.finish()
