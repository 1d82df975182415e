#!/usr/bin/env python3
"""Segmentation: methods side by side on labelled runs.

F1 of boundaries, Covering and adjusted Rand index, as means over runs that nobody here made or tuned
on. Published are the means of a comparison by others on 88 synthetic traces, whose recursive splitting
by Jensen-Shannon divergence stands for Alawneh et al. (2016). These are other runs, harder ones: the
order of methods is what can be compared, not their level.
"""

import sys

from figure import Figure, data

figure = Figure(__file__, x="measure", y="mean over runs")
folder = data("LABELLED_RUNS", "segmentation")
if folder is None:
    sys.exit("segmentation-methods: NOT MADE: name a folder of NAME.trace.tar.gz and NAME.truth.csv in LABELLED_RUNS")
MEASURES = {"boundary_f1": "F1", "covering": "Covering", "label_ari": "ARI"}
traces = sorted(folder.glob("*.trace.tar.gz"))[:: 6 if figure.quick else 1]
for method in ("rounds", "jsd", "kmeans", "dbscan", "gmm"):
    sums = dict.fromkeys(MEASURES, 0.0)
    for trace in traces:
        truth = folder / trace.name.replace(".trace.tar.gz", ".truth.csv")
        text = figure.run("pf-segment", trace, "--method", method, "--level", "leaf", "--score", truth).decode()
        scores = dict(line.split(": ") for line in text.splitlines() if ": " in line)
        for measure in MEASURES:
            sums[measure] += float(scores[measure])
    for measure, name in MEASURES.items():
        figure.add(method, name, sums[measure] / len(traces))
figure.finish()
