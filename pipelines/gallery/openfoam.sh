#!/usr/bin/env bash
# OpenFOAM: flow in a cube whose lid moves (icoFoam, 48 x 48 x 48 cells). Pressure and velocity are solved in each time step; every fifth
# step, fields are written.
#
#   pipelines/gallery/openfoam.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
application openfoam openfoam icoFoam blockMesh decomposePar
mkdir -p system constant 0
# Its own configuration, where Debian's package has it and no shell has set it up.
export WM_PROJECT_DIR=${WM_PROJECT_DIR:-/usr/share/openfoam}
# dictionary CLASS OBJECT: the head of each of its files.
dictionary() {
  printf 'FoamFile { version 2.0; format ascii; class %s; object %s; }\n' "$1" "$2"
}
{
  dictionary dictionary blockMeshDict
  cat << INPUT
convertToMeters 0.1;
vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 1) (1 0 1) (1 1 1) (0 1 1));
blocks (hex (0 1 2 3 4 5 6 7) (${CELLS:-48} ${CELLS:-48} ${CELLS:-48}) simpleGrading (1 1 1));
edges ();
boundary
(
  lid { type wall; faces ((3 7 6 2)); }
  walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0) (0 3 2 1) (4 5 6 7)); }
);
INPUT
} > system/blockMeshDict
{
  dictionary dictionary controlDict
  cat << 'INPUT'
application icoFoam;
startFrom startTime; startTime 0; stopAt endTime; endTime 0.03; deltaT 0.0015;
writeControl timeStep; writeInterval 5; writeFormat ascii; writePrecision 6; timeFormat general; timePrecision 6;
runTimeModifiable false;
INPUT
} > system/controlDict
{
  dictionary dictionary fvSchemes
  cat << 'INPUT'
ddtSchemes { default Euler; }
gradSchemes { default Gauss linear; }
divSchemes { default none; div(phi,U) Gauss linear; }
laplacianSchemes { default Gauss linear orthogonal; }
interpolationSchemes { default linear; }
snGradSchemes { default orthogonal; }
INPUT
} > system/fvSchemes
{
  dictionary dictionary fvSolution
  cat << 'INPUT'
solvers
{
  p { solver PCG; preconditioner DIC; tolerance 1e-05; relTol 0.05; }
  pFinal { $p; relTol 0; }
  U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-05; relTol 0; }
}
PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }
INPUT
} > system/fvSolution
# Debian's package cannot partition by graphs: pencils through the cube, as square as the number of ranks allows.
rows=$(awk -v n="$ranks" 'BEGIN { for (r = int(sqrt(n)); n % r; r--); print r }')
{
  dictionary dictionary decomposeParDict
  echo "numberOfSubdomains $ranks; method simple; simpleCoeffs { n ($((ranks / rows)) $rows 1); delta 0.001; }"
} > system/decomposeParDict
{ dictionary dictionary transportProperties; echo 'nu [0 2 -1 0 0 0 0] 0.01;'; } > constant/transportProperties
{
  dictionary volScalarField p
  echo 'dimensions [0 2 -2 0 0 0 0]; internalField uniform 0; boundaryField { lid { type zeroGradient; } walls { type zeroGradient; } }'
} > 0/p
{
  dictionary volVectorField U
  echo 'dimensions [0 1 -1 0 0 0 0]; internalField uniform (0 0 0);'
  echo 'boundaryField { lid { type fixedValue; value uniform (1 0 0); } walls { type noSlip; } }'
} > 0/U
{ blockMesh; decomposePar; } > prepare.log 2>&1
record icoFoam -parallel
# A step ends with the line ExecutionTime; what comes between its last correction and that line is output, where fields are written.
sections '
  /^Time = / { steps++; corrections = 0; begin("steps") }
  /^time step continuity errors/ && ++corrections == 2 && steps % 5 == 0 { begin("output") }
  /^End/ { begin("end") }
'
# Within a step, each line comes at the end of a solver: velocity, then pressure twice, the second time to a finer tolerance.
sections '
  /^Time = / { steps++; corrections = 0; begin("velocity") }
  /Solving for Uz/ { begin("pressure") }
  /^time step continuity errors/ {
    if (++corrections == 1) begin("finer pressure")
    else if (steps % 5 == 0) begin("output")
  }
  /^End/ { begin("end") }
' log inner.csv
look
