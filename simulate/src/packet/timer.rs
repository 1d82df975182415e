//! A timer that a program sets: the data that the fabric hands back when the time has come.

/// A call back that a program asked for: what for, and two words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The program's own.
    pub kind: u8,
    /// The program's own.
    pub words: [u32; 2],
}
