"""Writes an OTF2 trace of three ranks with the library's own writer: write_otf2.py FOLDER

Messages go 0 -> 1 at 1 us (blocking, 300 B), 1 -> 2 at 2 us (non-blocking, 70 B) and 2 -> 0 at 3 us (5 B); then there is a broadcast of
40 B from rank 1, and a put of 64 B from 0 to 2 at 4.5 us.
"""

import sys

import otf2
from otf2.enums import CollectiveOp, GroupFlag, GroupType, LocationGroupType, LocationType, Paradigm

with otf2.writer.open(sys.argv[1], timer_resolution=1_000_000_000) as trace:
    definitions = trace.definitions
    node = definitions.system_tree_node("node")
    locations = []
    for rank in range(3):
        group = definitions.location_group(f"rank {rank}", location_group_type=LocationGroupType.PROCESS, system_tree_parent=node)
        locations.append(definitions.location(f"thread of {rank}", type=LocationType.CPU_THREAD, group=group))
    writers = [trace.event_writer_from_location(location) for location in locations]
    definitions.group("ranks", GroupType.COMM_LOCATIONS, Paradigm.MPI, GroupFlag.NONE, tuple(locations))
    members = definitions.group("world", GroupType.COMM_GROUP, Paradigm.MPI, GroupFlag.NONE, tuple(locations))
    world = definitions.comm("MPI_COMM_WORLD", members)
    window = definitions.rma_win("window", world)
    function = definitions.region("MPI_Something")

    zero, one, two = writers
    zero.enter(900, function)
    zero.mpi_send(1000, 1, world, 7, 300)
    zero.leave(1100, function)
    one.enter(950, function)
    one.mpi_recv(1200, 0, world, 7, 300)
    one.leave(1250, function)
    one.mpi_isend(2000, 2, world, 8, 70, 1)
    one.mpi_isend_complete(2400, 1)
    two.mpi_irecv_request(1900, 5)
    two.mpi_irecv(2300, 1, world, 8, 70, 5)
    two.enter(2900, function)
    two.mpi_send(3000, 0, world, 9, 5)
    two.leave(3050, function)
    zero.enter(2800, function)
    zero.mpi_recv(3100, 2, world, 9, 5)
    zero.leave(3150, function)
    for rank, writer in enumerate(writers):
        writer.mpi_collective_begin(4000)
        sent, received = (40, 0) if rank == 1 else (0, 40)
        writer.mpi_collective_end(4200 + rank, CollectiveOp.BCAST, world, 1, sent, received)
    zero.rma_put(4500, window, 2, 64, 1)
    zero.rma_op_complete_blocking(4600, window, 1)
