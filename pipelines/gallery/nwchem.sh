#!/usr/bin/env bash
# NWChem: two molecules of water by four methods, one after the other: Hartree-Fock with gradient, density functional theory, MP2, and
# coupled clusters.
#
#   pipelines/gallery/nwchem.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application nwchem nwchem-openmpi nwchem.openmpi
cat > water.nw << 'INPUT'
start water
geometry units angstrom
  O 0.000 0.000 0.000
  H 0.757 0.586 0.000
  H -0.757 0.586 0.000
  O 0.000 0.100 2.900
  H 0.757 0.686 2.900
  H -0.757 0.686 2.900
end
basis
  * library 6-31g*
end
task scf gradient
dft
  xc b3lyp
end
task dft energy
task mp2 energy
task ccsd energy
INPUT
record nwchem.openmpi water.nw
# An energy is followed by an analysis of orbitals and charges. Coupled clusters begin by finding the Hartree-Fock energy converged.
sections '
  /NWChem SCF Module/ { begin("hartree-fock") }
  /Final RHF +results|Total DFT energy/ { begin("analysis") }
  /NWChem Gradients Module/ { begin("gradient") }
  /NWChem DFT Module/ { begin("density functional") }
  /NWChem MP2 Semi-direct/ { begin("mp2") }
  /Four-Index Transformation/ { begin("coupled clusters") }
  /GA Statistics/ { begin("end") }
'
look
