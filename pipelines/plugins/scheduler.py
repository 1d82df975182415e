#!/usr/bin/env python3
"""A scheduler in Python: of the jobs that fit, the shortest by its estimate.

    pf-simulate --jobs LOG.swf --job-pattern halo2d --topology NETWORK --scheduler 'exec:pipelines/plugins/scheduler.py'

A large job may wait for as long as small ones come: fcfs, easy and conservative do not let it. Python's standard library
only; the exchange of lines is that of docs/plugins.md.
"""
import json
import sys

greeting = json.loads(sys.stdin.readline())
assert (greeting["phaseflow"], greeting["axis"]) == (1, "scheduler"), "this is a scheduler for protocol 1"
print(json.dumps({"phaseflow": 1}), flush=True)

for line in sys.stdin:
    question = json.loads(line)
    fitting = [job for job in question["queue"] if job["processes"] <= question["free_slots"]]
    shortest = min(fitting, key=lambda job: (job["estimate_s"], job["job"]), default={"job": None})
    print(json.dumps({"start": shortest["job"]}), flush=True)
