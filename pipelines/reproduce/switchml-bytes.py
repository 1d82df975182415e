#!/usr/bin/env python3
"""SwitchML: bytes on a worker's link for an allreduce, against a ring.

A worker of a switch that sums sends its vector once and receives the sum once. In a ring it sends
2 (p - 1) / p of it. Published are these two numbers of the paper. Those of the switch count headers
here: a packet of 32 elements takes 204 bytes of the wire, 128 of which are numbers.
"""

from figure import Figure

figure = Figure(__file__, x="workers", y="bytes of a worker's link / bytes of its vector")
SIZE = 10_000_000
for workers in (2, 4, 8, 16):
    trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", workers, "--bytes", SIZE, "--repeat", 1)
    phases = figure.run("pf-segment", "--method", "none", data=trace)
    for series, collective in (("switchml", "switchml"), ("ring", "ring")):
        results = figure.simulate(phases, "--model", "packet", "--collective", collective, "--transport", "ideal",
                                  "--topology", f"star[hosts={workers}]", "--capacity", "10", "--compute-scale", "0")
        links = figure.rows("links", results)
        sent = max(float(row["bytes"]) for row in links if row["src"].startswith("h"))
        figure.add(series, workers, sent / SIZE)
figure.finish()
