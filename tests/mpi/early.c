/* Messages that are there before their receive is posted, on 3 ranks. Rank 1 receives one in MPI_Sendrecv, those of an alltoall, and by MPI_Irecv
   one for each kind of wait, before which it computes for 20 ms. */
#include <mpi.h>

static int rank;

/* Lets messages come in. */
static void poll(double seconds) {
    int flag;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void compute(double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {}
}

int main(int argc, char **argv) {
    int out[3] = {1, 2, 3}, in[3], done;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        poll(0.2);
        MPI_Sendrecv(out, 1, MPI_INT, 0, 2, in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) poll(0.2);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int tag = 3; tag < 7; tag++) {
        if (rank == 0) MPI_Send(out, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        if (rank == 1) {
            poll(0.1);
            MPI_Irecv(in, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
            compute(0.02);
            if (tag == 3) MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (tag == 4) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
            if (tag == 5) MPI_Waitany(1, &request, &done, MPI_STATUS_IGNORE);
            if (tag == 6) MPI_Waitsome(1, &request, &done, in + 1, MPI_STATUSES_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
