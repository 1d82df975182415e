#!/usr/bin/env bash
# LAMMPS: a molten salt of 8 000 charged Lennard-Jones particles: minimised, run with cut-off charges, with charges on a mesh (PPPM, whose
# transforms send between all ranks), written to a file every five steps, and run with cut-off charges again.
#
#   pipelines/gallery/lammps.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application lammps lammps lmp
cat > salt.lammps << 'INPUT'
units lj
atom_style charge
lattice sc 0.7
region box block 0 20 0 20 0 20
create_box 2 box
create_atoms 1 box
set group all type/fraction 2 0.5 4711
set type 1 charge 1.0
set type 2 charge -1.0
mass * 1.0
displace_atoms all random 0.08 0.08 0.08 4711
velocity all create 1.5 4711
neighbor 0.3 bin
neigh_modify every 5 delay 0
thermo 20
pair_style lj/cut/coul/cut 2.5
pair_coeff * * 1.0 1.0
minimize 0.0 1.0e-3 30 60
fix move all nve
timestep 0.004
run 120
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-3
run 80
dump trajectory all custom 5 trajectory.txt id type x y z vx vy vz
run 60
undump trajectory
kspace_style none
pair_style lj/cut/coul/cut 2.5
pair_coeff * * 1.0 1.0
run 120
INPUT
record lmp -in salt.lammps -log none
# Each `run` is one stage; the third one writes.
sections '
  /^Setting up .* minimization/ { begin("minimise") }
  /^Setting up Verlet run/ { split("cut-off;mesh;mesh and output;cut-off", stage, ";"); begin(stage[++runs]) }
  /^Total wall time/ { begin("end") }
'
look
