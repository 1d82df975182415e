//! The runs of each family.

use rand::Rng;
use rand::seq::SliceRandom;

use super::draw::{Draw, Round};
use crate::Result;
use crate::pattern::Disturbance;
use crate::units::parse_size;

pub(super) fn stationary(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(1)?;
    draw.phase(&rounds[0], 1.0);
    Ok(())
}

pub(super) fn sequence(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    Ok(())
}

pub(super) fn abab(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(2)?;
    let times = draw.random.gen_range(4..=6);
    for _ in 0..times {
        for round in &rounds {
            draw.phase(round, 0.5 / f64::from(times));
        }
    }
    Ok(())
}

pub(super) fn short(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(4)?;
    for _ in 0..3 {
        draw.phase(&rounds[0], 0.3);
        let brief = draw.random.gen_range(1..4);
        let part = draw.random.gen_range(0.008..0.015);
        draw.phase(&rounds[brief], part);
    }
    draw.phase(&rounds[0], 0.1);
    Ok(())
}

/// The same pattern in two versions in turn, five stretches.
fn versions(draw: &mut Draw, one: &str, other: &str) -> Result<()> {
    let rounds = [draw.round(one)?, draw.round(other)?];
    for i in 0..5 {
        let part = draw.random.gen_range(0.1..0.3);
        draw.phase(&rounds[i % 2], part);
    }
    Ok(())
}

/// Patterns of any number of ranks without random partners.
const PLAIN: [&str; 4] = ["shift", "halo2d", "transpose", "halo3d"];

fn plain(draw: &mut Draw) -> &'static str {
    PLAIN.choose(&mut draw.random).copied().unwrap_or(PLAIN[0])
}

pub(super) fn rate(draw: &mut Draw) -> Result<()> {
    let name = plain(draw);
    let factor = draw.random.gen_range(3..=6);
    let round = draw.round(&format!("{name}[bytes=4KiB]"))?;
    // Pauses such that a round lasts `factor` times as long.
    let (fast, slow) = (round.ns / 4, round.ns / 4 + (factor - 1) * round.ns * 5 / 4);
    versions(draw, &format!("{name}[bytes=4KiB,gap={fast}ns]"), &format!("{name}[bytes=4KiB,gap={slow}ns]"))
}

pub(super) fn size(draw: &mut Draw) -> Result<()> {
    let name = plain(draw);
    let small = draw.bytes();
    let large = parse_size(&small)? << draw.random.gen_range(2..=4);
    // The same time between rounds, so that sizes alone tell them apart, as well as they do.
    versions(draw, &format!("{name}[bytes={small},gap=50us]"), &format!("{name}[bytes={large},gap=50us]"))
}

pub(super) fn pairs(draw: &mut Draw) -> Result<()> {
    let bytes = draw.bytes();
    let one = format!("permutation[bytes={bytes},gap=50us,seed={}]", draw.random.gen_range(1..1 << 20));
    let other =
        format!("permutation[bytes={bytes},gap=50us,seed={}]", draw.random.gen_range(1 << 20..1 << 21));
    versions(draw, &one, &other)
}

pub(super) fn part(draw: &mut Draw) -> Result<()> {
    let (name, bytes) = (plain(draw), draw.bytes());
    let more =
        ["allreduce[bytes=64,gap=60us]", "incast[bytes=256,gap=60us]", "bisection[bytes=2KiB,gap=60us]"];
    let more = more.choose(&mut draw.random).copied().unwrap_or(more[0]);
    versions(draw, &format!("{name}[bytes={bytes},gap=60us]"), &format!("{name}[bytes={bytes}]+{more}"))
}

pub(super) fn drift(draw: &mut Draw) -> Result<()> {
    draw.sequence(4)?;
    draw.disturbance.drift = draw.random.gen_range(1.0..3.0);
    Ok(())
}

pub(super) fn idle(draw: &mut Draw) -> Result<()> {
    draw.sequence(5)?;
    draw.idle_after_each(0.04);
    Ok(())
}

pub(super) fn noise(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    draw.disturbance.noise = draw.random.gen_range(0.05..0.3);
    Ok(())
}

pub(super) fn jitter(draw: &mut Draw) -> Result<()> {
    draw.sequence(6)?;
    draw.disturbance.jitter = 2f64.powf(draw.random.gen_range(0.0..3.0));
    Ok(())
}

