//! Splits a trace into communication phases.
//!
//! A *phase* is a kind of communication behaviour; one stretch of it is an *occurrence*. The ordered occurrences that cover a
//! run are its *segmentation*. Each phase has a traffic matrix over all its occurrences, which the next stage puts on a
//! network.
//!
//! A trace is read twice, from a file or through a copy of what came down a pipe ([`Replay`]). The first pass learns what
//! the run looks like in bounded space: time windows with sketches of their messages, and the user's marks. A [`Method`]
//! turns that into a plan, stretches of the run with their phases. The second pass sums up what each stretch sent and moves
//! each boundary to the message at which the behaviour changes; from the sums follows which occurrence stands for each phase
//! ([`Representatives`]). An archive gets the messages of these, for which the trace is read again as far as the last of them,
//! and what lies between them is passed over.

mod agglomerate;
mod archive;
mod barriers;
mod collectives;
mod leaves;
mod level;
mod list;
mod method;
mod plan;
mod repeats;
mod replay;
mod representative;
mod returns;
mod samples;
mod sampling;
mod score;
mod search;
mod sections;
mod segment;
mod segmentation;
mod survey;
mod tags;
mod tally;
mod ticks;
mod total;
mod tree;
mod window;

pub use archive::{
    Chosen, Margins, Place, Records, read_segmentation, read_with_messages, write_segmentation,
    write_with_messages,
};
pub use level::Level;
pub use list::{write_list, write_matrix_list};
pub use method::{Method, NAMES as METHODS};
pub use repeats::Repeat;
pub use replay::{Replay, Rewind, Spool};
pub use representative::Representatives;
pub use samples::{Samples, Span, Traits, Units};
pub use score::{Interval, Score, Truth, read_truth, score};
pub use segment::{LARGEST_WINDOWS, Options, Outcome, segment};
pub use segmentation::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
pub use ticks::Ticks;
