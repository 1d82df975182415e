/* Every way to make messages that tests compare with Open MPI's own count; the argument names the subject. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64
#define UNIT 700 /* ints per peer: large enough for rendezvous when multiplied by the number of ranks */
static int rank, size;
static int *a, *b;
static int counts[MOST], places[MOST], byte_places[MOST];
static MPI_Datatype types[MOST];

static void ragged(int scale) {
    int place = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = scale * (i + 1);
        places[i] = place;
        byte_places[i] = place * (int)sizeof(int);
        place += counts[i];
        types[i] = MPI_INT;
    }
}

static void collectives(MPI_Comm comm) {
    static const int sizes[] = {1, 30, UNIT};
    for (int s = 0; s < 3; s++) {
        int n = sizes[s], root = s % size;
        MPI_Barrier(comm);
        MPI_Bcast(a, n * size, MPI_INT, root, comm);
        MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, root, comm);
        MPI_Scatter(a, n, MPI_INT, b, n, MPI_INT, root, comm);
        MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, comm);
        MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
        MPI_Reduce(a, b, n * size, MPI_INT, MPI_MAX, root, comm);
        MPI_Allreduce(a, b, n * size, MPI_INT, MPI_MAX, comm);
        MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_MAX, comm);
        MPI_Scan(a, b, n, MPI_INT, MPI_MAX, comm);
        MPI_Exscan(a, b, n, MPI_INT, MPI_MAX, comm);
        ragged(s + 1);
        MPI_Gatherv(a, counts[rank], MPI_INT, b, counts, places, MPI_INT, root, comm);
        MPI_Scatterv(a, counts, places, MPI_INT, b, counts[rank], MPI_INT, root, comm);
        MPI_Allgatherv(a, counts[rank], MPI_INT, b, counts, places, MPI_INT, comm);
        MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_MAX, comm);
        /* Equal between each pair: what i sends to j is what j sends to i. */
        for (int i = 0; i < size; i++) counts[i] = (s + 1) * (i + rank + 1), places[i] = i * 200, byte_places[i] = i * 800;
        MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, comm);
        MPI_Alltoallw(a, counts, byte_places, types, b, counts, byte_places, types, comm);
        MPI_Allgather(MPI_IN_PLACE, n, MPI_INT, b, n, MPI_INT, comm);
    }
}

static void nonblocking(MPI_Comm comm) {
    MPI_Request q[32];
    for (int s = 0; s < 3; s++) {
        int n = s == 0 ? 1 : s * 300, root = s % size, k = 0;
        int *out = b;
        ragged(s + 1);
        MPI_Ibarrier(comm, &q[k++]);
        MPI_Iallreduce(a, out, n, MPI_INT, MPI_MAX, comm, &q[k++]), out += n;
        MPI_Iallgather(a, n, MPI_INT, out, n, MPI_INT, comm, &q[k++]), out += n * size;
        MPI_Ialltoall(a, n, MPI_INT, out, n, MPI_INT, comm, &q[k++]), out += n * size;
        MPI_Igather(a, n, MPI_INT, out, n, MPI_INT, root, comm, &q[k++]), out += n * size;
        MPI_Iscatter(a, n, MPI_INT, out, n, MPI_INT, root, comm, &q[k++]), out += n;
        MPI_Ireduce(a, out, n, MPI_INT, MPI_MAX, root, comm, &q[k++]), out += n;
        MPI_Iscan(a, out, n, MPI_INT, MPI_MAX, comm, &q[k++]), out += n;
        MPI_Iexscan(a, out, n, MPI_INT, MPI_MAX, comm, &q[k++]), out += n;
        MPI_Ireduce_scatter_block(a, out, n, MPI_INT, MPI_MAX, comm, &q[k++]), out += n;
        MPI_Iallgatherv(a, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm, &q[k++]), out += 200 * size;
        MPI_Igatherv(a, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, comm, &q[k++]), out += 200 * size;
        MPI_Iscatterv(a, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, comm, &q[k++]), out += 200;
        MPI_Ireduce_scatter(a, out, counts, MPI_INT, MPI_MAX, comm, &q[k++]), out += 200;
        MPI_Ibcast(out, n, MPI_INT, root, comm, &q[k++]), out += n;
        MPI_Waitall(k, q, MPI_STATUSES_IGNORE);
    }
}

