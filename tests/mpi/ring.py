"""Messages from Python: objects and buffers round a ring, collectives, a window."""
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
request = comm.isend({"from": rank}, dest=after, tag=1)
assert comm.recv(source=before, tag=1) == {"from": before}
request.wait()
buffer = bytearray(5000)
comm.Sendrecv(bytearray(5000), dest=after, recvbuf=buffer, source=before)
assert comm.allreduce(rank) == size * (size - 1) // 2
comm.alltoall([b"x" * 100] * size)
half = comm.Split(rank % 2)
half.allgather(rank)
half.Free()
