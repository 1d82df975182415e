//! The answer in a few sentences: which phase loads which link, who sends over it, what the average
//! hides, which choice is best, and whether the network matters at all.
//!
//! Runs are ranked by makespan where the model gives one, by the highest utilization otherwise.
//! Only runs of one model, transport and view of phases are compared: another model's times are
//! another claim. Times that differ by less than their stated errors are ties.

use phaseflow_simulate::result::PhaseRow;
use phaseflow_simulate::topology::LinkId;

use crate::axes::{self, Choices};
use crate::effects::{Effect, TIE, effects};
use crate::hotspot::{HotSpot, hot_spots};
use crate::makespan::Makespan;
use crate::number;
use crate::senders::senders;
use crate::view::RunView;

/// A network whose links are all used less than this is not what limits a program: queues are
/// short (at half of this load, M/M/1 waits 5 % of a service time).
const BUSY: f64 = 0.1;
/// Part of the time that an ideal network would save, below which the network is not worth work.
const WORTH: f64 = 0.05;
/// A phase with less than this part of its run's bytes and time is not called the hottest, unless
/// there is no other one: its link is busy for too short a time to matter.
const NEGLIGIBLE: f64 = 0.01;
/// Names that tie are listed up to this number.
const LISTED: usize = 4;

/// What the verdict keeps of a run.
#[derive(Clone, Debug)]
struct Facts {
    run: u32,
    choices: Choices,
    makespan: Option<Makespan>,
    peak: Option<Peak>,
    /// Highest utilization of a link by the bytes of all phases over the time of the job, and that
    /// link; `None` if there is only one phase.
    averaged: Option<(f64, String)>,
    /// Seconds that links of unlimited capacity would save, all phases together.
    saved_s: Option<f64>,
}

/// The hottest phase of a run.
#[derive(Clone, Debug)]
struct Peak {
    phase: String,
    link: String,
    utilization: Option<f64>,
    load: f64,
    congestion: f64,
    senders: String,
}

/// Collects what the sentences are made from, run by run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    runs: Vec<Facts>,
}

impl Verdict {
    /// Takes note of a run.
    pub(crate) fn run(&mut self, view: &RunView<'_>) {
        let spots = hot_spots(view);
        let saved = |row: &PhaseRow| Some(row.makespan_s? - row.replayed?.unlimited_s?);
        let saved: Option<f64> = view.run.phases.iter().map(saved).sum();
        self.runs.push(Facts {
            run: view.run.labels.run,
            choices: axes::choices(&view.run.labels),
            makespan: Makespan::of_run(view),
            peak: hottest(view, &spots).map(|spot| Peak::new(view, spot)),
            averaged: averaged(view),
            saved_s: saved.filter(|_| view.run.jobs.len() == 1),
        });
    }

