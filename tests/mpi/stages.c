/* Runs a LAMMPS script line by line through the library of LAMMPS (liblammps.so.0, apt: liblammps0) and marks its stages.

   stages SCRIPT

   A line `#mark LEVEL` becomes a barrier and MPI_Pcontrol(LEVEL), so each message belongs to the stage its sender marked last. Other
   lines go to LAMMPS as they are; lines that are continued are not joined. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* As in lammps/library.h, which is in another package. */
void *lammps_open(int argc, char **argv, MPI_Comm comm, void **handle);
char *lammps_command(void *handle, const char *command);
int lammps_has_error(void *handle);
void lammps_close(void *handle);

int main(int argc, char **argv) {
    char *options[] = {"stages", "-log", "none", "-screen", "none", NULL};
    char line[1024];
    MPI_Init(&argc, &argv);
    FILE *script = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (script == NULL) {
        fprintf(stderr, "stages: expected a LAMMPS script\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    void *lammps = lammps_open(5, options, MPI_COMM_WORLD, NULL);
    while (fgets(line, sizeof line, script) != NULL) {
        int level;
        if (sscanf(line, "#mark %d", &level) == 1) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Pcontrol(level);
            continue;
        }
        line[strcspn(line, "\n")] = 0;
        lammps_command(lammps, line);
        if (lammps_has_error(lammps)) {
            fprintf(stderr, "stages: LAMMPS refuses `%s`\n", line);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    fclose(script);
    lammps_close(lammps);
    MPI_Finalize();
    return 0;
}
