#!/usr/bin/env python3
"""usNIC: goodput of one flow against the loss of packets.

100 000 packets of MTU 9000 over 10 Gbit/s, a round trip of 10 µs, passes of 0.5 µs. The design notes
list loss as not yet tested, so there is no published curve; the values are those of a simulation of
the same rules by others. A flow that has lost one packet goes on resending 7 to 9 % of its packets.
When the first loss comes is random, which matters at a loss of 0.0001.
"""

from figure import Figure

figure = Figure(__file__, x="loss of a packet", y="Gbit/s")
bytes_sent = 8924 * (10_000 if figure.quick else 100_000)
flow = f"{figure.scratch.name}/flow.csv"
with open(flow, "w") as file:
    file.write(f"src,dst,bytes\n0,1,{bytes_sent}\n")
SERIES = {
    "fast retransmit": "usnic-4.1[pass=500ns]",
    "timers of 5 ms only": "usnic-4.1[pass=500ns,fast-retransmit=off]",
    "timers of 100 ms only": "usnic-4.1[pass=500ns,fast-retransmit=off,timeout=100ms]",
}
for series, transport in SERIES.items():
    for loss in (0, 1e-4, 1e-3, 1e-2):
        # A packet passes two links, and each may lose it.
        results = figure.run("pf-simulate", "--flows", flow, "--model", "packet", "--transport", transport, "--topology",
                             "star[hosts=2]", "--capacity", "10", "--latency", "2500ns", "--switch-latency", "0s",
                             "--mtu", "9000", "--loss", loss / 2)
        seconds = float(figure.rows("runs", results)[0]["makespan_s"])
        figure.add(series, loss, bytes_sent * 8e-9 / seconds)
figure.finish(log="x")
