"""Kernel principal component analysis of drifting data, on a matrix that is distributed in square blocks.

    mpirun -n 16 python3 pipelines/eigenvector.py [WINDOWS [ITERATIONS]]

For each window of data, rank (i, j) of a square grid computes block (i, j) of a kernel matrix. The matrix is made symmetric,
for which each rank exchanges its block with the rank across the diagonal, panel by panel. Power iteration then finds the
leading eigenvector: products with the local block, sums along the rows of the grid, and an exchange across the diagonal
that turns the result into the next operand. Rank 0 gathers the eigenvector at the end of a window. Needs numpy and mpi4py.
"""

import math
import sys

import mpi4py
import numpy as np

# One thread calls MPI. With threads, a recording cannot tell when a rank waits for a message that has come before.
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI  # noqa: E402

FEATURES = 8  # of a point
BLOCK = 768  # rows and columns of a block
PANEL = 24  # rows sent at once: 144 KiB
windows, iterations = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 3), (2, 48)))
comm = MPI.COMM_WORLD
side = math.isqrt(comm.size)
assert side * side == comm.size, "the number of ranks is not a square"
i, j = divmod(comm.rank, side)
across = j * side + i
along_row = comm.Split(i, j)


def kernel(window):
    """Block (i, j) of a Gaussian kernel, whose width differs by row: it is not symmetric yet."""
    points = np.random.default_rng(window).normal(size=(side * BLOCK, FEATURES)) / math.sqrt(FEATURES)
    points[:, 0] += window * np.linspace(0, 1, side * BLOCK)
    rows, columns = (points[k * BLOCK:(k + 1) * BLOCK] for k in (i, j))
    squares = (rows**2).sum(1)[:, None] + (columns**2).sum(1)[None, :] - 2 * rows @ columns.T
    return np.exp(-squares / (1 + np.linspace(0, 1, BLOCK)[:, None]))


def symmetric(block):
    """The block of (A + Aᵀ) / 2."""
    other = np.empty_like(block)
    for first in range(0, BLOCK, PANEL):
        comm.Barrier()  # one panel at a time, so that nobody has to buffer what is early
        panel = np.ascontiguousarray(block[first:first + PANEL])
        comm.Sendrecv(panel, across, recvbuf=other[first:first + PANEL], source=across)
    return (block + other.T) / 2


for window in range(windows):
    block = symmetric(kernel(window))
    vector = np.full(BLOCK, 1 / math.sqrt(side * BLOCK))
    value = 0.0
    for _ in range(iterations):
        product = np.empty(BLOCK)
        along_row.Allreduce(block @ vector, product)
        # Row i of the grid has part i of the product; column j needs part j.
        comm.Sendrecv(product, across, recvbuf=vector, source=across)
        norm = np.array([vector @ vector])
        along_row.Allreduce(MPI.IN_PLACE, norm)
        value = math.sqrt(norm[0])
        vector /= value
    parts = comm.gather(vector if i == 0 else None, root=0)
    if comm.rank == 0:
        vector = np.concatenate([part for part in parts if part is not None])
        print(f"window {window}: eigenvalue {value:.6f}, norm {np.linalg.norm(vector):.6f}")
