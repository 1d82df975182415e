# Sourced by the pipelines: puts the five commands on PATH. PHASEFLOW_BIN names a directory that has them; otherwise
# installed ones are taken, and where there are none they are built from this checkout.
if [ -n "${PHASEFLOW_BIN:-}" ]; then
  PATH="$PHASEFLOW_BIN:$PATH"
elif command -v pf-profile pf-collect pf-segment pf-simulate pf-report | [ "$(wc -l)" = 5 ]; then
  :
elif [ -f "$(dirname "${BASH_SOURCE[0]}")/../Cargo.toml" ]; then
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  cargo build --release --quiet --manifest-path "$root/Cargo.toml"
  PATH="${CARGO_TARGET_DIR:-$root/target}/release:$PATH"
else
  echo "$(basename "$0"): the commands of PhaseFlow are not on PATH; name their directory in PHASEFLOW_BIN" >&2
  exit 1
fi
export PATH
