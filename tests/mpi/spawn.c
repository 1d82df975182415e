/* Two ranks spawn two more and talk to them. */
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Comm parent, other;
    int rank, value = 5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    other = parent;
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    }
    MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 1, rank, 1, other, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return 0;
}
