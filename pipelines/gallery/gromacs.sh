#!/usr/bin/env bash
# GROMACS: a box of water, electrostatics by particle-mesh Ewald on a quarter of the ranks, which GROMACS balances against the others at
# the beginning of the run ("timed with pme grid …").
#
#   pipelines/gallery/gromacs.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application gromacs gromacs gmx gmx_mpi
cat > water.mdp << 'INPUT'
integrator = md
dt = 0.002
nsteps = 1000
nstlog = 100
nstenergy = 50
nstxout = 100
nstvout = 100
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
gen-vel = yes
gen-seed = 4711
INPUT
cat > water.top << 'INPUT'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
INPUT
# Molecules that meet at the sides of the box must move apart first.
printf 'integrator = steep\nnsteps = 100\ncutoff-scheme = Verlet\ncoulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\n' > apart.mdp
{
  gmx solvate -cs spc216.gro -box 4.4 4.4 4.4 -o box.gro -p water.top
  gmx grompp -f apart.mdp -c box.gro -p water.top -o apart.tpr -maxwarn 1
  gmx mdrun -ntmpi 1 -deffnm apart
  gmx grompp -f water.mdp -c apart.gro -p water.top -o water.tpr -maxwarn 1
} > prepare.log 2>&1
pme=$((ranks / 4))
record gmx_mpi mdrun -s water.tpr -deffnm water -ntomp 1 -npme "$pme" -v -stepout 20 -pin off
sections '
  /^starting mdrun/ { begin("steps") }
  /timed with pme grid/ { begin("steps while the grid is chosen") }
  /optimal pme grid/ { begin("steps") }
  /^Writing final coordinates/ { begin("end") }
'
look
