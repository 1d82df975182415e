/* Two ranks: latency (ping-pong) and message rate (windows of 64), as medians over short blocks, in nanoseconds a message.
 * Arguments: pingpong|rate BYTES BLOCKS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64

static int ascending(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

int main(int argc, char **argv) {
    int rank, rate = !strcmp(argv[1], "rate"), bytes = atoi(argv[2]), blocks = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank, each = rate ? 20 : 500;
    char *buffer = calloc(WINDOW, bytes + 1), token;
    double *times = calloc(blocks, sizeof(double));
    MPI_Request q[WINDOW];
    for (int block = -10; block < blocks; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < each; i++) {
            if (rate) {
                for (int k = 0; k < WINDOW; k++) {
                    char *place = buffer + (size_t)k * bytes;
                    if (rank == 0) MPI_Isend(place, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, &q[k]);
                    else MPI_Irecv(place, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, &q[k]);
                }
                MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE);
                if (rank == 0) MPI_Recv(&token, 1, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                else MPI_Send(&token, 1, MPI_CHAR, other, 2, MPI_COMM_WORLD);
            } else if (rank == 0) {
                MPI_Send(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
                MPI_Recv(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
            }
        }
        double time = MPI_Wtime() - start;
        if (block >= 0) times[block] = time / each / (rate ? WINDOW : 2) * 1e9;
    }
    qsort(times, blocks, sizeof(double), ascending);
    if (rank == 0) printf("%.1f %.1f\n", times[blocks / 2], times[blocks / 10]);
    MPI_Finalize();
    return 0;
}
