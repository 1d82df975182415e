#!/usr/bin/env python3
"""The lab's protocol: seconds of a chunk against loss, by the number of workers.

1 ms a link, a time-out of 1 s. The report has no measurement; the course's harness drops packets with
a probability of 0.3. Values are those of a simulation of the report's rules by others, over links on
which packets have no length. Workers ignore the sum of another chunk here. The report's rule, to send
the chunk again at once, multiplies copies until nobody gets on: docs/models-switchml.md.
"""

from figure import Figure

figure = Figure(__file__, x="loss of a link", y="seconds of a chunk")
chunks = 400 if figure.quick else 4000
for workers in (2, 4, 8):
    trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", workers, "--bytes", 252 * chunks, "--repeat", 1)
    phases = figure.run("pf-segment", "--method", "none", data=trace)
    for loss in (0, 0.01, 0.1, 0.2, 0.3):
        results = figure.simulate(phases, "--model", "packet", "--collective", "switchml-lab[invalid=ignore]", "--topology",
                                  f"star[hosts={workers}]", "--capacity", "1000000", "--latency", "1ms",
                                  "--switch-latency", "0s", "--loss", loss, "--compute-scale", "0")
        figure.add(f"{workers} workers", loss, float(figure.rows("runs", results)[0]["makespan_s"]) / chunks)
figure.finish(log="y")
