"""The hottest link of each phase on several networks, from pf-report's tables `phases`: CSV on standard output.

    python3 hot-spots.py fat-tree-phases.csv dragonfly-phases.csv

Only the first run of each table counts: its first router and mapping. Phases come longest first.
"""

import csv
import sys

print("network,phase,occurrences,time_s,used,link,title")
for path in sys.argv[1:]:
    network = path.rsplit("/", 1)[-1].removesuffix("-phases.csv")
    with open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == "0"]
    rows.sort(key=lambda row: -float(row["makespan_s"] or 0))
    for row in rows:
        link = f"{row['bottleneck_src']} → {row['bottleneck_dst']}" if row["bottleneck_src"] else ""
        used = f"{float(row['max_utilization']):.3f}" if row["max_utilization"] else ""
        print(",".join([network, row["phase"], row["occurrences"], row["makespan_s"], used, link, '"' + row["title"] + '"']))
