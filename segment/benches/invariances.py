#!/usr/bin/env python3
"""How often phases depend on what must not change them.

    segment/benches/invariances.py RUNS [NANOSECONDS]

RUNS is a folder of trace archives *.trace.tar.gz. Each run is changed in ways that leave the
program as it is: other numbers of ranks, times in other units, a later begin, messages of one time
in another order, noise of up to 20 ns for each message (or what is given), and an earlier end. The
phases of the changed run are scored by those of the run itself, innermost ones. The output has for
each way the runs that have other boundaries (boundary F1 below .995) or other labels (adjusted Rand
index below .995), and the means of both scores. The programs are those of target/release.
"""

import csv
import io
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BIN = pathlib.Path(__file__).resolve().parents[2] / 'target/release'
# As from nanoseconds to picoseconds.
UNIT = 1000
# An hour.
LATER_NS = 3_600_000_000_000
# Boundary F1 and the Rand index are rounded to six places; one boundary of 100 is more than this.
SAME = 0.995


def output(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{command}: {done.stderr}')
    return done.stdout


def ways(noise_ns):
    """By name: how a run's messages change, and the times of its phases with them."""
    def same(time_ns, _):
        return time_ns

    def renumbered(rows, draw):
        ranks = sorted({rank for row in rows for rank in row[1:3]})
        others = dict(zip(ranks, draw.sample(ranks, len(ranks))))
        return [(t, others[src], others[dst], size) for t, src, dst, size in rows]

    def disturbed(rows, draw):
        return [(row[0] + draw.randrange(noise_ns), *row[1:]) for row in rows]

    def end(rows):
        return rows[0][0] + (rows[-1][0] - rows[0][0]) * 3 // 4

    return {
        'as it is': (lambda rows, _: rows, same),
        'ranks have other numbers': (renumbered, same),
        f'times are {UNIT} times as long':
            (lambda rows, _: [(row[0] * UNIT, *row[1:]) for row in rows], lambda time_ns, _: UNIT * time_ns),
        'the run begins an hour later':
            (lambda rows, _: [(row[0] + LATER_NS, *row[1:]) for row in rows], same),
        'messages of one time in another order': (lambda rows, draw: draw.sample(rows, len(rows)), same),
        f'up to {noise_ns} ns of noise': (disturbed, same),
        'the recording ends after three quarters':
            (lambda rows, _: [row for row in rows if row[0] < end(rows)],
             lambda time_ns, rows: min(time_ns, end(rows) - rows[0][0])),
    }


def archive(rows, folder, name):
    text = ''.join('%d,%d,%d,%d\n' % row for row in sorted(rows, key=lambda row: row[0]))
    (folder / f'{name}.csv').write_text('t_ns,src,dst,bytes\n' + text)
    output(BIN / 'pf-collect', '--quiet', '--from', 'csv', folder / f'{name}.csv', '-o', folder / f'{name}.tar')
    return folder / f'{name}.tar'


def scores(run, noise_ns):
    """For each way, boundary F1 and the adjusted Rand index of labels."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = output(BIN / 'pf-collect', '--quiet', run, '--to', 'csv')
        rows = [tuple(int(row[name]) for name in ('t_ns', 'src', 'dst', 'bytes'))
                for row in csv.DictReader(io.StringIO(text))]
        plain = archive(rows, folder, 'plain')
        listed = output(BIN / 'pf-segment', '--quiet', plain, '--level', 'leaf', '--threads', '1', '--list')
        phases = [row for row in csv.DictReader(io.StringIO(listed)) if row['depth'] == '0']
        for way, (change, then) in ways(noise_ns).items():
            spans = [(then(int(row['start_ns']), rows), then(int(row['end_ns']), rows), row['phase'])
                     for row in phases]
            others = change(rows, random.Random(7))
            # What a truth leaves out at the end of a run is of no phase.
            end_ns = max(row[0] for row in others) - min(row[0] for row in others)
            spans = [span for span in spans if span[0] < min(span[1], end_ns)]
            spans[-1] = (spans[-1][0], end_ns, spans[-1][2])
            truth = ''.join('%d,%d,%s\n' % span for span in spans)
            (folder / 'truth.csv').write_text('start_ns,end_ns,label\n' + truth)
            changed = archive(others, folder, 'changed')
            text = output(BIN / 'pf-segment', '--quiet', changed, '--level', 'leaf', '--threads', '1', '--score',
                          folder / 'truth.csv')
            score = {name: float(re.search(name + r'[ ,=:]+([0-9.]+)', text)[1])
                     for name in ('boundary_f1', 'label_ari')}
            found[way] = (score['boundary_f1'], score['label_ari'])
    return found


def main():
    runs = sorted(pathlib.Path(sys.argv[1]).glob('*.trace.tar.gz'))
    noise_ns = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if not runs:
        sys.exit('no runs *.trace.tar.gz')
    with ThreadPoolExecutor(2) as pool:
        all_scores = list(pool.map(lambda run: scores(run, noise_ns), runs))
    print(f'{len(runs)} runs\n\n| way | other boundaries | other labels | F1 | ARI |\n|---|---|---|---|---|')
    for way in ways(noise_ns):
        own = [scores[way] for scores in all_scores]
        others = [sum(score[at] < SAME for score in own) for at in (0, 1)]
        means = [sum(score[at] for score in own) / len(own) for at in (0, 1)]
        print(f'| {way} | {others[0]} | {others[1]} | {means[0]:.4f} | {means[1]:.4f} |')


if len(sys.argv) < 2:
    sys.exit(__doc__)
main()
