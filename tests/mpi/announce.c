/* Preloaded into HPCC: when rank 0 announces a section ("Begin of X section."), it marks it with MPI_Pcontrol(n), n counting the
   sections from 1. Each mark is told on standard error: level, line, and seconds of MPI's clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void announce(const char *text, size_t length) {
    static int sections;
    int running = 0;
    if (length <= 9 || memcmp(text, "Begin of ", 9) != 0) return;
    MPI_Initialized(&running);
    if (!running) return;
    fprintf(stderr, "mark %d %.*s %.6f\n", ++sections, (int)length - 1, text, MPI_Wtime());
    MPI_Pcontrol(sections);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "fwrite");
    if (file != stderr) announce(data, size * count);
    return next(data, size, count, file);
}
