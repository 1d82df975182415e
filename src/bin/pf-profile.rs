//! Placeholder until its stage exists.

fn main() {}
