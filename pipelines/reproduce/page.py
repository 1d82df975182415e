#!/usr/bin/env python3
"""The figures that were made again, side by side with what is published.

    page.py FOLDER    writes FOLDER/index.html and prints the table of docs/reproduction.md
"""

import ast
import csv
import html
import re
import sys
from pathlib import Path

here, folder = Path(__file__).resolve().parent, Path(sys.argv[1])
with open(here / "published.csv", newline="") as file:
    published = list(csv.DictReader(file))
STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
img { max-width: 48% } table { border-collapse: collapse; font-size: 14px } td, th { padding: 0 .7em; text-align: left }
td:nth-child(n+3) { text-align: right } section { border-top: 1px solid #bbb; margin-top: 2rem }
"""
parts = []
print("| figure | the point that differs most | published | ours | ratio |\n|---|---|---|---|---|")
for place in sorted(path.parent for path in folder.glob("*/line.csv")):
    name = place.name
    with open(place / "line.csv", newline="") as file:
        label, *numbers = next(csv.reader(file))
    point = label.partition(": ")[2] or "no number is published"
    print(f"| `{name}` | {point} | {' | '.join(numbers)} |")
    text = ast.get_docstring(ast.parse((here / f"{name}.py").read_text()))
    title, _, rest = text.partition("\n\n")
    sources = sorted({f"{row['source']}, {row['place']} ({row['read']})" for row in published if row["figure"] == name})
    with open(place / "table.csv", newline="") as file:
        head, *rows = csv.reader(file)
    cells = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    pictures = "".join(f'<img src="{name}/{picture.name}" alt="{html.escape(title)}">' for picture in sorted(place.glob("*.svg")))
    paragraphs = "".join(f"<p>{html.escape(part)}</p>" for part in rest.split("\n\n"))
    parts.append(f'<section id="{name}"><h2>{html.escape(title)}</h2>{pictures}{paragraphs}'
                 f"<p>Published: {html.escape('; '.join(sources)) or 'no number'}.</p>"
                 f"<details open><summary>{len(rows)} points</summary><table>"
                 f"<tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in head)}</tr>{cells}</table></details></section>")
page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Figures made again</title><style>{STYLE}</style>
<h1>Figures made again</h1><p>Squares are published values, lines are PhaseFlow's.</p>{''.join(parts)}</html>"""
(folder / "index.html").write_text(re.sub(r"\n+", "\n", page))
