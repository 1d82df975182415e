#!/usr/bin/env bash
# Quantum ESPRESSO: cell and atoms of a distorted crystal of silicon relax (pw.x): self-consistent cycles, and forces and stress after
# each. Its pseudopotential is made by ld1.x.
#
#   pipelines/gallery/quantum-espresso.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application quantum-espresso quantum-espresso pw.x ld1.x
cat > ld1.in << 'INPUT'
&input
  title = 'Si', zed = 14.0, rel = 1, config = '[Ne] 3s2 3p2 3d-2', iswitch = 3, dft = 'PBE'
/
&inputp
  lloc = 2, pseudotype = 1, file_pseudopw = 'Si.UPF', tm = .true.
/
3
3S 1 0 2.00 0.00 2.10 2.10 0.0
3P 2 1 2.00 0.00 2.10 2.10 0.0
3D 3 2 -2.00 0.15 2.10 2.10 0.0
INPUT
ld1.x < ld1.in > prepare.log 2>&1
cat > pw.in << 'INPUT'
&control
  calculation = 'vc-relax', pseudo_dir = '.', outdir = 'scratch', nstep = 8, forc_conv_thr = 2.0d-2, tprnfor = .true., tstress = .true.
/
&system
  ibrav = 1, celldm(1) = 10.0, nat = 8, ntyp = 1, ecutwfc = 20.0
/
&electrons
  conv_thr = 1.0d-8
/
&ions
/
&cell
  press_conv_thr = 10.0
/
ATOMIC_SPECIES
Si 28.086 Si.UPF
ATOMIC_POSITIONS crystal
Si 0.02 0.00 0.00
Si 0.25 0.25 0.25
Si 0.50 0.50 0.01
Si 0.75 0.75 0.25
Si 0.50 0.00 0.50
Si 0.75 0.26 0.75
Si 0.00 0.50 0.50
Si 0.25 0.75 0.75
K_POINTS automatic
1 1 1 1 1 1
INPUT
record pw.x -in pw.in
# Stress is announced when it is printed, so it is one section with forces. A last self-consistent cycle follows in the cell found.
sections '
  /^ *Self-consistent Calculation/ { begin("self-consistent") }
  /^ *End of self-consistent calculation/ { begin("forces and stress") }
  /^ *(BFGS Geometry Optimization|number of scf cycles|End of BFGS)/ { begin("move") }
  /^ *init_run/ { begin("end") }
'
look