    /// The sentences, the most important one first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let choices: Vec<&Choices> = self.runs.iter().map(|run| &run.choices).collect();
        if choices.is_empty() {
            return Vec::new();
        }
        let differ = axes::differing(&choices);
        let name = |facts: &Facts| match axes::told_by(&facts.choices, &differ) {
            told if told.is_empty() => format!("run {}", facts.run),
            told => told,
        };
        let hottest = self.runs.iter().filter_map(|facts| Some((facts, facts.peak.as_ref()?)));
        let hottest = hottest.reduce(|a, b| if b.1.congestion > a.1.congestion { b } else { a });
        let mut sentences = Vec::new();
        if let Some((facts, peak)) = hottest {
            sentences.push(hot_sentence(peak, &name(facts), self.runs.len() > 1));
            sentences.extend(average_sentence(facts, peak));
        }
        if let Some((matters, sentence)) = self.matter_sentence(&name) {
            sentences.insert(if matters { sentences.len() } else { 0 }, sentence);
        }
        for (model, group) in self.comparable() {
            let is_alone = group.len() == self.runs.len();
            let prefix = if is_alone { String::new() } else { format!("By {model}: ") };
            if let Some(sentence) = best_sentence(&group, &name) {
                sentences.push(format!("{prefix}{sentence}"));
            }
            let effects = effects_of(&group);
            sentences.extend(effects.iter().map(|effect| format!("{prefix}{}", effect.sentence())));
        }
        sentences.extend(self.error_sentence());
        sentences
    }

    /// True if runs are of models whose times are not compared.
    pub(crate) fn has_several_models(&self) -> bool {
        self.comparable().len() > 1
    }

    /// The effects of axes on the runs of each model, and whether they are on times.
    pub(crate) fn effects(&self) -> Vec<(String, bool, Vec<Effect>)> {
        let of = |(model, group): (String, Vec<&Facts>)| {
            let is_time = ranks(&group).is_some_and(|(is_time, _)| is_time);
            let effects = effects_of(&group);
            (!effects.is_empty()).then_some((model, is_time, effects))
        };
        self.comparable().into_iter().filter_map(of).collect()
    }

    /// How sure the times are.
    fn error_sentence(&self) -> Option<String> {
        let times = self.runs.iter().filter(|facts| of_axis(&facts.choices, "model") != "traffic");
        let errors = times.filter_map(|facts| facts.makespan?.error);
        let worst = errors.reduce(f64::max)?;
        Some(if worst > 0.0 {
            format!(
                "Times are estimates from samples, off by {} at most (98 % confidence).",
                number::percent(worst)
            )
        } else {
            "All messages were simulated: times have no error of sampling, only that of the model.".into()
        })
    }

    /// Runs of one model, transport and view of phases, in order of appearance.
    fn comparable(&self) -> Vec<(String, Vec<&Facts>)> {
        let key = |facts: &Facts| {
            let of = axes::MODEL.map(|axis| &facts.choices[axis][..]);
            of.into_iter()
                .filter(|word| !word.is_empty() && *word != "segmented")
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut groups: Vec<(String, Vec<&Facts>)> = Vec::new();
        for facts in &self.runs {
            let key = key(facts);
            match groups.iter_mut().find(|group| group.0 == key) {
                Some(group) => group.1.push(facts),
                None => groups.push((key, vec![facts])),
            }
        }
        groups
    }

    /// Whether the network matters at all, and a sentence that says so.
    fn matter_sentence(&self, name: &impl Fn(&Facts) -> String) -> Option<(bool, String)> {
        let saved = |facts: &Facts| {
            let (makespan, saved) = (facts.makespan?.seconds, facts.saved_s?);
            (makespan > 0.0).then(|| (saved / makespan).clamp(0.0, 1.0))
        };
        let most = self.runs.iter().filter_map(|facts| Some((facts, saved(facts)?)));
        if let Some((facts, saved)) = most.reduce(|a, b| if b.1 > a.1 { b } else { a }) {
            let part = number::percent(saved);
            let of = if self.runs.len() > 1 { format!(" of {}", name(facts)) } else { String::new() };
            let (matters, text) = if saved < WORTH {
                (
                    false,
                    format!(
                        "The network is not the problem: links of unlimited capacity would save {part} of the time."
                    ),
                )
            } else {
                (
                    true,
                    format!(
                        "Links of unlimited capacity would save {part} of the time{of}: no placement, routing or network can save more."
                    ),
                )
            };
            return Some((matters, text));
        }
        let peaks = self.runs.iter().filter_map(|facts| facts.peak.as_ref()?.utilization);
        let highest = peaks.reduce(f64::max)?;
        (highest < BUSY).then(|| {
            let highest = number::percent(highest);
            (false, format!("The network is not the problem: no link is used above {highest}."))
        })
    }
}

impl Peak {
    fn new(view: &RunView<'_>, spot: &HotSpot) -> Self {
        let (src, dst) = view.ends(spot.link);
        let row = spot.worst.and_then(|(job, position)| view.phase(Some(job), Some(position)));
        Self {
            phase: spot.name(),
            link: format!("{src} → {dst}"),
            utilization: spot.utilization,
            load: spot.load,
            congestion: spot.congestion,
            senders: row.map_or_else(String::new, |row| senders(view, row)),
        }
    }
}