/// Before the loop a phase, after it another; in it two phases of some rounds each, and what
/// `between` says after each.
fn in_a_loop(draw: &mut Draw, between: f64) -> Result<()> {
    let rounds = draw.patterns(4)?;
    draw.phase(&rounds[0], 0.15);
    let times = draw.random.gen_range(8..=16u32);
    let mut inner = Vec::new();
    let ns = draw.ns;
    for round in &rounds[1..3] {
        let part = draw.random.gen_range(0.2..0.4);
        inner.push(draw.rounds(round, part / f64::from(times), 3));
    }
    draw.ns = ns.saturating_add((draw.ns - ns).saturating_mul(u64::from(times)));
    if between > 0.0 {
        let ns = (draw.ns as f64 * between / f64::from(times)) as u64;
        inner.push(format!("idle[time={ns}ns]"));
    }
    draw.items.push(format!("({})*{times}", inner.join(",")));
    draw.phase(&rounds[3], 0.15);
    Ok(())
}

pub(super) fn nested(draw: &mut Draw) -> Result<()> {
    in_a_loop(draw, 0.0)
}

pub(super) fn nested_idle(draw: &mut Draw) -> Result<()> {
    in_a_loop(draw, 0.3)
}

/// Before the loop a phase, after it another; in it another loop of two phases, and a third.
pub(super) fn deep(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(5)?;
    draw.phase(&rounds[0], 0.15);
    let (outer, inner) = (draw.random.gen_range(3..=5u32), draw.random.gen_range(3..=5u32));
    let each = 0.7 / f64::from(outer) / 3.0;
    let a = draw.rounds(&rounds[1], each / f64::from(inner), 3);
    let b = draw.rounds(&rounds[2], each / f64::from(inner), 3);
    let c = draw.rounds(&rounds[3], each, 3);
    draw.items.push(format!("(({a},{b})*{inner},{c})*{outer}"));
    draw.phase(&rounds[4], 0.15);
    Ok(())
}

pub(super) fn half(draw: &mut Draw) -> Result<()> {
    let (bytes, gap) = (draw.bytes(), draw.gap());
    let spec = |name: &str| format!("{name}[bytes={bytes},gap={gap}us]");
    let rest = spec("shift");
    let mut others = ["halo2d", "bisection", "permutation", "shift"].map(spec);
    others.shuffle(&mut draw.random);
    for other in others {
        let round = draw.round(&format!("{rest}|{other}"))?;
        let part = draw.random.gen_range(0.15..0.35);
        draw.phase(&round, part);
    }
    Ok(())
}

pub(super) fn collectives(draw: &mut Draw) -> Result<()> {
    let groups = (draw.ranks / 64).max(1) as usize;
    let all = vec!["alltoall[bytes=2KiB,gap=60us]"; groups].join("|");
    let mut texts = [
        "halo2d[bytes=16KiB]+allreduce[bytes=1KiB,gap=80us]".to_string(),
        all.clone(),
        format!("halo3d[bytes=8KiB,gap=20us]+{all}"),
        "sweep[bytes=4KiB,gap=30us]+allreduce[bytes=512,gap=70us]".to_string(),
    ];
    texts.shuffle(&mut draw.random);
    for text in &texts {
        let round = draw.round(text)?;
        let part = draw.random.gen_range(0.15..0.35);
        draw.phase(&round, part);
    }
    Ok(())
}

/// The median time of a round.
fn median_ns(rounds: &[Round]) -> u64 {
    let mut times: Vec<u64> = rounds.iter().map(|round| round.ns).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(super) fn skew(draw: &mut Draw) -> Result<()> {
    let rounds = draw.sequence(6)?;
    draw.disturbance.skew_ns = median_ns(&rounds);
    Ok(())
}

pub(super) fn clocks(draw: &mut Draw) -> Result<()> {
    let rounds = draw.sequence(6)?;
    draw.disturbance.skew_ns = median_ns(&rounds).saturating_mul(5);
    Ok(())
}

pub(super) fn hard(draw: &mut Draw) -> Result<()> {
    let rounds = draw.patterns(3)?;
    for i in [0, 1, 0, 2, 1, 0] {
        let part = draw.random.gen_range(0.1..0.2);
        draw.phase(&rounds[i], part);
    }
    draw.idle_after_each(0.04);
    let skew_ns = median_ns(&rounds) / 2;
    draw.disturbance = Disturbance { jitter: 1.0, noise: 0.05, skew_ns, ..Disturbance::default() };
    Ok(())
}
