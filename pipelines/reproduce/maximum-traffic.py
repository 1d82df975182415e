#!/usr/bin/env python3
"""Highest traffic of a link for NAS CG and MILC under all choices of PFAnalyzer.

128 ranks on the cluster milk, by the scenarios of PFSim as they are. Published are the figures of
PFSim 1.0.0 with linear selection, bytes over capacity. Its paper says what they come to: the dynamic
router takes half of CG's maximum away and 18 % of MILC's. D-mod-K agrees to the byte. Greedy routers
depend on the order of equal paths, so they agree within a per cent or are lower.

The paper's other figure, 22.6 % and 8.3 % of time on a real cluster, is out of reach: the published
traces are sums without times, and the cluster is not to be had.
"""

import sys

from figure import Figure, data

figure = Figure(__file__, x="router", y="highest traffic / capacity")
folder = data("PFSIM_DATA", "pfsim")
if folder is None:
    sys.exit("maximum-traffic: NOT MADE: name the folder of PFSim's traces in PFSIM_DATA")
for trace in ("cg", "milc"):
    results = figure.run("pf-simulate", "--scenario", folder / f"{trace}.yml")
    found = {}
    for row in figure.rows("runs", results):
        router = row["router"].split("[")[0]
        if row["host_selector"] == "linear":
            found[row["process_mapper"], router] = float(row["max_congestion"])
    for (mapper, router), congestion in found.items():
        figure.add(f"{trace} {mapper}", router, congestion)
    saved = 1 - min(found["block", "greedy"], found["block", "greedy-max"]) / found["block", "dmodk"]
    figure.add(f"{trace}: share that the dynamic router takes away", "block", saved)
figure.finish(log="y")
