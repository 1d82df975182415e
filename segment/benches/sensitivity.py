#!/usr/bin/env python3
"""How much the method `rounds` depends on each of its constants.

    segment/benches/sensitivity.py RUNS [FILE...]

RUNS is a folder that the example `labelled-runs` has filled. FILEs are sources whose constants are
changed; all of segment/src/method/rounds and segment/src/first_pass/rounds if none is named. Each
constant that is a single number is set to half and to double its value in turn, the program is
built, and all runs are scored. The output is a table of mean boundary F1, the better of leaf and
auto level in each run, at half, as it is, at double. The script changes the work tree and restores
each file: run it in a tree of its own
(`git worktree add`). Capacities of tables only bound memory and are named in CAPACITIES.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBER = r'(?:[0-9_]+\.[0-9_]+|[0-9][0-9_]*)'
CONSTANT = re.compile(
    r'^(pub\((?:super|crate)\) )?const ([A-Z_]+): (f64|f32|u64|usize) = (' + NUMBER + r'|1 << [0-9]+|1\.0 / ' + NUMBER + r');$',
    re.M)
CAPACITIES = {'tokens.rs:MOST', 'tokens.rs:MOST_PAIRS', 'tokens.rs:FREE', 'sums.rs:PAIRS', 'sums.rs:SIZES',
              'sums.rs:UNIT', 'token_set.rs:BITS', 'features.rs:LANES', 'windows.rs:WAITING', 'labels.rs:NEVER'}
BUILD = ['cargo', 'build', '--quiet', '--release', '--bin', 'pf-segment', '--target-dir', 'target/sensitivity',
         '--config', 'profile.release.lto=false', '--config', 'profile.release.codegen-units=16',
         '--config', 'profile.release.incremental=true']


def scored(run, truth, level):
    command = [ROOT / 'target/sensitivity/release/pf-segment', run, '--method', 'rounds', '--level', level,
               '--score', truth]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r'boundary_f1[ ,=:]+([0-9.]+)', done.stdout)
    return float(found[1]) if found else 0.0


def score(runs):
    total = 0.0
    for run in runs:
        truth = run.with_name(run.name.replace('.trace.tar.gz', '.truth.csv'))
        total += max(scored(run, truth, level) for level in ('leaf', 'auto'))
    return total / len(runs)


def built():
    return subprocess.run(BUILD, cwd=ROOT, capture_output=True).returncode == 0


def changed(kind, value, factor):
    if kind in ('f64', 'f32'):
        return f'{factor:.1f} * ({value})'
    return f'({value}) * 2' if factor == 2 else f'({value}) / 2'


def main():
    runs = sorted(pathlib.Path(sys.argv[1]).glob('*.trace.tar.gz'))
    files = [pathlib.Path(name) for name in sys.argv[2:]] or sorted(ROOT.glob('segment/src/*/rounds/*.rs'))
    if not runs or not built():
        sys.exit('no runs *.trace.tar.gz with their truths *.truth.csv, or the program does not build')
    print(f'as it is: {score(runs):.3f} ({len(runs)} runs)', flush=True)
    print('| constant | value | at half | at double |\n|---|---|---|---|', flush=True)
    for file in files:
        text = file.read_text()
        for match in CONSTANT.finditer(text):
            name, kind, value = match[2], match[3], match[4]
            if f'{file.name}:{name}' in CAPACITIES:
                continue
            cells = []
            for factor in (0.5, 2):
                start, end = match.span(4)
                file.write_text(text[:start] + changed(kind, value, factor) + text[end:])
                cells.append(f'{score(runs):.3f}' if built() else 'does not build')
                file.write_text(text)
            print(f'| {file.stem} {name} | {value} | {cells[0]} | {cells[1]} |', flush=True)


if len(sys.argv) < 2:
    sys.exit(__doc__)
main()
