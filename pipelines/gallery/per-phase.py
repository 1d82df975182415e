"""The hottest link of the hottest phase against the average over the run, from tables of pf-report.

    python3 per-phase.py DIRECTORY

Reads DIRECTORY/tables/NAME+NETWORK+TABLE.csv as per-phase.sh leaves them. Writes DIRECTORY/per-phase.csv, with a row for each
recording, network and router, and DIRECTORY/per-phase.svg. Prints a summary.

A phase counts if it takes at least 1 % of the run: a shorter one can be a single burst. Columns:

- phase, title, time: the phase whose hottest link has the highest load (bytes a second), and its share of the run
- peak, merged: the load of that link, and of the hottest link of the average, in bytes a second
- ratio: peak / merged, the factor that the average hides
- peak_link, merged_link: these links; of equal ones, the first
- other: 1 if each hottest link of the average has less than 99 % of the peak in the hottest phase, else 0
- found: the load of the average's hottest link in the hottest phase, as a share of the peak
- long, elsewhere: how many phases count, and in how many of them each hottest link of the average has less than 99 % of their peak
- ratio_any: the ratio if phases of any length count
"""

import csv
import math
import statistics
import sys
from pathlib import Path

SHORTEST = 0.01  # of the run
EQUAL = 0.999  # of the highest load: links that share the work differ by rounding alone
FOUND = 0.99  # of the peak: a link with this much is as good an answer as the hottest one
COLUMNS = "recording,network,router,phases,phase,title,time,peak,merged,ratio,peak_link,merged_link,other,found,long,elsewhere,ratio_any"


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def loads(links):
    """Load of each link, by run and phase."""
    found = {}
    for row in links:
        link = f"{row['src']} → {row['dst']}"
        found.setdefault((row["run"], row["phase"]), {})[link] = float(row["load"])
    return found


def compare(recording, network, folder):
    runs, phases, links = (rows(folder / f"{recording}+{network}+{table}.csv") for table in ("runs", "phases", "links"))
    load = loads(links)
    for router in dict.fromkeys(run["router"] for run in runs):
        segmented, merged = (
            next(run["run"] for run in runs if run["router"] == router and run["phases"] == kind)
            for kind in ("segmented", "merged")
        )
        of_run = [row for row in phases if row["run"] == segmented]
        total = sum(float(row["duration_s"]) for row in of_run)
        average = next((load[key] for key in load if key[0] == merged), {})
        if not average or not total:
            continue
        top = max(average.values())
        named = [link for link, value in average.items() if value >= EQUAL * top]
        # A phase of barriers loads no link.
        busy = [(max(load.get((segmented, row["phase"]), {"": 0.0}).values()), row) for row in of_run]
        busy = [own for own in busy if own[0] > 0]
        long = [(value, row) for value, row in busy if float(row["duration_s"]) >= SHORTEST * total]
        if not long:
            continue
        peak, hottest = max(long, key=lambda own: own[0])

        def share(phase, named=named, segmented=segmented):
            """Load of the average's hottest links in this phase, as a share of its own peak."""
            in_phase = load[segmented, phase]
            return max(in_phase.get(link, 0) for link in named) / max(in_phase.values())

        in_phase = load[segmented, hottest["phase"]]
        found = share(hottest["phase"])
        yield {
            "recording": recording,
            "network": network,
            "router": router,
            "phases": len(of_run),
            "phase": hottest["phase"],
            "title": hottest["title"],
            "time": f"{float(hottest['duration_s']) / total:.4f}",
            "peak": f"{peak:.0f}",
            "merged": f"{top:.0f}",
            "ratio": f"{peak / top:.4g}",
            "peak_link": next(link for link, value in in_phase.items() if value >= EQUAL * peak),
            "merged_link": named[0],
            "other": int(found < FOUND),
            "found": f"{found:.3f}",
            "long": len(long),
            "elsewhere": sum(share(row["phase"]) < FOUND for _, row in long),
            "ratio_any": f"{max(value for value, _ in busy) / top:.4g}",
        }


def summary(table):
    def line(name, own):
        ratios = [float(row["ratio"]) for row in own]
        other = sum(row["other"] for row in own)
        least = min(float(row["found"]) for row in own)
        elsewhere = sum(row["elsewhere"] for row in own) / sum(row["long"] for row in own)
        print(
            f"{name},{len(own)},{statistics.median(ratios):.2f},{max(ratios):.2f},{other / len(own):.0%},{least:.2f},{elsewhere:.0%}"
        )

    print("of,cases,ratio_median,ratio_worst,other_link,found_least,phases_elsewhere")
    line("all", table)
    for column in ("network", "router", "recording"):
        for name in dict.fromkeys(row[column] for row in table):
            line(name, [row for row in table if row[column] == name])


def draw(table):
    """A row for each recording, the highest median first; a dot for each case, filled where the average names another link."""
    of = {}
    for row in table:
        of.setdefault(row["recording"], []).append(row)
    order = sorted(of, key=lambda name: (-statistics.median(float(row["ratio"]) for row in of[name]), name))
    step, left, width = 15, 150, 480
    top, bottom = 40, 40 + step * len(order)
    decades = max(float(row["ratio"]) for row in table)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if tick <= decades * 1.01]

    end = max(math.log(decades), math.log(2)) * 1.03

    def x(ratio):
        return left + width * max(math.log(ratio), 0) / end

    size = f"{left + width + 20} {bottom + 24}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{left}" y="14">Peak load by phases, as a multiple of the peak of the average</text>',
        f'<circle cx="{left + 5}" cy="25" r="3.5" fill="none" stroke="#036"/><text x="{left + 14}" y="29">same link</text>',
        f'<circle cx="{left + 85}" cy="25" r="3.5" fill="#c40" stroke="#c40"/><text x="{left + 94}" y="29">the average names another link</text>',
    ]
    for tick in ticks:
        out.append(f'<path d="M{x(tick):.1f} {top - 4}V{bottom}" stroke="#ddd"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle">{tick}</text>')
    for at, name in enumerate(order):
        y = top + step * at + 8
        out.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{name}</text>')
        for row in sorted(of[name], key=lambda row: row["other"]):
            paint = 'fill="#c40" stroke="#c40"' if row["other"] else 'fill="none" stroke="#036"'
            out.append(f'<circle cx="{x(float(row["ratio"])):.1f}" cy="{y}" r="3.5" {paint}/>')
    return "\n".join(out) + "\n</svg>\n"


directory = Path(sys.argv[1])
folder = directory / "tables"
names = sorted({path.name.split("+")[0] for path in folder.glob("*+runs.csv")})
table = [row for name in names for network in ("fat-tree", "dragonfly") for row in compare(name, network, folder)]
if not table:
    sys.exit("per-phase.py: no recording has a phase with messages and time")
with open(directory / "per-phase.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, COLUMNS.split(","), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
(directory / "per-phase.svg").write_text(draw(table))
summary(table)
