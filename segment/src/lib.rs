//! Splits a trace into communication phases.
//!
//! A *phase* is a kind of communication behaviour; one stretch of it is an *occurrence*. The
//! ordered occurrences that cover a run are its *segmentation*. Each phase has a traffic matrix
//! over all its occurrences, which the next stage puts on a network.
//!
//! A trace is read twice, from a file or through a copy of what came down a pipe ([`Rewindable`]).
//! The first pass learns what the run looks like in bounded space: time windows with sketches of
//! their messages, and the user's marks. A [`Method`] turns that into a plan, stretches of the run
//! with their phases. The second pass sums up what each stretch sent and moves each boundary to the
//! message at which the behaviour changes; from the sums follows which occurrence stands for each
//! phase ([`Representatives`]). An archive gets the messages of these, for which the trace is read
//! again as far as the last of them, and what lies between them is passed over.

mod agglomerate;
mod archive;
mod entropy;
mod first_pass;
mod hierarchy;
mod input;
mod list;
mod method;
mod plan;
mod samples;
mod sampling;
mod score;
mod second_pass;
mod segment;
mod segmentation;
mod title;

pub use archive::{
    Chosen, Margins, Place, Records, read_segmentation, read_with_messages, write_segmentation,
    write_with_messages,
};
pub use first_pass::ticks::Ticks;
pub use hierarchy::level::Level;
pub use input::{Rewind, Rewindable, Spool};
pub use list::{write_list, write_matrix_list};
pub use method::{Method, NAMES as METHODS};
pub use samples::{Samples, Span, Traits, Units};
pub use score::{Interval, Score, Truth, read_truth, score};
pub use second_pass::repeats::Repeat;
pub use second_pass::representative::Representatives;
pub use segment::{LARGEST_WINDOWS, Options, Outcome, segment};
pub use segmentation::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
pub use title::title_of_matrix;