/// The hottest phase that is not negligible, else the hottest.
fn hottest<'s>(view: &RunView<'_>, spots: &'s [HotSpot]) -> Option<&'s HotSpot> {
    let all = |of: fn(&PhaseRow) -> f64| view.run.phases.iter().map(of).sum::<f64>();
    let time = |row: &PhaseRow| row.makespan_s.or(row.duration_s).unwrap_or(0.0);
    let (bytes, seconds) = (all(|row| row.bytes as f64), all(time));
    let counts = |spot: &&HotSpot| {
        let own = spot.worst.and_then(|(job, position)| view.phase(Some(job), Some(position)));
        own.is_none_or(|row| row.bytes as f64 >= NEGLIGIBLE * bytes || time(row) >= NEGLIGIBLE * seconds)
    };
    let hotter = |a: &'s HotSpot, b: &'s HotSpot| if b.congestion > a.congestion { b } else { a };
    let linked = || spots.iter().filter(|spot| spot.link.is_some());
    linked().filter(counts).reduce(hotter).or_else(|| linked().reduce(hotter))
}

/// The averaged view: all bytes of a job over all of its time, on its most used link; of phases in
/// a job that finished.
fn averaged(view: &RunView<'_>) -> Option<(f64, String)> {
    let table = &view.run.links;
    let mut most: Option<(f64, String)> = None;
    for job in &view.run.jobs {
        let phases = view.phases_of(job.job);
        if phases.len() < 2 {
            continue;
        }
        // From start to end, idle stretches included; loads of an unknown length are not rates.
        let are_rates = phases.iter().all(|row| row.duration_s.is_some());
        let seconds = job.finished_s.zip(job.started_s).map(|(end, start)| end - start);
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && are_rates)?;
        let mut bytes = vec![0_u64; view.network.links.len()];
        for position in 0..phases.len() as u32 {
            for row in view.links_of(Some(job.job), Some(position)) {
                bytes[table.link[*row].0 as usize] += table.bytes[*row];
            }
        }
        for (link, bytes) in (0..).map(LinkId).zip(bytes).filter(|(_, bytes)| *bytes > 0) {
            let Some(used) = view.utilization(link, bytes as f64 / seconds, true) else { continue };
            if most.as_ref().is_none_or(|most| used > most.0) {
                let (_, src, dst) = view.link(link);
                most = Some((used, format!("{src} → {dst}")));
            }
        }
    }
    most
}

fn hot_sentence(peak: &Peak, name: &str, several: bool) -> String {
    let how = match peak.utilization {
        Some(used) if used >= 1.0 => {
            format!("asks {} for {} of its capacity", peak.link, number::percent(used))
        }
        Some(used) => format!("uses {} of {}", number::percent(used), peak.link),
        None => format!("puts {} on {}", number::load(peak.load, false), peak.link),
    };
    let under = if several { format!(" under {name}") } else { String::new() };
    let senders = if peak.senders.is_empty() { String::new() } else { format!(": {}", peak.senders) };
    capital(&format!("{} {how}{under}{senders}.", peak.phase))
}

fn average_sentence(facts: &Facts, peak: &Peak) -> Option<String> {
    let (used, link) = facts.averaged.as_ref()?;
    let peak_used = peak.utilization.filter(|peak| *peak > *used * (1.0 + TIE))?;
    let times = number::significant(peak_used / used);
    let which = if *link == peak.link { "that link".into() } else { format!("its hottest link, {link},") };
    Some(format!(
        "Averaged over the whole run, {which} is used {}: the average hides a factor of {times}.",
        number::percent(*used)
    ))
}

