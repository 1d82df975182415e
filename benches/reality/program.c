/* An alltoall followed by an allreduce, some rounds each, marked with MPI_Pcontrol: 1 and 2. Rank 0 prints the name of each phase and its
   seconds between two barriers, then the processor time of all ranks. Connections are opened before.

   program BYTES-A-PAIR ALLTOALLS BYTES ALLREDUCES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    int rank, size;
    double begin, middle, end;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    int pair = atoi(argv[1]), alltoalls = atoi(argv[2]), doubles = atoi(argv[3]) / 8, allreduces = atoi(argv[4]);
    char *out = calloc(size, pair), *in = calloc(size, pair);
    double *mine = calloc(doubles, 8), *sum = calloc(doubles, 8);
    if (out == NULL || in == NULL || mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);

    MPI_Alltoall(out, 1, MPI_CHAR, in, 1, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    begin = MPI_Wtime();
    for (int i = 0; i < alltoalls; i++) MPI_Alltoall(out, pair, MPI_CHAR, in, pair, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(2);
    middle = MPI_Wtime();
    for (int i = 0; i < allreduces; i++) MPI_Allreduce(mine, sum, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    end = MPI_Wtime();
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double all, own = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("alltoall %.6f\nallreduce %.6f\nprocessor %.6f\n", middle - begin, end - middle, all);
    MPI_Finalize();
    return 0;
}