static void point_to_point(MPI_Comm comm) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag, n;
    MPI_Status status;
    MPI_Request q[4];
    MPI_Message message;
    for (int i = 0; i < 5; i++) {
        n = i * UNIT;
        MPI_Sendrecv(a, n, MPI_INT, next, i, b, n, MPI_INT, before, i, comm, &status);
        MPI_Sendrecv_replace(a, n, MPI_INT, next, i, before, i, comm, MPI_STATUS_IGNORE);
        MPI_Irecv(b, n + 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &q[0]); /* more room than needed */
        MPI_Isend(a, n, MPI_INT, next, 3, comm, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Irecv(b, n, MPI_INT, before, 4, comm, &q[0]);
        MPI_Ssend(a, n, MPI_INT, next, 4, comm);
        while (MPI_Test(&q[0], &flag, &status), !flag) {}
        MPI_Isend(a, n, MPI_INT, next, 5, comm, &q[0]);
        MPI_Probe(before, 5, comm, &status);
        MPI_Recv(b, n, MPI_INT, before, 5, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        MPI_Issend(a, n, MPI_INT, next, 6, comm, &q[0]);
        MPI_Mprobe(MPI_ANY_SOURCE, 6, comm, &message, &status);
        MPI_Mrecv(b, n, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&q[0], &status);
        MPI_Isend(a, n, MPI_INT, next, 7, comm, &q[0]);
        do MPI_Improbe(before, MPI_ANY_TAG, comm, &flag, &message, &status); while (!flag);
        MPI_Imrecv(b, n, MPI_INT, &message, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Send(a, n, MPI_INT, MPI_PROC_NULL, 8, comm);
        MPI_Recv(b, n, MPI_INT, MPI_PROC_NULL, 8, comm, &status);
        MPI_Barrier(comm);
    }
    int room = 4096 + MPI_BSEND_OVERHEAD;
    char *buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    MPI_Irecv(b, 9, MPI_INT, before, 9, comm, &q[0]);
    MPI_Bsend(a, 9, MPI_INT, next, 9, comm);
    MPI_Wait(&q[0], &status);
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    MPI_Irecv(b, 1, MPI_INT, before, 10, comm, &q[0]); /* never sent */
    MPI_Cancel(&q[0]);
    MPI_Wait(&q[0], &status);
}

/* 4 sends and 4 receives started 6 times. */
static void persistent(MPI_Comm comm) {
    MPI_Request q[8];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 4; i++) {
        MPI_Send_init(a, 1 + i * UNIT, MPI_INT, next, i, comm, &q[i]);
        MPI_Recv_init(b + i * 4 * UNIT, 1 + i * UNIT, MPI_INT, i % 2 ? MPI_ANY_SOURCE : before, i, comm, &q[4 + i]);
    }
    for (int i = 0; i < 6; i++) {
        if (i % 2) {
            MPI_Startall(8, q);
        } else {
            for (int k = 7; k >= 0; k--) MPI_Start(&q[k]);
        }
        MPI_Waitall(8, q, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 8; i++) MPI_Request_free(&q[i]);
}

static void communicators(void) {
    MPI_Comm half, copy, grid, row;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {0, 1}, split = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, split, -rank, &half);
    int me, all;
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &all);
    MPI_Allreduce(a, b, 10, MPI_INT, MPI_SUM, half);
    MPI_Sendrecv(a, 11, MPI_INT, (me + 1) % all, 1, b, 11, MPI_INT, (me + all - 1) % all, 1, half, MPI_STATUS_IGNORE);
    for (int i = 0; i < 200; i++) {
        MPI_Comm_dup(half, &copy);
        MPI_Bcast(a, 3, MPI_INT, 0, copy);
        MPI_Comm_free(&copy);
    }
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    if (grid != MPI_COMM_NULL) {
        MPI_Neighbor_allgather(a, 5, MPI_INT, b, 5, MPI_INT, grid);
        MPI_Neighbor_alltoall(a, 5, MPI_INT, b, 5, MPI_INT, grid);
        MPI_Cart_sub(grid, keep, &row);
        MPI_Allgather(a, 7, MPI_INT, b, 7, MPI_INT, row);
        MPI_Comm_free(&row);
        MPI_Comm_free(&grid);
    }
    MPI_Comm_free(&half);
}

static void intercommunicators(void) {
    MPI_Comm half, inter, merged;
    int me, all, split = rank % 2, other_leader = split ? 0 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, split, rank, &half);
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &all);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other_leader, 77, &inter);
    int there;
    MPI_Comm_remote_size(inter, &there);
    if (me < there && me < all) {
        MPI_Sendrecv(a, 13, MPI_INT, me, 2, b, 13, MPI_INT, me, 2, inter, MPI_STATUS_IGNORE);
    }
    MPI_Allgather(a, 2, MPI_INT, b, 2, MPI_INT, inter);
    MPI_Intercomm_merge(inter, split, &merged);
    MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void one_sided(void) {
    MPI_Win win;
    int next = (rank + 1) % size;
    MPI_Win_create(b, UNIT * MOST * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < 4; i++) {
        MPI_Win_fence(0, win);
        MPI_Put(a, 10 + i * UNIT, MPI_INT, next, 0, 10 + i * UNIT, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Get(a, 20, MPI_INT, next, 0, 20, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Accumulate(a, 30, MPI_INT, next, 0, 30, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(a, 40, MPI_INT, next, 3000 + 40 * rank, 40, MPI_INT, win);
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
}

static void files(const char *name) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Datatype stripes;
    MPI_Type_vector(20, 10, 10 * size, MPI_INT, &stripes);
    MPI_Type_commit(&stripes);
    MPI_File_set_view(file, (MPI_Offset)rank * 40, MPI_INT, stripes, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, a, 200, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, b, 200, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&stripes);
}

int main(int argc, char **argv) {
    const char *subject = argc > 1 ? argv[1] : "all";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    a = calloc(UNIT * MOST, sizeof(int));
    b = calloc(UNIT * MOST, sizeof(int));
#define IS(name) (!strcmp(subject, name) || !strcmp(subject, "all"))
    MPI_Pcontrol(1);
    if (IS("collectives")) collectives(MPI_COMM_WORLD);
    if (IS("nonblocking")) nonblocking(MPI_COMM_WORLD);
    if (IS("point_to_point")) point_to_point(MPI_COMM_WORLD);
    if (IS("persistent")) persistent(MPI_COMM_WORLD);
    if (IS("communicators")) communicators();
    if (IS("intercommunicators")) intercommunicators();
    if (IS("one_sided")) one_sided();
    if (!strcmp(subject, "files")) files(argc > 2 ? argv[2] : "file");
    MPI_Pcontrol(0);
    MPI_Finalize();
    return 0;
}
