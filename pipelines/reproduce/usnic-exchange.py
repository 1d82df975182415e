#!/usr/bin/env python3
"""usNIC: bandwidth of Exchange on 32 ranks by size, around the eager limit.

The design notes list "BW hole in -np 32 Exchange on 32 nodes, dip right at eager limit" as not
understood, without numbers. As in the Intel MPI Benchmarks, each rank sends to both neighbours and
receives from both; the bandwidth is four times the size over the time of a round. 10 Gbit/s, MTU 9000,
eager up to 153 544 bytes. Above it ob1 asks the receiver first.
"""

from figure import Figure

figure = Figure(__file__, x="bytes of a message", y="MB/s of a rank")
EAGER = 153_544  # bytes of a message that usNIC sends at once, docs/models-usnic.md
ROUNDS = 5 if figure.quick else 20
sizes = [65536, 131072, EAGER - 1, EAGER, EAGER + 1, 163840, 196608, 262144, 524288, 1048576]
if not figure.quick:
    sizes = [1024, 4096, 16384, *sizes]
for transport in ("usnic-4.1", "usnic-2013"):
    for size in sizes:
        trace = figure.run("pf-collect", "--pattern", "exchange", "--ranks", 32, "--bytes", size, "--repeat", ROUNDS)
        phases = figure.run("pf-segment", "--method", "none", "--keep-messages", data=trace)
        results = figure.simulate(phases, "--model", "packet", "--transport", transport, "--topology", "star[hosts=32]",
                                  "--capacity", "10", "--latency", "1us", "--switch-latency", "1us", "--mtu", "9000",
                                  "--compute-scale", "0", "--sampling", "off")
        seconds = float(figure.rows("runs", results)[0]["makespan_s"])
        figure.add(transport, size, 4 * size * ROUNDS / seconds / 1e6)
figure.finish(log="x")
