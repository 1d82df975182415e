#!/bin/sh
# PFSim's own scenarios in PFSim and here: CPU seconds of whole processes, in turn, medians. Prints
# `scenario pfsim_s ours_s ratio`; that results agree is a test (tests/pfsim.rs).
# Needs Python with venv, and a release build (PHASEFLOW_BIN names another folder of commands).
# Usage: benches/peers/pfsim.sh PFSIM DATA (PFSIM: a checkout of shimojo-lab/pfsim 1.0.0, DATA: a folder with milk.graphml, cg.yml, milc.yml
# and their traces); ROUNDS is the number of turns, 3.
set -eu
[ $# = 2 ] || { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
pfsim=$(cd "$1" && pwd) data=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
# Versions as in its requirements.txt, but for YAML, whose old version does not build any more.
"$work/venv/bin/pip" install --quiet --disable-pip-version-check networkx==1.11 decorator==4.1.2 docopt==0.6.2 colorlog==2.10.0 \
  prettytable==0.7.2 schema==0.6.5 pyyaml
# Python finds this by its name: what PFSim and networkx 1.11 expect of Python and YAML of 2017.
cat > "$work/sitecustomize.py" << 'PYTHON'
import collections, collections.abc, fractions, math
import yaml

fractions.gcd = math.gcd
collections.Mapping = collections.abc.Mapping
load = yaml.load
yaml.load = lambda text, Loader=yaml.SafeLoader: load(text, Loader=Loader)
PYTHON
cp "$data"/* "$work"
cd "$work"
PYTHONPATH=$work:$pfsim BIN=${PHASEFLOW_BIN:-$here/../../target/release} "$work/venv/bin/python" - << 'PYTHON'
import os, resource, statistics, subprocess, sys

def spent(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

print("scenario pfsim_s ours_s ratio")
for scenario in ("cg", "milc"):
    theirs, ours = [], []
    for _ in range(int(os.environ.get("ROUNDS", 3))):
        theirs.append(spent([sys.executable, "-c", "import pfsim; pfsim.main()", f"{scenario}.yml"]))
        # A process of a few milliseconds is measured ten times.
        command = [f"{os.environ['BIN']}/pf-simulate", "--quiet", "--scenario", f"{scenario}.yml", "-o", "results.tar.gz"]
        ours.append(statistics.median(spent(command) for _ in range(10)))
    a, b = statistics.median(theirs), statistics.median(ours)
    print(f"{scenario} {a:.2f} {b:.4f} {a / b:.0f}")
PYTHON
