//! The `.meta` file of a run: lines of `key=value`.

/// True for the beginning of a `.meta` file.
pub(in crate::import) fn is_meta(prefix: &[u8]) -> bool {
    let has = |key: &str| prefix.split(|byte| *byte == b'\n').any(|line| line.starts_with(key.as_bytes()));
    has("numprocs=") && has("fileprefix=")
}
