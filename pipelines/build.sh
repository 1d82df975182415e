# Sourced by the pipelines: puts the five commands on PATH. PHASEFLOW_BIN names a directory that has them already;
# otherwise they are built from this checkout, or, outside of one, taken from where `cargo install` put them.
if [ -n "${PHASEFLOW_BIN:-}" ]; then
  PATH="$PHASEFLOW_BIN:$PATH"
elif [ -f "$(dirname "${BASH_SOURCE[0]}")/../Cargo.toml" ]; then
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  cargo build --release --quiet --manifest-path "$root/Cargo.toml"
  PATH="${CARGO_TARGET_DIR:-$root/target}/release:$PATH"
fi
export PATH
