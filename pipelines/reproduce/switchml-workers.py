#!/usr/bin/env python3
"""SwitchML: elements a second against the number of workers, beside a ring.

100 Gbit/s with RDMA, as in the figure of the authors' repository, whose values are read off to about
1 %. The network sums at the rate of a link whatever the number of workers. The repository's other
curve is NCCL's ring over RDMA. NCCL's ring reaches half of what a ring's bytes allow, and ours is
that bound: hosts that copy and wait are not modelled. SwitchML at hosts loses the same per cents.
"""

from figure import Figure

figure = Figure(__file__, x="workers", y="10⁹ elements a second")
size = 10_000_000 if figure.quick else 100_000_000
for series, collective in (("switchml, rdma", "switchml[framing=rdma,slots=512]"), ("ring", "ring")):
    for workers in (4, 8, 16):
        trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", workers, "--bytes", size, "--repeat", 1)
        phases = figure.run("pf-segment", "--method", "none", data=trace)
        results = figure.simulate(phases, "--model", "packet", "--collective", collective, "--transport", "roce",
                                  "--topology", f"star[hosts={workers}]", "--capacity", "100", "--latency", "1us",
                                  "--switch-latency", "1us", "--compute-scale", "0")
        figure.add(series, workers, size / 4e9 / float(figure.rows("runs", results)[0]["makespan_s"]))
figure.finish()
