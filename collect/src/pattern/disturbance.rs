//! Disturbances of generated runs: jitter, noise, drift, skew, imbalance, irregular sizes.

use rand::Rng;
use rand::seq::SliceRandom;

use crate::{Error, Result};

/// The disturbances of a run; none by default.
///
/// In nominal time (see [`LabelledRun`](super::LabelledRun)) no rank waits for late ones: delays
/// are added to the times of messages only. With clocks of their own, ranks that wait for a late
/// message are late, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Each message is posted late by a random time, uniform from 0 to this many times its own
    /// duration; each pause is longer by up to this part of itself.
    pub jitter: f64,
    /// Noise messages per message of the program, between random ranks, of 64 B to 64 KiB. Their
    /// times are random, pauses included, at the rate of the previous round, so the first round has
    /// none.
    pub noise: f64,
    /// Relative growth of messages from the first round of a stretch to the last, in equal steps.
    pub drift: f64,
    /// Each rank is late by its own constant time, uniform from 0 to this.
    pub skew_ns: u64,
    /// Ranks are numbered at random, all numberings equally likely.
    pub renumber: bool,
    /// Each rank has a clock of its own: it posts by its own clock, and continues when its message
    /// has left and those to it in this step have arrived. Messages thus couple the ranks. No rank
    /// begins a round before the last one has begun the previous round. An idle stretch begins for
    /// all at once.
    pub waits: bool,
    /// Distribution of pauses between rounds, with the same mean: one draw for all ranks in nominal
    /// time, one per rank with clocks of their own.
    pub irregular: Option<Irregular>,
    /// Imbalance: each rank computes longer in pauses by up to this part of them. It draws its
    /// share anew in one of [`ROUNDS_ALIKE`] rounds on average.
    pub imbalance: f64,
    /// This share of messages is 64 to 1024 times as large, by a Pareto distribution of shape 1
    /// with these bounds. Nominal time waits only for their nominal part.
    pub heavy: f64,
    /// This share of messages is smaller by such a factor.
    pub light: f64,
}

/// Distribution of a pause around its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Irregular {
    /// Exponential, as between the events of a Poisson process.
    Exponential,
    /// Pareto with shape 1.5: a finite mean, no finite variance; some pauses are a hundred times
    /// the mean.
    Pareto,
    /// Lognormal with this standard deviation of the logarithm, which is about the relative one as
    /// long as it is small.
    Lognormal(f64),
}

impl Irregular {
    /// Reads `exponential`, `pareto`, or the sigma of a lognormal distribution, 0 to 3.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match (text, text.parse()) {
            ("exponential", _) => Ok(Self::Exponential),
            ("pareto", _) => Ok(Self::Pareto),
            (_, Ok(sigma)) if (0.0..=MOST_SIGMA).contains(&sigma) => Ok(Self::Lognormal(sigma)),
            _ => Err(Error::usage(format!(
                "`{text}` is no shape, expected exponential, pareto, or a relative deviation from 0 to {MOST_SIGMA}"
            ))),
        }
    }
}

/// Mean number of rounds after which a rank's share of the work changes. The load of a simulation
/// moves slowly; any number between one and the rounds of a phase is plausible.
pub const ROUNDS_ALIKE: f64 = 16.0;

/// The largest sigma of a lognormal distribution; its mean is then 90 times its median.
const MOST_SIGMA: f64 = 3.0;

/// The largest jitter and noise, in messages per message, and imbalance, in pauses per pause.
const MOST_DISTURBED: f64 = 1000.0;

/// Jitter of random runs, as part of a message's time: that of an undisturbed, a quiet, a busy and
/// a shared machine.
const JITTERS: [f64; 4] = [0.0, 0.01, 0.05, 0.2];

