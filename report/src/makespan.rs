//! Simulated times, and how sure they are.

use phaseflow_simulate::result::PhaseRow;

use crate::number;
use crate::view::RunView;

/// An error above this part of the time is shown with it. Below it, three digits say enough, and
/// what a choice of network changes is mostly more.
const SHOWN: f64 = 0.1;

/// A simulated time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Makespan {
    /// Seconds.
    pub seconds: f64,
    /// How far off it may be, as part of it; `None` if nothing tells, as of times that were not
    /// estimated from samples, or of phases that met other jobs.
    pub error: Option<f64>,
}

impl Makespan {
    /// Of a phase; `None` if the model gives no time.
    pub fn of_phase(row: &PhaseRow) -> Option<Self> {
        let error = row.replayed.and_then(|replayed| replayed.makespan_error);
        row.makespan_s.map(|seconds| Self { seconds, error })
    }

    /// Of a run: its phases may all be off in the same direction.
    pub fn of_run(view: &RunView<'_>) -> Option<Self> {
        let seconds = view.run.statistics.makespan_s?;
        let off = view.run.phases.iter().filter_map(Self::of_phase).filter_map(Self::off_s);
        let error = off.reduce(|sum, off| sum + off).filter(|_| seconds > 0.0);
        Some(Self { seconds, error: error.map(|off| off / seconds) })
    }

    /// How far off it may be, seconds.
    pub fn off_s(self) -> Option<f64> {
        self.error.map(|error| error * self.seconds)
    }

    /// `342 ms`, or `342 ms ± 96 %` where it is far from sure.
    pub fn text(self) -> String {
        let seconds = number::seconds(self.seconds);
        match self.error.filter(|error| *error > SHOWN) {
            Some(error) => format!("{seconds} ± {}", number::percent(error)),
            None => seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_sure_says_so() {
        let text = |error| Makespan { seconds: 0.342, error }.text();
        assert_eq!(text(Some(0.96)), "342 ms ± 96 %");
        assert_eq!(text(Some(0.1)), "342 ms");
        assert_eq!(text(None), "342 ms");
    }
}
