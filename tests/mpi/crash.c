/* Sends numbered messages round a ring until it is ended; the number of those whose call has returned is in a mapped file,
 * argv[2]/RANK. argv[1] says how rank 1 ends itself after argv[3] microseconds: kill, abort, segfault, exit. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static const char *how;
static void end(int number) {
    (void)number;
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segfault")) signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
    if (!strcmp(how, "exit")) _exit(3);
}

int main(int argc, char **argv) {
    int rank, size;
    how = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", argv[2], rank);
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 8)) return 1;
    volatile long *done = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (rank == 1) {
        signal(SIGALRM, end);
        struct itimerval in = {{0, 0}, {0, atoi(argv[3])}};
        setitimer(ITIMER_REAL, &in, NULL);
    }
    for (;;) {
        char a[64] = {0}, b[64];
        MPI_Sendrecv(a, *done % 64, MPI_CHAR, (rank + 1) % size, 1, b, 64, MPI_CHAR, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        *done += 1;
    }
}
