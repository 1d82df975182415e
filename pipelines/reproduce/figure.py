"""A figure of a document, made again: what every script of this folder does alike.

A script adds points, each with what PhaseFlow gives; `published.csv` has what the document gives for
the same series and x. `finish` writes `table.csv`, `picture.svg` and `line.csv` into the folder of
the figure, and prints the line: the point that differs most from its published value.
"""

import argparse
import ast
import csv
import io
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def data(variable, below):
    """A folder of inputs that do not come with the repository, or None where it is absent."""
    folder = Path(os.environ.get(variable, HERE.parents[2] / "shared/data" / below))
    return folder if folder.is_dir() else None


class Figure:
    """One figure. `script` is the script's `__file__`: its name is the figure's, its docstring the text."""

    def __init__(self, script, x, y):
        parser = argparse.ArgumentParser(description=ast.get_docstring(ast.parse(Path(script).read_text())))
        parser.add_argument("output", nargs="?", default="phaseflow-reproduction", help="folder of all figures")
        parser.add_argument("--quick", action="store_true", help="fewer and smaller points")
        arguments = parser.parse_args()
        self.name, self.quick, self.x, self.y = Path(script).stem, arguments.quick, x, y
        self.folder = Path(arguments.output) / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.points = []
        self.scratch = tempfile.TemporaryDirectory()
        with open(HERE / "published.csv", newline="") as file:
            self.published = {(row["series"], row["x"]): row for row in csv.DictReader(file) if row["figure"] == self.name}

    def run(self, *command, data=None, quiet=True):
        """Standard output of a command of PhaseFlow, or of another one with `quiet=False`."""
        words = [str(word) for word in command] + (["--quiet"] if quiet else [])
        done = subprocess.run(words, input=data, capture_output=True)
        if done.returncode:
            sys.exit(f"{self.name}: {' '.join(words)}: {done.stderr.decode()}")
        return done.stdout

    def rows(self, table, results):
        """A table of pf-report as dictionaries."""
        text = self.run("pf-report", "--table", table, data=results).decode()
        return list(csv.DictReader(io.StringIO(text)))

    def simulate(self, source, *options):
        """Results of pf-simulate for a file, or for the bytes of an archive."""
        given = {"data": source} if isinstance(source, bytes) else {}
        return self.run("pf-simulate", *([] if given else [source]), *options, **given)

    def add(self, series, x, ours):
        """A point. `ours` is None where PhaseFlow has no value."""
        self.points.append((str(series), x, ours))

    def compared(self):
        """All points with what is published: series, x, least, most, ours, ratio to the middle."""
        for series, x, ours in self.points:
            row = self.published.get((series, f"{x:g}" if isinstance(x, (int, float)) else x))
            least, most = (float(row["least"]), float(row["most"])) if row else (None, None)
            comparable = row and ours is not None and least + most > 0
            yield series, x, least, most, ours, ours / ((least + most) / 2) if comparable else None

    def finish(self, pictures=(), log=""):
        """Writes all; `pictures` are files that stand for a chart, `log` names axes, as "xy"."""
        rows = list(self.compared())
        with open(self.folder / "table.csv", "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["series", self.x, "published_least", "published_most", "ours", "ratio"])
            for series, x, least, most, ours, ratio in rows:
                table.writerow([series, x, *map(text, (least, most, ours, ratio))])
        if pictures:
            for number, picture in enumerate(pictures):
                name = f"picture-{number}.svg" if len(pictures) > 1 else "picture.svg"
                (self.folder / name).write_bytes(Path(picture).read_bytes())
        else:
            self.chart(rows, log)
        judged = [row for row in rows if row[5]]
        line = [self.name, "", "", ""]
        if judged:
            series, x, least, most, ours, ratio = max(judged, key=lambda row: abs(math.log(row[5])))
            published = text(least) if least == most else f"{text(least)}-{text(most)}"
            line = [f"{self.name}: {series}, {self.x} {x}", published, text(ours), f"{ratio:.3f}"]
        with open(self.folder / "line.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(line)
        csv.writer(sys.stdout, lineterminator="\n").writerow(line)

    def chart(self, rows, log):
        import matplotlib

        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = self.name  # the same bytes each time
        import matplotlib.pyplot as plot

        places = sorted({row[1] for row in rows}) if all(isinstance(row[1], (int, float)) for row in rows) else list(
            dict.fromkeys(row[1] for row in rows))
        # Axes of names, and logarithmic ones with a zero on them, are evenly spaced.
        even = isinstance(places[0], str) or ("x" in log and places[0] == 0)
        at = {place: number if even else place for number, place in enumerate(places)}
        figure, axes = plot.subplots(figsize=(7, 4.5), layout="constrained")
        for number, series in enumerate(dict.fromkeys(row[0] for row in rows)):
            colour = f"C{number % 10}"
            ours = [(at[row[1]], row[4]) for row in rows if row[0] == series and row[4] is not None]
            axes.plot(*zip(*ours), "o-" if len(ours) > 1 else "o", color=colour, markersize=3, label=series)
            theirs = [(at[row[1]], row[2], row[3]) for row in rows if row[0] == series and row[2] is not None]
            for place, least, most in theirs:
                axes.errorbar(place, (least + most) / 2, (most - least) / 2, fmt="s", color=colour, markersize=8,
                              markerfacecolor="none", capsize=4)
        if any(row[2] is not None for row in rows):
            axes.plot([], [], "s", color="grey", markerfacecolor="none", label="published")
        if even:
            axes.set_xticks(list(at.values()), [str(place) for place in places], rotation=20 if len(places) > 5 else 0)
        elif "x" in log:
            axes.set_xscale("log")
        if "y" in log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(self.folder / "picture.svg", metadata={"Date": None})


def text(value):
    """A number in six digits; unknown is empty."""
    return "" if value is None else f"{value:.6g}"
