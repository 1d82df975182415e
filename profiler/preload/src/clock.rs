//! The clock of a recording: an invariant time stamp counter, or else `CLOCK_MONOTONIC`.
//!
//! A counter read costs 9 ns, `clock_gettime` 21 ns or more. With two reads per message, this
//! determines the overhead.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::system;

static TSC: AtomicBool = AtomicBool::new(false);
static SHIFT: AtomicU64 = AtomicU64::new(0);
/// Raw counter value that slots are relative to.
static BASE: AtomicU64 = AtomicU64::new(0);

/// Chooses the clock and starts it; true if it is the counter.
pub(crate) fn start(wish: Option<bool>, shift: u64) -> bool {
    let tsc = wish.unwrap_or_else(counter_is_even);
    TSC.store(tsc && cfg!(target_arch = "x86_64"), Relaxed);
    SHIFT.store(shift, Relaxed);
    // Time 0 means unknown.
    BASE.store(raw().wrapping_sub(1), Relaxed);
    TSC.load(Relaxed)
}

/// Now, as slots hold it: ticks since the start, at least 1.
#[inline(always)]
pub(crate) fn now() -> u64 {
    raw().wrapping_sub(BASE.load(Relaxed)) & crate::format::TIME
}

/// True if the clock is the counter.
pub(crate) fn is_counter() -> bool {
    TSC.load(Relaxed)
}

/// [`now`], where the clock is known to be the counter.
#[inline(always)]
pub(crate) fn counted() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() }.wrapping_sub(BASE.load(Relaxed)) & crate::format::TIME;
    #[cfg(not(target_arch = "x86_64"))]
    now()
}

/// The present time for headers, in program order: without a fence the processor may read its
/// counter early or late by a cache miss.
pub(crate) fn ticks() -> u64 {
    fence();
    let now = raw().wrapping_add(SHIFT.load(Relaxed));
    fence();
    now
}

fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
}

/// What [`now`] is relative to, as headers hold it.
pub(crate) fn base() -> u64 {
    BASE.load(Relaxed).wrapping_add(SHIFT.load(Relaxed))
}

#[inline(always)]
fn raw() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if TSC.load(Relaxed) {
        // SAFETY: every x86-64 processor has the instruction.
        return unsafe { std::arch::x86_64::_rdtsc() };
    }
    system::monotonic_ns()
}

/// The three clocks at one moment: ticks, monotonic, real time. The counter is read before and
/// after the others, and the attempt with the least difference is taken, which excludes a
/// preemption in between.
pub(crate) fn triple() -> [u64; 3] {
    let attempt = || {
        let before = ticks();
        let monotonic = system::monotonic_ns();
        let after = ticks();
        (after.wrapping_sub(before), [before.wrapping_add(after.wrapping_sub(before) / 2), monotonic])
    };
    let best = (0..16).map(|_| attempt()).min_by_key(|(width, _)| *width);
    let [ticks, monotonic] = best.map_or([0; 2], |(_, pair)| pair);
    let since = system::monotonic_ns().wrapping_sub(monotonic);
    [ticks, monotonic, system::realtime_ns().wrapping_sub(since)]
}

/// True if the processor reports an invariant counter, and the kernel uses it.
fn counter_is_even() -> bool {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
    let sources =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    has("constant_tsc") && has("nonstop_tsc") && sources.map_or(true, |all| all.contains("tsc"))
}
