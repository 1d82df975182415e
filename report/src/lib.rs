//! Turns result archives into what people and programs read: tables, graphs, a page.
//!
//! ```text
//! archives ──► Results (merged, in order of the runs)
//!                └──► per run ─┬─► tables      CSV
//!                              ├─► graphml     one graph per phase
//!                              ├─► gexf        the first run as it changes in time
//!                              ├─► Summary     hot spots, for a terminal
//!                              └─► Page        index.html
//! ```
//!
//! [`diff`] compares two results.
//!
//! Everything goes through [`Results`], which yields one run at a time, so memory is that of a run
//! (and, for the page, of what it will show). A [`RunView`] joins a run with what its numbers refer
//! to: names of phases, ends of links, units of loads.

mod axes;
mod blame;
pub mod diff;
mod directory;
mod disagreement;
mod effects;
mod gexf;
mod graph_file;
mod graphml;
mod hotspot;
mod makespan;
mod merge;
mod negligible;
mod number;
mod page;
mod senders;
mod spread;
mod summary;
pub mod table;
mod terminal;
mod verdict;
mod view;

pub use directory::{ENTRIES, GRAPH_LINKS, Graphs, PLOTS, PictureFormat, Written, write_directory};
pub use hotspot::{HotSpot, hot_spots};
pub use makespan::Makespan;
pub use merge::Results;
pub use page::{Page, Picture};
pub use summary::Summary;
pub use table::{Table, TableWriter};
pub use view::RunView;
