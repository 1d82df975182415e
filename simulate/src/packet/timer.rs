//! Timers: what a program asks the network to call it back for.

/// A call back that a program asked for: what for, and two words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The program's own.
    pub kind: u8,
    /// The program's own.
    pub words: [u32; 2],
}
