#!/usr/bin/env python3
"""Snapshots of the traffic of all links at chosen times, and forwarding tables.

The document describes snapshots as GraphML at arbitrary times, and forwarding tables for OpenFlow; its
program has the tables only. CG's scenario on milk, with snapshots at 100 and 500 s and the routes of
D-mod-K. Ours are the number of links in a snapshot's file and of entries in all tables. Expected are the links
of milk: 20 hosts and 4 · 2 pairs of switches, in both directions.
"""

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from figure import Figure, data

figure = Figure(__file__, x="what", y="number")
folder = data("PFSIM_DATA", "pfsim")
if folder is None:
    sys.exit("snapshots: NOT MADE: name the folder of PFSim's traces in PFSIM_DATA")
tables = Path(figure.scratch.name) / "tables"
results = figure.run("pf-simulate", "--scenario", folder / "cg.yml", "--snapshot", "100s,500s",
                     "--forwarding-tables", tables)

report = Path(figure.scratch.name) / "report"
figure.run("pf-report", "-o", report, "--plots", "svg", data=results)
SPACE = "{http://graphml.graphdrawing.org/xmlns}"
for time in (100, 500):
    (file := figure.folder / f"snapshot-{time}.graphml").write_bytes((report / f"graphml/0-snapshot-{time}.graphml").read_bytes())
    root = xml.parse(file).getroot()
    figure.add("links in a snapshot", f"{time} s", len(root.findall(f"{SPACE}graph/{SPACE}edge")))
# Each switch has a table: one line for each pair of hosts that a route through it joins.
first = sorted(tables.iterdir())[0]
(figure.folder / "forwarding.yml").write_bytes(first.read_bytes())
switches = [line for line in first.read_text().splitlines() if not line.startswith(" ")]
figure.add("switches with a table", "first job", len(switches))
figure.finish([report / "plots/links-0.svg"])
