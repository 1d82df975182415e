! Messages from Fortran: 3 round a ring, a collective, a non-blocking pair.
      program ring
      use mpi
      implicit none
      integer :: rank, size, error, i, next, before
      integer :: a(100), b(100)
      integer :: q(2)
      call MPI_Init(error)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
      call MPI_Comm_size(MPI_COMM_WORLD, size, error)
      next = mod(rank + 1, size)
      before = mod(rank + size - 1, size)
      a = rank
      do i = 1, 3
        call MPI_Irecv(b, 100, MPI_INTEGER, before, i, MPI_COMM_WORLD, q(1), error)
        call MPI_Isend(a, 10 * i, MPI_INTEGER, next, i, MPI_COMM_WORLD, q(2), error)
        call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, error)
      end do
      call MPI_Allreduce(MPI_IN_PLACE, a, 100, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call MPI_Finalize(error)
      end program ring
