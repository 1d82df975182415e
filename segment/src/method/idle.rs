//! Where nobody posts a message for longer than the program's rhythm explains.

use crate::first_pass::survey::Run;
use crate::first_pass::window::Window;
use crate::first_pass::window::points::Points;

/// A silence shorter than 1/`PART` of the run belongs to the phase around it.
const PART: u64 = 100;
/// A silence shorter than this number of rounds of the windows beside it is not idle.
const ROUNDS: u64 = 3;
/// A silence is part of a rhythm (computation between exchanges) if at least this number of others
/// are a third as long or longer.
const OTHERS: usize = 3;

/// The idle stretches of a run, window by window. Where messages do not return, no rhythm is known,
/// and no silence is called idle.
///
/// An idle stretch begins one round after the last message, when the next one was due. The last
/// message travels in that time, and so a phase is never an instant.
pub(super) struct Idle<'a> {
    run: &'a Run,
    points: &'a Points,
    /// Silences between windows, ascending.
    silences: Vec<u64>,
}

impl<'a> Idle<'a> {
    pub(super) fn new(run: &'a Run, points: &'a Points) -> Self {
        let mut idle = Self { run, points, silences: Vec::new() };
        let mut silences: Vec<u64> = (1..points.len()).map(|point| idle.silence_before(point)).collect();
        silences.sort_unstable();
        idle.silences = silences;
        idle
    }

    /// Where the idle stretch before a point's window begins, if there is one.
    pub(super) fn before(&self, point: usize) -> Option<u64> {
        let round_ns = self.round_ns(point - 1)?;
        let longest = round_ns.max(self.round_ns(point)?);
        let idle = self.is_idle(self.silence_before(point), longest);
        idle.then(|| self.run.since_start(self.window(point - 1).last_ns) + round_ns)
    }

    /// Where the idle stretch at the start of the run ends, if there is one.
    pub(super) fn at_start(&self) -> Option<u64> {
        let silence = self.run.since_start(self.window(0).first_ns);
        self.is_idle(silence, self.round_ns(0)?).then_some(silence)
    }

    /// Where the idle stretch at the end of the run begins, if there is one.
    pub(super) fn at_end(&self) -> Option<u64> {
        let last = self.points.len() - 1;
        let last_ns = self.run.since_start(self.window(last).last_ns);
        let round_ns = self.round_ns(last)?;
        self.is_idle(self.run.duration_ns - last_ns, round_ns).then_some(last_ns + round_ns)
    }

    fn is_idle(&self, silence_ns: u64, round_ns: u64) -> bool {
        let alike = self.silences.len() - self.silences.partition_point(|other| *other < silence_ns / 3);
        silence_ns > self.run.duration_ns / PART
            && silence_ns > ROUNDS.saturating_mul(round_ns)
            && alike <= OTHERS
    }

    fn silence_before(&self, point: usize) -> u64 {
        let (last, next) = (self.window(point - 1), self.window(point));
        self.run.since_start(next.first_ns) - self.run.since_start(last.last_ns)
    }

    fn window(&self, point: usize) -> &Window {
        &self.run.windows.all()[self.points.windows[point]]
    }

    fn round_ns(&self, point: usize) -> Option<u64> {
        self.window(point).round_ns()
    }
}
