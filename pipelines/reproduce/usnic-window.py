#!/usr/bin/env python3
"""usNIC: what its window, its credits and its headers leave of 10 Gbit/s.

The design notes say a window of 4096 entries; its code lets 4095 packets be on their way. Over long
round trips that is the limit: window · packet / round trip. An endpoint posts 8 packets a pass, so
slow passes are another limit. Published are these closed forms, and the share of a packet that is
payload. Open MPI cuts a message into fragments of 153 568 bytes, whose 18th packet is short, so that
packets have 8532 bytes in the mean: 4.4 % less than these forms say.
"""

from figure import Figure

figure = Figure(__file__, x="round trip or pass", y="Gbit/s")


def goodput(transport, latency, packets, mtu=9000):
    flow = f"{figure.scratch.name}/flow.csv"
    bytes_sent = (mtu - 76) * packets
    with open(flow, "w") as file:
        file.write(f"src,dst,bytes\n0,1,{bytes_sent}\n")
    results = figure.run("pf-simulate", "--flows", flow, "--model", "packet", "--transport", transport, "--topology",
                         "star[hosts=2]", "--capacity", "10", "--latency", latency, "--switch-latency", "0s", "--mtu", mtu)
    return bytes_sent * 8e-9 / float(figure.rows("runs", results)[0]["makespan_s"])


scale = 4 if figure.quick else 1
for trip, latency in (("100 ms", "25ms"), ("50 ms", "12500us"), ("30 ms", "7500us")):
    # Timers must not run out before the answer can be there.
    figure.add("window of 4095 packets", trip, goodput("usnic-4.1[timeout=1s]", latency, 1_000_000 // scale))
for time, passes in (("100 us", "100us"), ("200 us", "200us"), ("400 us", "400us")):
    figure.add("8 credits a pass", time, goodput(f"usnic-4.1[pass={passes}]", "2500ns", 100_000 // scale))
figure.add("MTU 9000", "10 us", goodput("usnic-4.1", "2500ns", 100_000 // scale))
figure.add("MTU 1500", "10 us", goodput("usnic-4.1", "2500ns", 100_000 // scale, mtu=1500))
figure.finish()
