#!/usr/bin/env python3
"""Options of pf-simulate that reproduce a recorded ping-pong: overheads, goodput, eager limit, rendezvous.

    pf-profile -o run/ -- mpirun -n 2 ./pingpong        # any two ranks that send to and fro, over sizes from 1 B to 256 KiB or more
    pf-collect run/ --to csv | pipelines/calibrate.py --capacity 0.1 --latency 10us

Standard input: messages as pf-collect writes them (t_ns,src,dst,bytes,tag,op). --capacity is that of the slowest link, Gbit/s or with
a unit; --latency that of the route, links and switches together. A message of n bytes takes T(n), half of the median round trip of its
size; sizes with fewer than 5 round trips are left out. The model is

    T(n) = a + n / B             up to the eager limit
    T(n) = a + r + n / B         above it

a: the median of T(n) - n / B over the sizes up to 256 bytes. What it has beyond the latency are the overheads of sender and receiver, which a ping-pong
cannot tell apart: each gets half. B: the median of the slopes between all pairs of sizes from an eighth of the largest on, as a fixed
part cancels there. B over the capacity is the goodput. The limit is the size that divides the sizes so that the sum of absolute
distances from the model is least, where a step r of more than a is seen; a request and a reply take 2a, so `put` is chosen then, and
`free` without a step. Where a message of the limit's size takes far longer than 2a, noise hides the step: give --eager, what the library
says of itself (Open MPI over TCP: ompi_info --param btl tcp --level 5, btl_tcp_eager_limit).
"""

import argparse
import csv
import statistics
import sys


def nanoseconds(text):
    if text.strip("0") in ("", "."):
        return 0.0
    for unit, factor in (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * factor
    raise argparse.ArgumentTypeError(f"`{text}` has no unit, expected ns, us, ms or s")


def gbps(text):
    return float(text[:-1]) if text.endswith("G") else float(text)


def times(rows, first, second):
    """By size: half of each round trip, nanoseconds, from the sends of both ranks in order."""
    trips = {}
    last = None
    for row in rows:
        src, dst = int(row["src"]), int(row["dst"])
        if (src, dst) not in ((first, second), (second, first)):
            continue
        t, size = int(row["t_ns"]), int(row["bytes"])
        if src == first:
            # There and back of one size between two sends of the first rank.
            if last and last[1] == size and last[2] == size:
                trips.setdefault(size, []).append((t - last[0]) / 2)
            last = [t, size, None]
        elif last:
            last[2] = size
    return {size: statistics.median(halves) for size, halves in trips.items() if len(halves) >= 5}


def step(halves, a, per_byte, limit):
    """The step above a limit, and the sum of absolute distances from the model with it."""
    rest = {n: time - a - n * per_byte for n, time in halves.items()}
    above = [rest[n] for n in halves if n > limit]
    r = max(0.0, statistics.median(above)) if above else 0.0
    return r, sum(abs(rest[n] - (r if n > limit else 0.0)) for n in halves)


def fit(halves, known=None):
    """a, nanoseconds a byte, the eager limit or None, r."""
    sizes = sorted(halves)
    small = [n for n in sizes if n <= 256]
    large = [n for n in sizes if 8 * n >= sizes[-1]]
    if not small or len(large) < 3:
        sys.exit(f"calibrate.py: sizes are {sizes[0]} to {sizes[-1]}, expected some up to 256 bytes and 3 from an eighth of the largest on")
    per_byte = statistics.median((halves[n] - halves[m]) / (n - m) for m in large for n in large if m < n)
    a = statistics.median(halves[n] - n * per_byte for n in small)
    if per_byte <= 0:
        sys.exit("calibrate.py: times do not grow with sizes, so this is no ping-pong that latency and bandwidth describe")
    if known:
        return a, per_byte, known, step(halves, a, per_byte, known)[0]
    none = step(halves, a, per_byte, sizes[-1])[1]
    found = [(*reversed(step(halves, a, per_byte, limit)), limit) for limit in sizes if 256 < limit < large[0]]
    error, r, limit = min(found, default=(none, 0.0, None))
    return (a, per_byte, limit, r) if r > a and error < none else (a, per_byte, None, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--capacity", type=gbps, required=True, help="of the slowest link, Gbit/s")
    parser.add_argument("--latency", type=nanoseconds, required=True, help="of the route, with a unit")
    parser.add_argument("--ranks", default="0,1", help="the two ranks that play")
    parser.add_argument("--plain", action="store_true", help="print the options alone")
    parser.add_argument("--eager", type=int, help="the limit where it is known, bytes; Open MPI's over TCP is 65536 with its header")
    arguments = parser.parse_args()
    first, second = map(int, arguments.ranks.split(","))
    halves = times(csv.DictReader(sys.stdin), first, second)
    if len(halves) < 6:
        sys.exit(
            f"calibrate.py: found {len(halves)} sizes with 5 round trips or more between ranks {first} and {second}, expected 6: "
            "is this a ping-pong over sizes?"
        )
    a, per_byte, limit, r = fit(halves, arguments.eager)
    overhead = max(0.0, (a - arguments.latency) / 2)
    goodput = 8 / per_byte / arguments.capacity
    rendezvous = "put" if r > a else "free"
    options = f"--send-overhead {overhead:.0f}ns --receive-overhead {overhead:.0f}ns --goodput {min(goodput, 1.0):.4f}"
    if limit is not None:
        options += f" --eager {limit} --rendezvous {rendezvous}"
    if arguments.plain:
        print(options)
        return
    print(f"small_message_ns: {a:.0f}")
    print(f"overhead_ns: {overhead:.0f}")
    print(f"goodput: {goodput:.4f}")
    print(f"eager: {limit if limit is not None else 'no limit found'}")
    print(f"rendezvous_ns: {r:.0f}")
    model = {n: a + n * per_byte + (r if limit is not None and n > limit else 0.0) for n in halves}
    print(f"relative_error: {statistics.median(abs(model[n] / halves[n] - 1) for n in halves):.3f}")
    print(f"options: {options}")


if __name__ == "__main__":
    main()
