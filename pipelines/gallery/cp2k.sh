#!/usr/bin/env bash
# CP2K: molecular dynamics of eight molecules of water by density functional theory (Quickstep). In each step a self-consistent cycle,
# then forces. Orbitals are orthogonalized between.
#
#   pipelines/gallery/cp2k.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application cp2k cp2k cp2k.psmp
{
  cat << 'INPUT'
&GLOBAL
  PROJECT water
  RUN_TYPE MD
  PRINT_LEVEL LOW
&END GLOBAL
&MOTION
  &MD
    ENSEMBLE NVE
    STEPS 5
    TIMESTEP 0.5
    TEMPERATURE 300
  &END MD
&END MOTION
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME BASIS_MOLOPT
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 140
    &END MGRID
    &QS
      EPS_DEFAULT 1.0E-10
    &END QS
    &SCF
      SCF_GUESS ATOMIC
      EPS_SCF 1.0E-5
      MAX_SCF 40
      &OT
        MINIMIZER DIIS
        PRECONDITIONER FULL_SINGLE_INVERSE
      &END OT
    &END SCF
    &XC
      &XC_FUNCTIONAL PBE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC 6.2 6.2 6.2
    &END CELL
    &KIND H
      BASIS_SET SZV-MOLOPT-SR-GTH
      POTENTIAL GTH-PBE-q1
    &END KIND
    &KIND O
      BASIS_SET SZV-MOLOPT-SR-GTH
      POTENTIAL GTH-PBE-q6
    &END KIND
    &COORD
INPUT
  # A molecule in each corner of a cube, each turned by another angle.
  awk 'BEGIN { for (m = 0; m < 8; m++) { x = 3.1 * (m % 2) + 0.8; y = 3.1 * (int(m / 2) % 2) + 0.8; z = 3.1 * int(m / 4) + 0.8; a = m * 0.9
    printf "O %.4f %.4f %.4f\nH %.4f %.4f %.4f\nH %.4f %.4f %.4f\n", x, y, z, x + 0.96 * cos(a), y + 0.96 * sin(a), z,
      x + 0.96 * cos(a + 1.82), y + 0.96 * sin(a + 1.82), z } }'
  cat << 'INPUT'
    &END COORD
  &END SUBSYS
&END FORCE_EVAL
INPUT
} > water.inp
record cp2k.psmp -i water.inp
sections '
  /SCF WAVEFUNCTION OPTIMIZATION/ { begin("self-consistent") }
  /SCF run converged/ { begin("forces and step") }
  /TIMING|DBCSR STATISTICS/ { begin("end") }
'
look
