//! `marks`: the phases that the program itself declares with `MPI_Pcontrol(level)`.

use phaseflow_collect::{Error, Result};

use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::plan::{Plan, Stretch};

/// A phase for each level; it begins when the first rank sets it. The run before the first mark is
/// a phase too. Two marks of one level in a row make no boundary.
pub(super) struct Marks;

impl Split for Marks {
    fn split(&self, run: &Run, _: &Limits) -> Result<Answer> {
        if run.changes.is_empty() {
            return Err(Error::data(
                "the trace has no marks (MPI_Pcontrol), which `--method marks` splits at; use another method",
            ));
        }
        let mut levels: Vec<i32> = run.changes.iter().map(|change| change.level).collect();
        levels.sort_unstable();
        levels.dedup();
        // 0 is before the first mark, levels follow in ascending order.
        let label = |level| levels.binary_search(&level).map_or(0, |at| at as u32 + 1);
        let changes = run.changes.iter();
        let marked =
            changes.map(|change| Stretch::exact(Some(label(change.level)), run.since_start(change.time_ns)));
        let mut stretches: Vec<Stretch> = std::iter::once(Stretch::exact(Some(0), 0)).chain(marked).collect();
        // Of marks at one time, the last one counts. A mark at the very start leaves nothing before
        // it.
        stretches.reverse();
        stretches.dedup_by_key(|stretch| stretch.start_ns);
        stretches.reverse();
        Ok(Answer { plan: Plan::new(stretches), parameters: String::new() })
    }
}
