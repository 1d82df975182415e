/* Programs for real networks. Each warms up its connections, marks its beginning with MPI_Pcontrol(1) and its end with 2, and rank 0 prints
   the seconds between two barriers, then the processor time of all ranks. Computation is sleep, as hosts share processors.

   program halo ROUNDS BYTES COMPUTE-US      faces with the neighbours of a periodic grid of RANKS/2 × 2
   program alltoall ROUNDS BYTES COMPUTE-US  BYTES for each pair
   program allreduce ROUNDS BYTES COMPUTE-US a vector of BYTES
   program training ROUNDS - COMPUTE-US      epochs of shuffled samples and 15 steps of gradients in four layers: pipelines/training.py
   program pingpong ROUNDS MOST -            rank 0 and 1, sizes around the powers of two up to MOST; all others wait in a barrier */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static int rank, size;
/* What is sent and received; no round takes more of them. */
static char out[8 << 20], in[8 << 20];

static void compute(int us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000L};
    nanosleep(&time, NULL);
}

static void halo(int bytes) {
    int rows = size / 2, row = rank / 2, column = rank % 2;
    int neighbours[4] = {(row + rows - 1) % rows * 2 + column, (row + 1) % rows * 2 + column, row * 2 + (column ^ 1), row * 2 + (column ^ 1)};
    int opposite[4] = {1, 0, 3, 2};
    MPI_Request requests[8];
    for (int k = 0; k < 4; k++) MPI_Irecv(in + k * (size_t)bytes, bytes, MPI_CHAR, neighbours[k], k, MPI_COMM_WORLD, requests + k);
    for (int k = 0; k < 4; k++) MPI_Isend(out + k * (size_t)bytes, bytes, MPI_CHAR, neighbours[k], opposite[k], MPI_COMM_WORLD, requests + 4 + k);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static void alltoall(int bytes) {
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void allreduce(int bytes) {
    MPI_Allreduce(out, in, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void training(int us) {
    static const int layers[4] = {10240, 262144, 73728, 9408};
    for (int distance = 1; distance < size; distance++)
        MPI_Sendrecv(out, 64 << 10, MPI_CHAR, (rank + distance) % size, 0, in, 64 << 10, MPI_CHAR, (rank - distance + size) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int step = 0; step < 15; step++) {
        compute(us);
        for (int layer = 0; layer < 4; layer++) allreduce(4 * layers[layer]);
    }
}

static void play(int bytes) {
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static void pingpong(int most, int rounds) {
    if (rank < 2)
        for (int power = 1; power <= most; power *= 2) {
            /* Just below the power, where limits of libraries are that count their header, the power, and half as much again. */
            int sizes[3] = {power - 64, power, power + power / 2};
            for (int kind = power > 128 ? 0 : 1; kind < (power > 1 ? 3 : 2); kind++)
                for (int i = 0; i < rounds; i++) play(sizes[kind]);
        }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run(const char *what, int rounds, int bytes, int us) {
    if (strcmp(what, "pingpong") == 0) {
        pingpong(bytes, rounds);
        return;
    }
    for (int i = 0; i < rounds; i++) {
        if (strcmp(what, "training") == 0) {
            training(us);
            continue;
        }
        compute(us);
        if (strcmp(what, "halo") == 0) halo(bytes);
        else if (strcmp(what, "alltoall") == 0) alltoall(bytes);
        else allreduce(bytes);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    int rounds = atoi(argv[2]), bytes = atoi(argv[3]), us = atoi(argv[4]);
    if (bytes < 0 || size < 4 || (double)size * bytes > sizeof out) MPI_Abort(MPI_COMM_WORLD, 2);
    /* Connections are opened, and memory is touched. */
    alltoall(1);
    run(argv[1], 1, bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    double begin = MPI_Wtime();
    run(argv[1], rounds, bytes, us);
    MPI_Barrier(MPI_COMM_WORLD);
    double end = MPI_Wtime();
    MPI_Pcontrol(2);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double all, own = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("seconds %.6f\nprocessor %.6f\n", end - begin, all);
    MPI_Finalize();
    return 0;
}
