#!/usr/bin/env python3
"""What recording costs: messages of two ranks with and without pf-profile, from 1 B to 4 MiB.

A ping-pong, and windows of 64 messages one way. Rounds adapt to the size, as in the document's
benchmark. With and without run in turn; a value is the median of the quotients of tenth percentiles over
short blocks. Published are PFProf's, over Ethernet, where a message takes 25 µs or a window's 4 µs.
Two ranks of one host take .3 µs here. So what compares is the time that recording adds to a message.
On a machine with other work quotients scatter by several per cent.
"""

import os
import statistics
import sys
from shutil import which

from figure import HERE, Figure

figure = Figure(__file__, x="bytes", y="time with / without recording")
compiler, mpirun = os.environ.get("MPICC", "mpicc"), os.environ.get("MPIRUN", "mpirun")
if not which(compiler) or not which(mpirun):
    sys.exit("profiling-overhead: NOT MADE: no mpicc or mpirun; MPICC and MPIRUN name others")
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
program = f"{figure.scratch.name}/pair"
figure.run(compiler, "-O2", "-o", program, HERE.parents[1] / "benches/profile/pair.c", quiet=False)
blocks, pairs = (6, 2) if figure.quick else (30, 5)
for series, mode in (("ping-pong", "pingpong"), ("window of 64", "rate")):
    sizes = [1, 4, 16, 64, 256, 1024, 4096, 16384]
    if mode == "pingpong":
        # A window of 64 such messages takes as long as to copy them, with or without recording.
        sizes += [65536, 262144, 1048576, 4194304]
    for size in (1, 1024, 16384) if figure.quick else sizes:
        turns = []
        for number in range(pairs):
            command = [mpirun, "-n", "2", program, mode, str(size), str(blocks)]
            record = ["pf-profile", "--quiet", "-o", f"{figure.scratch.name}/{mode}-{size}-{number}", "--"]
            turns.append([float(figure.run(*words, quiet=False).split()[1]) for words in (command, record + command)])
        figure.add(series, size, statistics.median(recorded / without for without, recorded in turns))
        if size == 1:
            # The program prints nanoseconds a message.
            added = statistics.median(recorded - without for without, recorded in turns) / 1000
            figure.add(f"{series}: microseconds added", size, added)
figure.finish(log="x")
