//! How far a simulation is, shown on a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use phaseflow_simulate::run::Progress;
use phaseflow_simulate::sweep::Sweep;

/// How often progress is shown.
const WATCH: Duration = Duration::from_millis(100);
/// Part of the work after which the time left is told: before, the rate is that of a start.
const TOLD: f64 = 0.02;

/// Shows on a terminal how far `work` is with these runs; nothing elsewhere.
pub(crate) fn watched<T>(
    progress: &Progress,
    sweep: &Sweep,
    runs: &[u32],
    quiet: bool,
    work: impl FnOnce(&ProgressBar) -> T,
) -> T {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    if bar.is_hidden() {
        return work(&bar);
    }
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}{prefix}") {
        bar.set_style(style);
    }
    let all = runs.iter().map(|run| sweep.work(&sweep.point(*run))).sum();
    bar.set_length(all);
    let begin = Instant::now();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let done = progress.done();
                bar.set_position(done);
                // Names come from the input: nothing of them may move the cursor.
                let now = progress.now().replace(char::is_control, " ");
                let now = if now.is_empty() { now } else { format!(", {now}") };
                bar.set_prefix(format!("{now}, {}", told(done, all, begin.elapsed())));
                std::thread::sleep(WATCH);
            }
        });
        let outcome = work(&bar);
        is_over.store(true, Ordering::Relaxed);
        bar.finish_and_clear();
        outcome
    })
}

/// `37 %, 12 s left`: by the mean rate since the begin, which does not jump from run to run. What
/// goes on is not done, so there are 99 % at most.
fn told(done: u64, all: u64, elapsed: Duration) -> String {
    let part = if all > 0 { done as f64 / all as f64 } else { 0.0 };
    let percent = ((part * 100.0) as u64).min(99);
    if part < TOLD {
        return format!("{percent} %");
    }
    let left = elapsed.as_secs_f64() * (1.0 / part - 1.0).max(0.0);
    match left.ceil() as u64 {
        0..=59 => format!("{percent} %, {:.0} s left", left.ceil()),
        60..=3599 => format!("{percent} %, {:.0} min left", (left / 60.0).ceil()),
        _ => format!("{percent} %, {:.1} h left", left / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_goes_by_the_work_done() {
        let after = |done, seconds| told(done, 1000, Duration::from_secs(seconds));
        assert_eq!(after(0, 5), "0 %");
        assert_eq!(after(19, 5), "1 %");
        assert_eq!(after(250, 10), "25 %, 30 s left");
        assert_eq!(after(500, 120), "50 %, 2 min left");
        assert_eq!(after(20, 200), "2 %, 2.7 h left");
    }

    /// At a steady rate the end that is told stays where it is, and nothing is done before the end.
    #[test]
    fn the_end_stays_where_it_is() {
        for done in 20..1000 {
            let text = told(done, 1000, Duration::from_millis(done * 50));
            let left = text.split_once(", ").unwrap().1.split_once(' ').unwrap().0.parse::<u64>().unwrap();
            let end = done * 50 + left * 1000;
            assert!((50_000..=51_000).contains(&end), "{done}: {text}");
        }
        assert_eq!(told(1000, 1000, Duration::from_secs(9)), "99 %, 0 s left");
        assert_eq!(told(1200, 1000, Duration::from_secs(9)), "99 %, 0 s left");
        assert_eq!(told(0, 0, Duration::from_secs(9)), "0 %");
    }
}
