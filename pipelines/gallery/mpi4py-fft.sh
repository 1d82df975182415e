#!/usr/bin/env bash
# A transform of slabs with numpy and mpi4py (slab-fft.py): diffusion by Fourier transforms, by differences, and output, twice. POINTS is
# the number of points along an edge, default 64. PYTHON names the interpreter.
#
#   pipelines/gallery/mpi4py-fft.sh [OUTPUT-DIRECTORY]
source "$(dirname "$0")/recording.sh"
python=${PYTHON:-/usr/bin/python3}
application mpi4py-fft "python3-mpi4py python3-numpy" "$python"
if ! "$python" -c 'import mpi4py, numpy' 2> /dev/null; then
  echo "$name: not run, as $python has no mpi4py or numpy: apt install python3-mpi4py python3-numpy" >&2
  exit 77
fi
record "$python" "$gallery/slab-fft.py" "${POINTS:-64}"
sections '/^section: / { sub(/^section: /, ""); begin($0) }'
look