/// What runs are ranked by, smaller is better, with its error; `None` if it is not known of all.
fn ranks(group: &[&Facts]) -> Option<(bool, Vec<(f64, f64)>)> {
    let times = group.iter().map(|facts| {
        let makespan = facts.makespan?;
        Some((makespan.seconds, makespan.off_s().unwrap_or(0.0)))
    });
    // The traffic model takes the recorded time for granted: equal times say nothing.
    let is_timed = group.iter().all(|facts| of_axis(&facts.choices, "model") != "traffic");
    if let Some(times) = times.collect::<Option<Vec<_>>>().filter(|_| is_timed) {
        return Some((true, times));
    }
    let peaks = group.iter().map(|facts| Some((facts.peak.as_ref()?.congestion, 0.0)));
    Some((false, peaks.collect::<Option<Vec<_>>>()?))
}

/// Which choice is fastest, or least loaded, and by how much.
fn best_sentence(group: &[&Facts], name: &impl Fn(&Facts) -> String) -> Option<String> {
    let (is_time, values) = ranks(group).filter(|_| group.len() > 1)?;
    let best = values.iter().map(|value| value.0).reduce(f64::min)?;
    let at = values.iter().position(|value| value.0 <= best)?;
    let ties: Vec<usize> = (0..values.len())
        .filter(|run| values[*run].0 - best <= best * TIE + values[*run].1 + values[at].1)
        .collect();
    let worst = (0..values.len()).reduce(|a, b| if values[b].0 > values[a].0 { b } else { a })?;
    let value = |run: usize| match (is_time, group[run].makespan, group[run].peak.as_ref()) {
        (true, Some(makespan), _) => makespan.text(),
        (_, _, Some(peak)) => {
            peak.utilization.map_or_else(|| number::load(peak.load, false), number::percent)
        }
        _ => String::new(),
    };
    let what = if is_time { "take the same time" } else { "load their hottest link alike" };
    if ties.len() == values.len() {
        let within = if values.iter().any(|value| value.1 > 0.0) { ", within the stated errors" } else { "" };
        return Some(format!("All {} runs {what}{within}: {}.", values.len(), value(at)));
    }
    let names: Vec<String> = ties.iter().take(LISTED).map(|run| name(group[*run])).collect();
    let more = ties.len().saturating_sub(LISTED);
    let names = names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = match (is_time, ties.len()) {
        (true, 1) => "is fastest",
        (true, _) => "tie as fastest",
        (false, 1) => "keeps the peak lowest",
        (false, _) => "tie for the lowest peak",
    };
    let less = number::percent(1.0 - values[at].0 / values[worst].0);
    let (value, slow) = (value(at), value(worst));
    let worst = name(group[worst]);
    Some(format!("Of {} choices, {names} {verb}: {value}, {less} less than {worst} ({slow}).", values.len()))
}

/// The effects of axes on runs of one model, where these are enough to compare.
fn effects_of(group: &[&Facts]) -> Vec<Effect> {
    let Some((_, values)) = ranks(group).filter(|_| group.len() >= LISTED) else { return Vec::new() };
    let choices: Vec<&Choices> = group.iter().map(|facts| &facts.choices).collect();
    effects(&choices, &values.iter().map(|value| value.0).collect::<Vec<_>>())
}

