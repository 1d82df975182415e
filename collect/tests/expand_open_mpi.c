/* Carries out the collectives listed in a file, one a line: operation root irregular count type_bytes commutative.
 * With irregular counts, rank (or pair, or edge) i has count · ((7i + 3) mod 5) elements. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int irregular, base;

static int count_of(int i) { return irregular ? base * ((i * 7 + 3) % 5) : base; }

static void keep(void *in, void *out, int *n, MPI_Datatype *type) { (void)in, (void)out, (void)n, (void)type; }

int main(int argc, char **argv) {
    int ranks, rank, root, type_bytes, commutative;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    MPI_Op ops[2];
    MPI_Op_create(keep, 0, &ops[0]);
    MPI_Op_create(keep, 1, &ops[1]);
    MPI_Datatype triple, *types = malloc(sizeof(MPI_Datatype) * ranks);
    MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
    MPI_Type_commit(&triple);
    /* A ring: neighbour 0 is the rank before, neighbour 1 the one after. */
    int next[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks}, wrap = 1;
    MPI_Comm world = MPI_COMM_WORLD, ring;
    MPI_Cart_create(world, 1, &ranks, &wrap, 0, &ring);

    /* Counts and element offsets of what is sent (s) and received (r); the latter also in bytes for alltoallw. */
    int *s = malloc(sizeof(int) * ranks), *s_at = malloc(sizeof(int) * ranks), *s_bytes = malloc(sizeof(int) * ranks);
    int *r = malloc(sizeof(int) * ranks), *r_at = malloc(sizeof(int) * ranks), *r_bytes = malloc(sizeof(int) * ranks);
    FILE *cases = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!cases) MPI_Abort(world, 2);
    while (fscanf(cases, "%63s %d %d %d %d %d", name, &root, &irregular, &base, &type_bytes, &commutative) == 6) {
        MPI_Datatype t = type_bytes == 1 ? MPI_UNSIGNED_CHAR : type_bytes == 4 ? MPI_INT : type_bytes == 8 ? MPI_DOUBLE : triple;
        MPI_Op op = ops[commutative];
        int n = base, sent = 0, received = 0, pairs = !strcmp(name, "alltoallv") || !strcmp(name, "alltoallw");
        for (int i = 0; i < ranks; i++) {
            s[i] = count_of(pairs ? rank * ranks + i : i), s_at[i] = sent, s_bytes[i] = sent * type_bytes, sent += s[i];
            r[i] = count_of(pairs ? i * ranks + rank : i), r_at[i] = received, r_bytes[i] = received * type_bytes, received += r[i];
            types[i] = t;
        }
        size_t room = ((size_t)sent + received + (size_t)(n + 1) * (ranks + 8)) * type_bytes;
        char *a = calloc(room, 1), *b = calloc(room, 1);
        int give[2], take[2], none[2] = {0, 0}, per_rank = !strcmp(name, "neighbor_allgatherv");
        MPI_Aint start[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            give[i] = count_of(per_rank ? rank : 2 * rank + i);
            take[i] = count_of(per_rank ? next[i] : 2 * next[i] + 1 - i);
        }
#define CASE(operation, call) else if (!strcmp(name, operation)) call;
        if (!strcmp(name, "barrier")) MPI_Barrier(world);
        CASE("bcast", MPI_Bcast(a, n, t, root, world))
        CASE("reduce", MPI_Reduce(a, b, n, t, op, root, world))
        CASE("allreduce", MPI_Allreduce(a, b, n, t, op, world))
        CASE("scan", MPI_Scan(a, b, n, t, op, world))
        CASE("exscan", MPI_Exscan(a, b, n, t, op, world))
        CASE("gather", MPI_Gather(a, n, t, b, n, t, root, world))
        CASE("gatherv", MPI_Gatherv(a, s[rank], t, b, r, r_at, t, root, world))
        CASE("scatter", MPI_Scatter(a, n, t, b, n, t, root, world))
        CASE("scatterv", MPI_Scatterv(a, s, s_at, t, b, r[rank], t, root, world))
        CASE("allgather", MPI_Allgather(a, n, t, b, n, t, world))
        CASE("allgatherv", MPI_Allgatherv(a, s[rank], t, b, r, r_at, t, world))
        CASE("alltoall", MPI_Alltoall(a, n, t, b, n, t, world))
        CASE("alltoallv", MPI_Alltoallv(a, s, s_at, t, b, r, r_at, t, world))
        CASE("alltoallw", MPI_Alltoallw(a, s, s_bytes, types, b, r, r_bytes, types, world))
        CASE("reduce_scatter", MPI_Reduce_scatter(a, b, r, t, op, world))
        CASE("reduce_scatter_block", MPI_Reduce_scatter_block(a, b, n, t, op, world))
        CASE("neighbor_allgather", MPI_Neighbor_allgather(a, n, t, b, n, t, ring))
        CASE("neighbor_allgatherv", MPI_Neighbor_allgatherv(a, give[0], t, b, take, none, t, ring))
        CASE("neighbor_alltoall", MPI_Neighbor_alltoall(a, n, t, b, n, t, ring))
        CASE("neighbor_alltoallv", MPI_Neighbor_alltoallv(a, give, none, t, b, take, none, t, ring))
        CASE("neighbor_alltoallw", MPI_Neighbor_alltoallw(a, give, start, types, b, take, start, types, ring))
        else MPI_Abort(world, 3);
        free(a), free(b);
    }
    MPI_Finalize();
    return 0;
}
