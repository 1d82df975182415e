#!/usr/bin/env python3
"""SwitchML: time of an allreduce of 100 MB against loss, over the time without loss.

8 workers at one switch, 1 µs a link and in the switch, time-out 1 ms. The paper's curve was not to be
had; the values are those of a simulation of the paper's algorithms 3 and 4 by others, a range over
three seeds. Ours are means of three seeds. A lost packet stops its slot for a time-out, and the slots
do not share work, so the slowest slot decides.
"""

from figure import Figure

figure = Figure(__file__, x="loss of a link", y="time / time without loss")
seeds = (1,) if figure.quick else (1, 2, 3)
trace = figure.run("pf-collect", "--pattern", "allreduce", "--ranks", 8, "--bytes", 100_000_000, "--repeat", 1)
phases = figure.run("pf-segment", "--method", "none", data=trace)


def seconds(collective, capacity, loss, seed):
    results = figure.simulate(phases, "--model", "packet", "--collective", collective, "--topology", "star[hosts=8]",
                              "--capacity", capacity, "--latency", "1us", "--switch-latency", "1us", "--loss", loss,
                              "--seed", seed, "--compute-scale", "0")
    return float(figure.rows("runs", results)[0]["makespan_s"])


SERIES = [("10 Gbit/s, k=32", "switchml[k=32,slots=128]", 10), ("100 Gbit/s, k=64", "switchml[k=64,slots=512]", 100)]
for series, collective, capacity in SERIES[1:] if figure.quick else SERIES:
    without = seconds(collective, capacity, 0, 1)
    figure.add(series, 0, 1.0)
    for loss in (1e-4, 1e-3) if figure.quick else (1e-4, 1e-3, 1e-2):
        mean = sum(seconds(collective, capacity, loss, seed) for seed in seeds) / len(seeds)
        figure.add(series, loss, mean / without)
figure.finish(log="xy")
