"""Diffusion of a field on a periodic grid, first by Fourier transforms, then by differences, of which the first is exact.

    mpirun -n 16 python3 slab-fft.py [POINTS [ROUNDS]]

Each rank has a slab of POINTS³ points (default 64, a multiple of the number of ranks). The three-dimensional transform
transforms two axes within a slab; an all-to-all exchange then turns the slabs, and the third axis is transformed. Each
round (default 2) has three sections, which rank 0 announces: `transform`, `differences`, where neighbours exchange planes,
and `output`, where rank 0 gathers the field. Needs numpy and mpi4py.
"""

import sys

import mpi4py
import numpy as np

# One thread calls MPI. With threads, a recording cannot tell when a rank waits for a message that has come before.
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI  # noqa: E402

STEPS = 20  # of each section
DIFFUSION = 0.1  # squared distance between points in a step; differences are stable up to 1/6
points, rounds = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 64), (2, 2)))
comm = MPI.COMM_WORLD
ranks, rank = comm.size, comm.rank
assert points % ranks == 0, "the number of points is no multiple of the number of ranks"
thick = points // ranks
below, above = (rank - 1) % ranks, (rank + 1) % ranks


def section(name):
    comm.Barrier()
    if rank == 0:
        print(f"section: {name}", flush=True)


def turned(slab, split, join):
    """The slab that is divided along axis `join` becomes one that is divided along axis `split`."""
    sent = np.ascontiguousarray(np.stack(np.split(slab, ranks, axis=split)))
    received = np.empty_like(sent)
    comm.Alltoall(sent, received)
    return np.concatenate(list(received), axis=join)


def by_transform(field):
    """One step, exact: each wave decays by itself."""
    waves = np.fft.fftn(field, axes=(1, 2))
    waves = np.fft.fft(turned(waves, split=1, join=0), axis=0) * decay
    waves = turned(np.fft.ifft(waves, axis=0), split=0, join=1)
    return np.fft.ifftn(waves, axes=(1, 2)).real


def by_differences(field):
    """One step, from the values of the six neighbours."""
    wide = np.empty((thick + 2, points, points))
    wide[1:-1] = field
    comm.Sendrecv(wide[-2], above, recvbuf=wide[0], source=below)
    comm.Sendrecv(wide[1], below, recvbuf=wide[-1], source=above)
    around = wide[:-2] + wide[2:] + sum(np.roll(field, shift, axis) for shift in (1, -1) for axis in (1, 2))
    return field + DIFFUSION * (around - 6 * field)


def largest(field):
    value = np.array([np.abs(field).max()])
    comm.Allreduce(MPI.IN_PLACE, value, MPI.MAX)
    return value[0]


# Fourier space is divided along axis 1. A difference decays as its stencil says, so that both ways of solving agree.
frequency = 2 * np.cos(2 * np.pi * np.arange(points) / points) - 2
mine = frequency[rank * thick:(rank + 1) * thick]
decay = 1 + DIFFUSION * (frequency[:, None, None] + mine[None, :, None] + frequency[None, None, :])

start = np.random.default_rng(rank).normal(size=(thick, points, points))
for _ in range(rounds):
    section("transform")
    exact = start
    for _ in range(STEPS):
        exact = by_transform(exact)
    section("differences")
    field = start
    for _ in range(STEPS):
        field = by_differences(field)
        norm = largest(field)
    section("output")
    whole = np.empty((points, points, points)) if rank == 0 else None
    comm.Gather(field, whole, root=0)
    if rank == 0:
        np.save("field.npy", whole)
    error = largest(field - exact)
    start = field
section("end")
if rank == 0:
    print(f"largest value {norm:.6f}, largest difference between both solutions {error:.1e}")
    assert error < 1e-12 * points
