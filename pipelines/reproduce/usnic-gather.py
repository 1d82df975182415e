#!/usr/bin/env python3
"""usNIC: Gather of 16 ranks by size, around 1 KiB.

The design notes list "odd results with -np 16 Gather on 16 nodes, something changes at 1024 bytes" as
not understood. What changes is Open MPI: with more than ten ranks it gathers along a binomial tree
below 1024 bytes a rank, and has all ranks send to the root from there on (coll/tuned, fixed rules). A
program of real gathers is recorded, each size a phase by MPI_Pcontrol, and replayed over usNIC at 10
Gbit/s. Needs mpi4py and Open MPI.
"""

import os
import subprocess
import sys
from shutil import which

from figure import Figure

figure = Figure(__file__, x="bytes of a rank", y="microseconds of a gather")
python = os.environ.get("PYTHON", "/usr/bin/python3")
mpirun = os.environ.get("MPIRUN", "mpirun")
if not which(mpirun) or subprocess.run([python, "-c", "import mpi4py, numpy"], capture_output=True).returncode:
    sys.exit("usnic-gather: NOT MADE: no mpirun, or PYTHON names no interpreter with mpi4py and numpy")
SIZES, ROUNDS = [256, 512, 768, 1023, 1024, 1536, 2048, 4096], 10 if figure.quick else 40
PROGRAM = """
import mpi4py, sys
mpi4py.rc.thread_level = "single"
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rounds, sizes = int(sys.argv[1]), [int(size) for size in sys.argv[2:]]
for size in sizes:
    sent, received = numpy.zeros(size, "b"), numpy.zeros(size * comm.size, "b")
    comm.Barrier()
    for _ in range(rounds):
        comm.Gather(sent, received)
        # As the benchmark does, so that gathers do not pile up at the root.
        comm.Bcast(numpy.zeros(1, "b"))
"""
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                  OMPI_MCA_mpi_yield_when_idle="1")
for size in SIZES:
    run = f"{figure.scratch.name}/{size}"
    figure.run("pf-profile", "--quiet", "-o", run, "--", mpirun, "-n", "16", python, "-c", PROGRAM, ROUNDS, size, quiet=False)
    phases = figure.run("pf-segment", "--method", "none", "--keep-messages", data=figure.run("pf-collect", run))
    for transport in ("usnic-4.1", "usnic-2013"):
        results = figure.simulate(phases, "--model", "packet", "--transport", transport, "--topology", "star[hosts=16]",
                                  "--capacity", "10", "--latency", "1us", "--switch-latency", "1us", "--compute-scale", "0",
                                  "--sampling", "off")
        figure.add(transport, size, float(figure.rows("runs", results)[0]["makespan_s"]) / ROUNDS * 1e6)
figure.finish(log="x")