fn of_axis<'c>(choices: &'c Choices, name: &str) -> &'c str {
    let at = axes::AXES.iter().position(|axis| *axis == name);
    at.map_or("", |at| &choices[at])
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of a router and a mapper: its time and error, and the use of its hottest link.
    fn facts(run: u32, [mapper, router]: [&str; 2], seconds: f64, error: Option<f64>, used: f64) -> Facts {
        let mut choices = Choices::default();
        choices[3] = mapper.into();
        choices[4] = router.into();
        choices[5] = "flow".into();
        Facts {
            run,
            choices,
            makespan: Some(Makespan { seconds, error }),
            peak: Some(Peak {
                phase: "phase 3 (ring · 4 KiB)".into(),
                link: "a → b".into(),
                utilization: Some(used),
                load: used * 1e9,
                congestion: used,
                senders: "rank 3 → 11 (h3 → h11) 84 % of it".into(),
            }),
            averaged: Some((used / 4.0, "a → b".into())),
            saved_s: Some(seconds / 2.0),
        }
    }

    fn of(runs: Vec<Facts>) -> Vec<String> {
        Verdict { runs }.sentences()
    }

    #[test]
    fn the_hottest_phase_and_the_fastest_choice() {
        let slow = facts(0, ["block", "dmodk"], 2.0, None, 0.8);
        let fast = facts(1, ["block", "greedy"], 1.0, None, 0.4);
        let expected = [
            "Phase 3 (ring · 4 KiB) uses 80 % of a → b under dmodk: rank 3 → 11 (h3 → h11) 84 % of it.",
            "Averaged over the whole run, that link is used 20 %: the average hides a factor of 4.",
            "Links of unlimited capacity would save 50 % of the time of dmodk: no placement, routing or network can save more.",
            "Of 2 choices, greedy is fastest: 1 s, 50 % less than dmodk (2 s).",
        ];
        assert_eq!(of(vec![slow, fast]), expected);
    }

    /// Differences within the errors are ties, and said to be.
    #[test]
    fn ties_are_named() {
        let runs = |error| {
            let names = ["dmodk", "greedy", "ecmp"].into_iter().zip([1.0, 1.02, 2.0]);
            (0..)
                .zip(names)
                .map(|(run, (name, seconds))| facts(run, ["block", name], seconds, error, 0.5))
                .collect()
        };
        let best =
            |sentences: Vec<String>| sentences.into_iter().find(|text| text.starts_with("Of 3")).unwrap();
        assert_eq!(best(of(runs(None))), "Of 3 choices, dmodk is fastest: 1 s, 50 % less than ecmp (2 s).");
        let tie = "Of 3 choices, dmodk, greedy tie as fastest: 1 s, 50 % less than ecmp (2 s).";
        assert_eq!(best(of(runs(Some(0.01)))), tie);
        let all = of(runs(Some(0.5)));
        assert!(
            all.contains(&"All 3 runs take the same time, within the stated errors: 1 s ± 50 %.".into()),
            "{all:?}"
        );
        let sure = "Times are estimates from samples, off by 50 % at most (98 % confidence).";
        assert_eq!(all.last().unwrap(), sure);
    }

    /// A network that does not matter is said first.
    #[test]
    fn whether_it_matters() {
        let mut idle = facts(0, ["block", "dmodk"], 2.0, None, 0.04);
        idle.saved_s = Some(0.02);
        assert_eq!(
            of(vec![idle.clone()])[0],
            "The network is not the problem: links of unlimited capacity would save 1 % of the time."
        );
        (idle.saved_s, idle.makespan) = (None, None);
        assert_eq!(of(vec![idle])[0], "The network is not the problem: no link is used above 4 %.");
    }

    /// Of six runs on two axes: greedy is faster by a tenth with each mapper, mappers make no odds.
    #[test]
    fn axes_of_a_sweep() {
        let mappers = ["block", "cyclic", "random"];
        let choices = mappers.into_iter().flat_map(|mapper| [[mapper, "dmodk"], [mapper, "greedy"]]);
        let runs = (0..).zip(choices);
        let runs = runs.map(|(run, choice)| {
            facts(run, choice, if choice[1] == "greedy" { 0.9 } else { 1.0 }, None, 0.5)
        });
        let sentences = of(runs.collect());
        let expected = [
            "Of 6 choices, block · greedy, cyclic · greedy, random · greedy tie as fastest: 900 ms, 10 % less than block · dmodk (1 s).",
            "process mapper: no difference.",
            "router: greedy is best in 3 of 3 comparisons, in the median by 10 % against the next.",
        ];
        assert_eq!(sentences[3..], expected);
    }
}
