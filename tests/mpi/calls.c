/* One call of each kind with sizes that tests know. Three ranks. MPI_DATATYPE_NULL stands where an argument means nothing. */
#include <mpi.h>
#include <stdlib.h>

static int rank, size;
static double a[4096], b[4096];
static MPI_Datatype types[3];

#define EACH(S, COUNT, PLACE, CALL)                                                                                    \
    do {                                                                                                               \
        COUNT growing[3], mixed[3];                                                                                    \
        PLACE places[3], apart[3];                                                                                     \
        int place = 0;                                                                                                 \
        for (int i = 0; i < 3; i++) {                                                                                  \
            growing[i] = i + 1, mixed[i] = i + rank, places[i] = place, apart[i] = 100 * i;                            \
            types[i] = mixed[i] ? MPI_INT : MPI_BYTE, place += i + 1;                                                  \
        }                                                                                                              \
        int top = rank == 2;                                                                                           \
        MPI_Datatype none = MPI_DATATYPE_NULL, d = MPI_DOUBLE;                                                         \
        CALL(Bcast, bcast, S, (a, 5, d, 1, comm));                                                                     \
        CALL(Gather, gather, S, (a, 5, d, b, 5, d, 2, comm));                                                          \
        CALL(Gather, gather, S, (top ? MPI_IN_PLACE : a, top ? 0 : 5, top ? none : d, b, 5, top ? d : none, 2, comm)); \
        CALL(Gatherv, gatherv, S, (a, rank + 1, d, b, growing, places, d, 0, comm));                                   \
        CALL(Scatter, scatter, S, (a, 5, d, b, 5, d, 1, comm));                                                        \
        CALL(Scatterv, scatterv, S, (a, growing, places, d, b, rank + 1, d, 0, comm));                                 \
        CALL(Allgather, allgather, S, (a, 5, d, b, 5, d, comm));                                                       \
        CALL(Allgather, allgather, S, (MPI_IN_PLACE, 0, none, b, 5, d, comm));                                         \
        CALL(Allgatherv, allgatherv, S, (a, rank + 1, d, b, growing, places, d, comm));                                \
        CALL(Alltoall, alltoall, S, (a, 5, d, b, 5, d, comm));                                                         \
        CALL(Alltoallv, alltoallv, S, (a, mixed, apart, d, b, mixed, apart, d, comm));                                 \
        CALL(Reduce, reduce, S, (a, b, 5, d, MPI_SUM, 2, comm));                                                       \
        CALL(Allreduce, allreduce, S, (a, b, 5, d, MPI_SUM, comm));                                                    \
        CALL(Reduce_scatter, reduce_scatter, S, (a, b, growing, d, MPI_SUM, comm));                                    \
        CALL(Reduce_scatter_block, reduce_scatter_block, S, (a, b, 5, d, MPI_SUM, comm));                              \
        CALL(Scan, scan, S, (a, b, 5, d, MPI_SUM, comm));                                                              \
        CALL(Exscan, exscan, S, (a, b, 5, d, MPI_SUM, comm));                                                          \
    } while (0)

#define INNER(...) __VA_ARGS__
#define BLOCKING(name, lower, S, arguments) MPI_##name##S arguments
#define STARTED(name, lower, S, arguments)                                                                             \
    do {                                                                                                               \
        MPI_Request q;                                                                                                 \
        MPI_I##lower##S(INNER arguments, &q);                                                                          \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                                               \
    } while (0)
/* Twice, by either call. */
#define PREPARED(name, lower, S, arguments)                                                                            \
    do {                                                                                                               \
        MPI_Request q;                                                                                                 \
        MPI_##name##_init##S(INNER arguments, MPI_INFO_NULL, &q);                                                      \
        MPI_Start(&q);                                                                                                 \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                                               \
        MPI_Startall(1, &q);                                                                                           \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                                               \
        MPI_Request_free(&q);                                                                                          \
    } while (0)

static void wide(MPI_Comm comm) {
#if MPI_VERSION >= 4
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request q[2];
    EACH(_c, MPI_Count, MPI_Aint, BLOCKING);
    EACH(_c, MPI_Count, MPI_Aint, STARTED);
    EACH(, int, int, PREPARED);
    EACH(_c, MPI_Count, MPI_Aint, PREPARED);
    /* 11 + 12 + 13 + 14 + 15 bytes to the next rank. */
    MPI_Sendrecv_c(a, 11, MPI_BYTE, next, 1, b, 99, MPI_BYTE, before, 1, comm, MPI_STATUS_IGNORE);
    MPI_Isendrecv(a, 12, MPI_BYTE, next, 2, b, 99, MPI_BYTE, before, 2, comm, q);
    MPI_Wait(q, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace_c(a, 13, MPI_BYTE, next, 3, before, 3, comm, q);
    MPI_Wait(q, MPI_STATUS_IGNORE);
    MPI_Irecv_c(b, 99, MPI_BYTE, before, 4, comm, &q[0]);
    MPI_Isend_c(a, 14, MPI_BYTE, next, 4, comm, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Isend_c(a, 15, MPI_BYTE, next, 5, comm, &q[0]);
    MPI_Recv_c(b, 99, MPI_BYTE, before, 5, comm, MPI_STATUS_IGNORE);
    MPI_Wait(q, MPI_STATUS_IGNORE);
#endif
}

/* Ranks 0 and 2 on one side, 1 on the other. */
static void across(void) {
    MPI_Comm half, inter;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    int odd = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 7, &inter);
    MPI_Bcast(a, 5, MPI_DOUBLE, odd ? MPI_ROOT : 0, inter);
    if (odd) MPI_Gather(a, 5, MPI_DOUBLE, NULL, 0, none, 0, inter);
    else if (rank == 0) MPI_Gather(NULL, 0, none, b, 5, MPI_DOUBLE, MPI_ROOT, inter);
    else MPI_Gather(NULL, 0, none, NULL, 0, none, MPI_PROC_NULL, inter);
    MPI_Alltoall(a, 5, MPI_DOUBLE, b, 5, MPI_DOUBLE, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    across();
    EACH(, int, int, BLOCKING);
    EACH(, int, int, STARTED);
    wide(comm);
    MPI_Finalize();
    return 0;
}
