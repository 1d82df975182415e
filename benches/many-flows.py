#!/usr/bin/env python3
"""Very many flows at once on 8 192 hosts: processor time and peak memory by number of flows.

Usage: benches/many-flows.py [--tolerance F] [--flows N,…] [--kind NAME,…] [--against F]

Needs a release build: cargo build --release --workspace --example flows. Kinds:
  equal   random pairs, 1 MB each, all at once
  sizes   random pairs, exponential sizes of mean 1 MB, all at once
  rounds  random permutations of all hosts, sizes likewise, all at once
  incast  to one host in 64, sizes likewise, all at once
  starts  random pairs, sizes likewise, begun at random in the first half of the time that host links need for all
A three-level fat tree with full bisection, D-mod-K, 100 Gbit/s and 1 µs a link. With --against, ends are compared with those of another tolerance.
"""
import argparse
import pathlib
import random
import resource
import subprocess
import tempfile

HOSTS, TREE = 8192, "xgft[m=16:16:32,w=1:16:16]"
FLOWS = pathlib.Path(__file__).parent.parent / "target/release/examples/flows"


def flows(kind, count):
    """Lines `src,dst,bytes,start_ns`."""
    draw = random.Random(1)
    size = lambda: 1 + int(draw.expovariate(1e-6))
    if kind == "rounds":
        for _ in range(count // HOSTS):
            order = draw.sample(range(HOSTS), HOSTS)
            # A cycle: nobody sends to itself.
            yield from ((src, dst, size(), 0) for src, dst in zip(order, order[1:] + order[:1]))
        return
    # A host link carries 1 MB in 80 µs.
    busy_ns = count / HOSTS * 80_000
    for _ in range(count):
        dst = draw.randrange(0, HOSTS, 64) if kind == "incast" else draw.randrange(HOSTS)
        src = (dst + draw.randrange(1, HOSTS)) % HOSTS
        start = int(draw.random() * busy_ns / 2) if kind == "starts" else 0
        yield src, dst, 1_000_000 if kind == "equal" else size(), start


def run(path, tolerance, ends):
    command = [FLOWS, TREE, path, "--capacity", "100", "--tolerance", str(tolerance), "--ends", ends]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.communicate()[0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, text
    said = dict(line.split(": ") for line in text.splitlines())
    return after.ru_utime - before.ru_utime, after.ru_maxrss / 1024, float(said["makespan_ms"])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tolerance", type=float, default=0.05)
    options.add_argument("--against", type=float)
    options.add_argument("--flows", default="125000,250000,500000,1000000")
    options.add_argument("--kind", default="equal,sizes,rounds,incast,starts")
    given = options.parse_args()
    # The highest of all children is told: most flows last.
    print("kind,flows,cpu_s,us_per_flow,peak_mb,makespan_ms,median_off,most_off")
    for count in sorted(int(count) for count in given.flows.split(",")):
        for kind in given.kind.split(","):
            with tempfile.TemporaryDirectory() as folder:
                lists, ends, others = (f"{folder}/{name}" for name in ("flows", "ends", "others"))
                with open(lists, "w") as file:
                    file.writelines(f"{a},{b},{c},{d}\n" for a, b, c, d in flows(kind, count))
                cpu, peak, makespan = run(lists, given.tolerance, ends)
                off = ["", ""]
                if given.against is not None:
                    run(lists, given.against, others)
                    pairs = zip(open(ends), open(others))
                    apart = sorted(abs(float(a) - float(b)) / float(b) for a, b in pairs)
                    off = [f"{apart[len(apart) // 2]:.2g}", f"{apart[-1]:.2g}"]
                print(kind, count, f"{cpu:.2f}", f"{cpu / count * 1e6:.1f}", f"{peak:.0f}", makespan, *off, sep=",", flush=True)


if __name__ == "__main__":
    main()
