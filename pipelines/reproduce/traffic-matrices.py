#!/usr/bin/env python3
"""Traffic matrices of NAS CG and MILC.

The traces of 128 ranks that PFSim publishes, as pf-report draws them. Published is MILC's matrix, as a
picture: a few diagonals, most cells empty. Ours are the share of pairs of ranks that exchange anything
and the share of bytes between ranks at most 16 apart; the document has no numbers for them.
"""

import csv
import io
import sys

from figure import Figure, data

figure = Figure(__file__, x="measure", y="share")
folder = data("PFSIM_DATA", "pfsim")
if folder is None:
    sys.exit("traffic-matrices: NOT MADE: name the folder of PFSim's traces in PFSIM_DATA")
pictures = []
for name in ("cg-c-128", "milc-128"):
    pairs = list(csv.DictReader(io.StringIO(figure.run("pf-collect", folder / f"{name}.tar.gz", "--pairs").decode())))
    cells = [(int(pair["src"]), int(pair["dst"]), int(pair["bytes"])) for pair in pairs]
    total = sum(cell[2] for cell in cells)
    figure.add(name, "pairs that exchange messages", len(cells) / (128 * 127))
    figure.add(name, "bytes between ranks at most 16 apart", sum(cell[2] for cell in cells if abs(cell[0] - cell[1]) <= 16) / total)
    results = figure.run("pf-simulate", folder / f"{name}.tar.gz", "--topology", folder / "milk.graphml")
    report = f"{figure.scratch.name}/{name}"
    figure.run("pf-report", "-o", report, "--plots", "svg", data=results)
    pictures.append(f"{report}/plots/matrix-0.svg")
figure.finish(pictures)
