/* Four threads of each rank exchange messages at once, each on its own communicator; more threads come and go. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
static int rank, size;
static MPI_Comm comms[THREADS];

static void *work(void *argument) {
    MPI_Comm comm = comms[(long)argument];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, b[600], a[600] = {0};
    MPI_Request q[2];
    for (int i = 0; i < 500; i++) {
        int n = i % 600;
        MPI_Irecv(b, 600, MPI_INT, i % 3 ? from : MPI_ANY_SOURCE, 1, comm, &q[0]);
        MPI_Isend(a, n, MPI_INT, to, 1, comm, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        if (i % 50 == 0) MPI_Allreduce(a, b, 20, MPI_INT, MPI_SUM, comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided == MPI_THREAD_MULTIPLE) {
        for (long i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int round = 0; round < 2; round++) {
            pthread_t threads[THREADS];
            for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
            for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        }
    }
    MPI_Finalize();
    return 0;
}