impl Disturbance {
    /// Adds random disturbances of real runs: own clocks in two of three runs, irregular work in
    /// two of three, renumbered ranks in half, imbalance in three of ten, noise in one of seven,
    /// jitter in three of four.
    #[must_use]
    pub fn as_real(self, random: &mut impl Rng) -> Self {
        let irregular = match random.gen_range(0..6) {
            0 => Some(Irregular::Exponential),
            1 => Some(Irregular::Pareto),
            2 | 3 => Some(Irregular::Lognormal(random.gen_range(0.02..0.5))),
            _ => None,
        };
        let imbalance = if random.gen_bool(0.3) { random.gen_range(0.1..0.5) } else { 0.0 };
        let noise = if random.gen_bool(0.15) { random.gen_range(0.005..0.03) } else { 0.0 };
        let jitter = JITTERS.choose(random).copied().unwrap_or_default();
        Self {
            jitter: self.jitter.max(jitter),
            waits: random.gen_bool(2.0 / 3.0),
            renumber: random.gen_bool(0.5),
            irregular,
            imbalance: self.imbalance.max(imbalance),
            noise: self.noise.max(noise),
            ..self
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        for (name, value, least, most) in [
            ("jitter", self.jitter, 0.0, MOST_DISTURBED),
            ("noise", self.noise, 0.0, MOST_DISTURBED),
            ("drift", self.drift, -1.0, 1e6),
            ("imbalance", self.imbalance, 0.0, MOST_DISTURBED),
            ("the share of heavy messages", self.heavy, 0.0, 1.0),
            ("the share of light messages", self.light, 0.0, 1.0),
        ] {
            if !(least..=most).contains(&value) {
                return Err(Error::usage(format!("{name} is {value}, expected {least} to {most}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::labelled::tests::{generated, labelled, messages};
    use crate::pattern::stream::step_ns;
    use crate::trace::Message;

    const GAP_NS: u64 = 100_000;

    /// Messages of 64 KiB with pauses of [`GAP_NS`] between rounds.
    fn run(text: &str, ranks: u32, disturbance: Disturbance) -> Vec<Message> {
        let mut run = labelled(text, ranks, disturbance);
        run.gap_ns = GAP_NS;
        messages(&generated(&run).0)
    }

    fn waits() -> Disturbance {
        Disturbance { waits: true, ..Disturbance::default() }
    }

    /// Pauses of a ring in means, as long as no message is late.
    fn pauses(irregular: Irregular) -> Vec<f64> {
        let disturbance = Disturbance { irregular: Some(irregular), ..Disturbance::default() };
        let posts: Vec<i64> = run("shift*8001", 2, disturbance).iter().map(|m| m.send_post_ns).collect();
        let step = step_ns(64 << 10) as f64;
        posts.windows(3).step_by(2).map(|p| ((p[2] - p[0]) as f64 - step) / GAP_NS as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    #[test]
    fn where_everyone_receives_in_each_step_own_clocks_are_nominal_time() {
        for text in ["shift*20", "(alltoall*2,shift*3)*2,idle[time=1ms],bisection*4", "allreduce*3"] {
            let nominal = generated(&labelled(text, 16, Disturbance::default()));
            assert!(generated(&labelled(text, 16, waits())) == nominal, "{text}");
        }
    }

    #[test]
    fn with_own_clocks_nobody_goes_on_before_what_it_waits_for() {
        let ranks = 9;
        let disturbance = Disturbance { irregular: Some(Irregular::Exponential), ..waits() };
        let rounds = 50;
        let messages = run(&format!("shift*{rounds}"), ranks, disturbance);
        let of = |rank: u32| -> Vec<&Message> { messages.iter().filter(|m| m.src.0 == rank).collect() };
        let posts: Vec<Vec<i64>> =
            (0..ranks).map(|rank| of(rank).iter().map(|m| m.send_post_ns).collect()).collect();
        for rank in 0..ranks {
            let received = of((rank + ranks - 1) % ranks);
            for round in 1..rounds {
                let own = posts[rank as usize][round];
                assert!(Some(own) >= received[round - 1].receive_complete_ns);
                assert!(posts.iter().all(|posts| own >= posts[round - 1]), "more than a round ahead");
            }
        }
        // Ranks are not together, and the slowest is slower than any on its own.
        let last: Vec<i64> = posts.iter().map(|posts| posts[rounds - 1]).collect();
        assert!(last.iter().max() > last.iter().min());
        let alone = (rounds as u64 - 1) * (step_ns(64 << 10) + GAP_NS);
        assert!(last[0].cast_unsigned() > alone + alone / 4, "{last:?}");
    }

    /// Who only sends is not held up by the message's way, and no more than a round ahead.
    #[test]
    fn who_sends_waits_until_the_message_has_left() {
        let messages = run("incast*5", 3, waits());
        let posts: Vec<i64> = messages.iter().filter(|m| m.src.0 == 1).map(|m| m.send_post_ns).collect();
        let period = (64 << 10) + GAP_NS.cast_signed();
        assert_eq!(posts, (0..5).map(|round| round * period).collect::<Vec<_>>());
    }

    #[test]
    fn pauses_have_their_distributions() {
        let exponential = pauses(Irregular::Exponential);
        // 8000 draws: the mean has a deviation of 1.1 %; the median is ln 2, a share e⁻³ is longer
        // than three means.
        assert!((mean(&exponential) - 1.0).abs() < 0.04);
        assert!((median(exponential.clone()) - 2f64.ln()).abs() < 0.04);
        let long = exponential.iter().filter(|pause| **pause > 3.0).count() as f64 / 8000.0;
        assert!((long - (-3f64).exp()).abs() < 0.01, "{long}");
        let pareto = pauses(Irregular::Pareto);
        let least = pareto.iter().copied().fold(f64::MAX, f64::min);
        assert!((least - 1.0 / 3.0).abs() < 0.001, "{least}");
        assert!((median(pareto) - 2f64.powf(2.0 / 3.0) / 3.0).abs() < 0.03);
        let lognormal = pauses(Irregular::Lognormal(0.3));
        assert!((mean(&lognormal) - 1.0).abs() < 0.02);
        let logarithms: Vec<f64> = lognormal.iter().map(|pause| pause.ln().powi(2)).collect();
        assert!((mean(&logarithms) - (0.09 + 0.045f64.powi(2))).abs() < 0.01);
    }

    #[test]
    fn shapes_are_read() {
        assert_eq!(Irregular::parse("exponential").unwrap(), Irregular::Exponential);
        assert_eq!(Irregular::parse("pareto").unwrap(), Irregular::Pareto);
        assert_eq!(Irregular::parse("0.25").unwrap(), Irregular::Lognormal(0.25));
        for text in ["-1", "nan", "gauss", "9"] {
            assert!(Irregular::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn renumbering_keeps_times_and_sizes_and_the_shape_of_the_traffic() {
        let with = |renumber| {
            let disturbance = Disturbance { renumber, jitter: 0.1, heavy: 0.1, ..waits() };
            run("halo2d[bytes=1KiB]*9,incast*5,permutation*4", 12, disturbance)
        };
        let (plain, renumbered) = (with(false), with(true));
        let facts = |messages: &[Message]| {
            let mut facts: Vec<_> =
                messages.iter().map(|m| (m.send_post_ns, m.bytes, m.receive_complete_ns)).collect();
            facts.sort_unstable();
            facts
        };
        assert_eq!(facts(&plain), facts(&renumbered));
        let pairs = |messages: &[Message]| -> Vec<(u32, u32)> {
            messages.iter().map(|m| (m.src.0, m.dst.0)).collect()
        };
        assert_ne!(pairs(&plain), pairs(&renumbered));
        // Sent and received messages by rank are the same numbers in another order.
        let degrees = |messages: &[Message]| {
            let mut degrees = [(0, 0); 12];
            for (src, dst) in pairs(messages) {
                degrees[src as usize].0 += 1;
                degrees[dst as usize].1 += 1;
            }
            degrees.sort_unstable();
            degrees
        };
        assert_eq!(degrees(&plain), degrees(&renumbered));
    }

    #[test]
    fn unequal_ranks_are_late_by_a_part_of_the_pause() {
        let disturbance = Disturbance { imbalance: 0.5, ..Disturbance::default() };
        let period = step_ns(64 << 10) + GAP_NS;
        let messages = run("shift*1000", 16, disturbance);
        let late: Vec<f64> = messages
            .iter()
            .map(|m| (m.send_post_ns.cast_unsigned() % period) as f64 / GAP_NS as f64)
            .collect();
        assert!(late.iter().all(|late| (0.0..0.5).contains(late)));
        assert!((mean(&late) - 0.25).abs() < 0.02, "{}", mean(&late));
        // A rank's share stays for 16 rounds on average.
        let mut own = Vec::new();
        for (message, late) in messages.iter().zip(&late) {
            if message.src.0 == 3 {
                own.push(*late);
            }
        }
        own.dedup();
        assert!((40..90).contains(&own.len()), "{}", own.len());
    }

    #[test]
    fn some_messages_are_heavy_and_some_light() {
        let tidy = run("shift[bytes=1KiB]*2000", 10, Disturbance::default());
        let disturbance = Disturbance { heavy: 0.05, light: 0.2, ..Disturbance::default() };
        let disturbed = run("shift[bytes=1KiB]*2000", 10, disturbance);
        assert!(tidy.iter().zip(&disturbed).all(|(one, other)| one.send_post_ns == other.send_post_ns));
        let times: Vec<f64> = disturbed.iter().map(|m| m.bytes as f64 / 1024.0).collect();
        let of = |range: std::ops::RangeInclusive<f64>| times.iter().filter(|t| range.contains(t)).count();
        let (heavy, light, usual) = (of(64.0..=1024.0), of(0.0..=1.0 / 64.0), of(1.0..=1.0));
        assert_eq!(heavy + light + usual, 20_000);
        assert!((850..1150).contains(&heavy), "{heavy}");
        assert!((3600..4000).contains(&light), "{light}");
        // A bounded Pareto distribution of shape 1 from 64 to 1024: half are above 64 / (1 − 15/32)
        // ≈ 120.5.
        let above = of(120.5..=1024.0) as f64 / heavy as f64;
        assert!((above - 0.5).abs() < 0.06, "{above}");
    }
}
