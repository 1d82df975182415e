#!/usr/bin/env python3
"""A router in Python: the path of least added congestion, detours allowed.

    pf-simulate PHASES --topology NETWORK --router 'exec:pipelines/plugins/router.py'

A link costs (its load + the demand) / its capacity, so an idle network gives shortest paths and a crowded link is worth a
detour. Python's standard library only; the exchange of lines is that of docs/plugins.md.
"""
import heapq
import itertools
import json
import sys


def cheapest(links, leaving, switches, cost, src, dst):
    """Dijkstra's algorithm; ties go to the path found first. Hosts do not forward."""
    queue, last, pushed = [(0.0, 0, src, None)], {}, itertools.count(1)
    while queue:
        so_far, _, node, link = heapq.heappop(queue)
        if node in last:
            continue
        last[node] = link
        if node == dst:
            break
        if node == src or node in switches:
            for out in leaving.get(node, ()):
                heapq.heappush(queue, (so_far + cost(out), next(pushed), links[out]["dst"], out))
    route = []
    while last[dst] is not None:
        route.append(last[dst])
        dst = links[last[dst]]["src"]
    return route[::-1]


def main():
    greeting = json.loads(sys.stdin.readline())
    assert (greeting["phaseflow"], greeting["axis"]) == (1, "router"), "this is a router for protocol 1"
    links, switches = greeting["topology"]["links"], set(greeting["topology"]["switches"])
    leaving = {}
    for number, link in enumerate(links):
        leaving.setdefault(link["src"], []).append(number)
    print(json.dumps({"phaseflow": 1}), flush=True)

    for line in sys.stdin:
        question = json.loads(line)
        load, routes = question["link_load"], []
        for demand in question["demands"]:
            def cost(link):
                return (load[link] + demand["load"]) / links[link]["capacity"]
            routes.append(cheapest(links, leaving, switches, cost, demand["src"], demand["dst"]))
            for link in routes[-1]:
                load[link] += demand["load"]
        print(json.dumps({"routes": routes}), flush=True)


if __name__ == "__main__":
    main()
