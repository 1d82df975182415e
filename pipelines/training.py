"""A training loop as data-parallel learning has it: in each epoch ranks shuffle samples, then compute and sum gradients step by step.

    mpirun -n 8 python3 pipelines/training.py [EPOCHS [STEPS]]

Nothing is learnt; traffic and its order are those of a small network (gradients of 4 layers, 1.4 MB together).
"""

import sys
import time
from array import array

from mpi4py import MPI

LAYERS = [9_408, 73_728, 262_144, 10_240]  # parameters, 4 bytes each
SAMPLES = 64 * 1024  # bytes that a rank hands to each other one
epochs, steps = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 3), (2, 15)))
comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
gradients = [array("f", [rank]) * parameters for parameters in LAYERS]
samples, received = bytearray(SAMPLES), bytearray(SAMPLES)


def compute(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


for epoch in range(epochs):
    for distance in range(1, ranks):
        dest, source = (rank + distance) % ranks, (rank - distance) % ranks
        comm.Sendrecv(samples, dest, recvbuf=received, source=source)
    for step in range(steps):
        compute(0.002)
        for gradient in reversed(gradients):
            comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
