#!/usr/bin/env python3
"""A process mapper in Python: simulated annealing of bytes times links.

    pf-simulate PHASES --topology NETWORK --process-mapper 'exec:pipelines/plugins/mapper.py'

It starts with ranks in order. Two slots change their ranks if that costs less, or by chance if it costs little more; the
chance falls (Kirkpatrick, Gelatt and Vecchi, Science 1983). Python's standard library only; the exchange of lines is that
of docs/plugins.md.
"""
import json
import math
import random
import sys
from collections import deque

TRIALS = 200  # a rank


def distances(links, start):
    """Links from a node to each other one; hosts do not forward."""
    far, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for after in links[node] if node == start or node not in slots else ():
            if after not in far:
                far[after] = far[node] + 1
                queue.append(after)
    return far


greeting = json.loads(sys.stdin.readline())
assert (greeting["phaseflow"], greeting["axis"]) == (1, "process mapper"), "this is a process mapper for protocol 1"
slots = {host["name"]: host["slots"] for host in greeting["topology"]["hosts"]}
links = {}
for link in greeting["topology"]["links"]:
    links.setdefault(link["src"], []).append(link["dst"])
print(json.dumps({"phaseflow": 1}), flush=True)

for line in sys.stdin:
    question, chance = json.loads(line), random.Random(greeting["seed"])
    places = [host for host in question["hosts"] for _ in range(slots[host])]
    far, peers = {host: distances(links, host) for host in question["hosts"]}, [{} for _ in places]
    for src, dst, _, volume in question["matrix"]:
        for a, b in ((src, dst), (dst, src)):
            peers[a][b] = peers[a].get(b, 0) + volume

    def cost(rank):
        return sum(volume * far[places[rank]][places[peer]] for peer, volume in peers[rank].items())

    heat = sum(map(cost, range(len(places)))) / len(places) / 4
    for _ in range(TRIALS * len(places)):
        a, b = chance.randrange(question["ranks"]), chance.randrange(len(places))
        before = cost(a) + cost(b)
        places[a], places[b] = places[b], places[a]
        more = cost(a) + cost(b) - before
        if more > 0 and chance.random() >= math.exp(-more / heat):
            places[a], places[b] = places[b], places[a]
        heat = max(heat * (1 - 8 / (TRIALS * len(places))), 1e-9)
    print(json.dumps({"placement": places[: question["ranks"]]}), flush=True)
