#!/usr/bin/env python3
"""Segmentation: a program that does A, then B, then A, then B.

Recursive splitting looks for the boundary at which both sides differ most. With A-B-A-B both sides of
every boundary have the same mixture, so it finds none or stops early. A halo exchange and an alltoall
of 16 ranks by turns, times with 5 % of jitter. A perfect answer has an F1 of 1 and two labels. There
is no published number, only the statement.
"""

from figure import Figure

figure = Figure(__file__, x="times A-B", y="F1 of boundaries")
for turns in (1, 8) if figure.quick else (1, 2, 8, 32, 64):
    truth, trace = (f"{figure.scratch.name}/{turns}.{end}" for end in ("csv", "tar"))
    rounds = 2000 // turns
    figure.run("pf-collect", "--pattern", f"(halo2d*{rounds},alltoall*{rounds // 10})*{turns}", "--ranks", 16, "--jitter", "0.05",
               "--truth", truth, "-o", trace)
    for method in ("rounds", "jsd", "kmeans"):
        text = figure.run("pf-segment", trace, "--method", method, "--level", "leaf", "--score", truth).decode()
        scores = dict(line.split(": ") for line in text.splitlines() if ": " in line)
        figure.add(method, turns, float(scores["boundary_f1"]))
figure.finish(log="x")
