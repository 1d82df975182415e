/* A program whose phases are known: it marks the beginning of each with MPI_Pcontrol.

   phases [-b BYTES] [-c MICROSECONDS] PROGRAM
   program = item { "," item };  item = KIND [ ":" NUMBER ] [ "*" rounds ] | "(" program ")" "*" times

   KIND is halo, alltoall, transpose, hotspot, shift or allreduce, and NUMBER its bytes (default: -b, 4096), or idle, and NUMBER
   its milliseconds. Before a phase there is a barrier, unless all have just been idle; the mark comes after it, so each
   message belongs to the phase that its sender marked last. The level is the position, from 1, at which the item is named
   first; idle is 0. Each round ends with -c microseconds of computation. Rank 0 prints a line for each phase: level, item,
   rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size, columns, rows, bytes = 4096, compute_us = 0;
static char *out, *in;

static void fail(const char *problem, const char *at) {
    if (rank == 0) fprintf(stderr, "phases: %s at `%s`\n", problem, at);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void compute(void) {
    struct timespec now, begin;
    if (compute_us == 0) return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000L + (now.tv_nsec - begin.tv_nsec) / 1000 < compute_us);
}

/* To one rank and from another; either may be MPI_PROC_NULL. */
static void exchange(int to, int from, int n) {
    MPI_Sendrecv(out, n, MPI_CHAR, to, 1, in, n, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int neighbour(int row, int column) {
    return row < 0 || row >= rows || column < 0 || column >= columns ? MPI_PROC_NULL : row * columns + column;
}

static void halo(int n) {
    int row = rank / columns, column = rank % columns, count = 0;
    int to[4] = {neighbour(row - 1, column), neighbour(row + 1, column), neighbour(row, column - 1), neighbour(row, column + 1)};
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++) MPI_Irecv(in + (size_t)i * n, n, MPI_CHAR, to[i], 2, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 0; i < 4; i++) MPI_Isend(out, n, MPI_CHAR, to[i], 2, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* (i, j) to (j, i) where the grid is square, else to the mirror image. */
static void transpose(int n) {
    int partner = rows == columns ? rank % columns * columns + rank / columns : size - 1 - rank;
    if (partner != rank) exchange(partner, partner, n);
}

static void hotspot(int n) {
    if (rank != 0) {
        MPI_Send(out, n, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++) MPI_Recv(in, n, MPI_CHAR, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void round_of(const char *kind, int n) {
    if (strcmp(kind, "halo") == 0) halo(n);
    else if (strcmp(kind, "alltoall") == 0) MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
    else if (strcmp(kind, "transpose") == 0) transpose(n);
    else if (strcmp(kind, "hotspot") == 0) hotspot(n);
    else if (strcmp(kind, "shift") == 0) exchange((rank + 1) % size, (rank + size - 1) % size, n);
    else if (strcmp(kind, "allreduce") == 0) MPI_Allreduce(out, in, n, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    else fail("unknown kind", kind);
    compute();
}

/* The items so far by their text, for levels. */
static char known[256][64];
static int items;

static int level_of(const char *text) {
    for (int i = 0; i < items; i++)
        if (strcmp(known[i], text) == 0) return i + 1;
    if (items == 256) fail("too many kinds", text);
    strcpy(known[items++], text);
    return items;
}

static void phase(const char *text, long rounds) {
    static int idled;
    char kind[64];
    strcpy(kind, text);
    char *colon = strchr(kind, ':');
    int number = bytes;
    if (colon != NULL) {
        *colon = 0;
        number = atoi(colon + 1);
    }
    if (!idled) MPI_Barrier(MPI_COMM_WORLD);
    idled = strcmp(kind, "idle") == 0;
    if (idled) {
        MPI_Pcontrol(0);
        usleep((useconds_t)(colon != NULL ? number : 10) * 1000);
        if (rank == 0) printf("0 %s\n", text);
        return;
    }
    if (number < 0 || number > 1 << 20) fail("too many bytes", text);
    int level = level_of(text);
    MPI_Pcontrol(level);
    if (rank == 0) printf("%d %s*%ld\n", level, text, rounds);
    for (long i = 0; i < rounds; i++) round_of(kind, number);
}

static long times(const char **at) {
    if (**at != '*') return 1;
    char *end;
    long count = strtol(*at + 1, &end, 10);
    if (count < 1) fail("expected a number from 1", *at);
    *at = end;
    return count;
}

/* Runs what begins at `at`, or passes it if it is not to be done; returns the end. */
static const char *program(const char *at, int done) {
    for (;;) {
        if (*at == '(') {
            const char *inner = at + 1, *end = program(inner, 0);
            if (*end++ != ')') fail("expected )", at);
            long count = times(&end);
            for (long i = 0; done && i < count; i++) program(inner, 1);
            at = end;
        } else {
            char text[64] = "";
            size_t length = strcspn(at, ",*()");
            if (length == 0 || length >= sizeof text) fail("expected a phase", at);
            memcpy(text, at, length);
            at += length;
            long rounds = times(&at);
            if (done) phase(text, rounds);
        }
        if (*at != ',') return at;
        at++;
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (rows = 1; (rows + 1) * (rows + 1) <= size; rows++) {}
    while (size % rows != 0) rows--;
    columns = size / rows;
    for (int option; (option = getopt(argc, argv, "b:c:")) != -1;) {
        if (option == 'b') bytes = atoi(optarg);
        else if (option == 'c') compute_us = atoi(optarg);
        else fail("unknown option", argv[optind - 1]);
    }
    if (optind + 1 != argc) fail("expected one program", argc > 0 ? argv[0] : "");
    size_t largest = (size_t)(size > 4 ? size : 4) << 20;
    out = calloc(largest, 1);
    in = calloc(largest, 1);
    if (out == NULL || in == NULL) fail("no memory", argv[optind]);
    const char *end = program(argv[optind], 1);
    if (*end != 0) fail("expected the end", end);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
