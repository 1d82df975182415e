#!/usr/bin/env python3
"""What recording costs: a ping-pong of two ranks with and without pf-profile, from 1 B to 4 MiB.

Rounds adapt to the size, as in the document's benchmark. With and without run in turn; the value is
the median of the ratios of tenth percentiles over short blocks. The document has the figure but its numbers are not in the text at hand. On
a machine with other work the ratio scatters by several per cent.
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
for size in (1, 1024, 65536) if figure.quick else (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304):
    ratios = []
    for number in range(pairs):
        command = [mpirun, "-n", "2", program, "pingpong", str(size), str(blocks)]
        record = ["pf-profile", "--quiet", "-o", f"{figure.scratch.name}/{size}-{number}", "--"]
        without, recorded = (float(figure.run(*words, quiet=False).split()[1]) for words in (command, record + command))
        ratios.append(recorded / without)
    figure.add("ping-pong", size, statistics.median(ratios))
figure.finish(log="x")
