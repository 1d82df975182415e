/* Messages round a ring, then what has no other side: the 6th send of rank 0, which nobody receives; on rank 1 a receive that it
 * cancels, its 8th from rank 2 and its 9th of whatever comes. Then rank 1 ends the run: MPI_Finalize would wait. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    char a[64] = {0}, b[64], c[64], d[64];
    MPI_Request cancelled, named, any;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 5; i++) {
        MPI_Sendrecv(a, 64, MPI_CHAR, (rank + 1) % size, 1, b, 64, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    if (rank == 0) MPI_Send(a, 24, MPI_CHAR, 2, 8, MPI_COMM_WORLD);
    if (rank != 1) MPI_Send(a, 1, MPI_CHAR, 1, 9, MPI_COMM_WORLD);
    if (rank == 1) {
        for (int i = 0; i < 2; i++) MPI_Recv(b, 1, MPI_CHAR, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(b, 64, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &cancelled);
        MPI_Cancel(&cancelled);
        MPI_Wait(&cancelled, MPI_STATUS_IGNORE);
        MPI_Irecv(c, 64, MPI_CHAR, 2, 4, MPI_COMM_WORLD, &named);
        MPI_Irecv(d, 64, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
        _exit(0);
    }
    for (;;) pause();
}
