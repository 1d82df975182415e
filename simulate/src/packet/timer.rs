//! A timer of a program: the data that the fabric returns when it expires.

/// A timer: its kind, and two words of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The program's own.
    pub kind: u8,
    /// The program's own.
    pub words: [u32; 2],
}
