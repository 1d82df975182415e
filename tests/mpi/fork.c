/* A forked child that calls MPI by mistake must not write into its parent's recording. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int a = 1, b, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&a, 1, MPI_INT, rank, 1, &b, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pid_t child = fork();
    if (child == 0) {
        MPI_Pcontrol(77);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    MPI_Sendrecv(&a, 1, MPI_INT, rank, 1, &b, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
