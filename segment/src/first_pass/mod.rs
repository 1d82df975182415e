//! The first pass over a trace: windows, sections between barriers and marks, in bounded memory.

pub(crate) mod barriers;
pub(crate) mod rounds;
pub(crate) mod sections;
pub(crate) mod survey;
pub(crate) mod ticks;
pub(crate) mod window;
