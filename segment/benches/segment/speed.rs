//! Messages a second from the trace archive to the phase archive, with archives in files, on one
//! thread; and the memory that it takes.

use std::fs::{File, read_to_string, write};
use std::io::{BufReader, BufWriter, Seek, sink};
use std::time::Instant;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{LabelledRun, Program};
use phaseflow_collect::trace::TraceReader;
use phaseflow_segment::{Method, Options, Rewind, segment, write_with_messages};

/// Prints a line for each length and number of ranks: reading alone, one matrix, and each method.
pub(crate) fn print(lengths: &[u64], ranks: &[u32], methods: &[Method]) {
    println!("| messages | ranks | what | s | CPU s | M messages/s | of CPU | peak MB | phases |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for messages in lengths {
        for ranks in ranks {
            let (count, mut trace) = trace(*ranks, *messages);
            let line = |what: &str, (seconds, cpu, peak, phases): (f64, Option<f64>, Option<u64>, usize)| {
                let speed = |seconds: f64| format!("{:.1}", count as f64 / seconds / 1e6);
                let of_cpu = cpu.map(speed).unwrap_or_default();
                let cpu = cpu.map(|cpu| format!("{cpu:.2}")).unwrap_or_default();
                let peak = peak.map(|kb| (kb / 1024).to_string()).unwrap_or_default();
                let speed = speed(seconds);
                println!(
                    "| {count} | {ranks} | {what} | {seconds:.2} | {cpu} | {speed} | {of_cpu} | {peak} | {phases} |"
                );
            };
            let reading = measure(|| {
                trace.rewind().unwrap();
                let mut reader = TraceReader::open(BufReader::with_capacity(256 << 10, &mut trace)).unwrap();
                reader = reader.without_details();
                while reader.next_block().unwrap().is_some() {}
                0
            });
            line("reading", reading);
            let none = Method::parse(&Choice::plain("none")).unwrap();
            for method in std::iter::once(&none).chain(methods) {
                let options = Options { method: *method, ..Options::default() };
                let split = measure(|| {
                    let mut trace = Rewind(trace.try_clone().unwrap());
                    let found = segment(&mut trace, &options).unwrap();
                    let (segmentation, chosen) = (&found.segmentation, &found.representatives);
                    write_with_messages(sink(), false, segmentation, chosen, false, &mut trace).unwrap();
                    segmentation.phases.len()
                });
                line(method.name(), split);
            }
        }
    }
}

/// Ten ticks of a slow clock of processor time, in seconds.
const TICKS: f64 = 0.04;

/// Seconds, seconds of processor time, the most memory in kB, and the answer; `None` where the
/// system does not tell.
fn measure(work: impl FnOnce() -> usize) -> (f64, Option<f64>, Option<u64>, usize) {
    // Linux: 5 sets the peak to what is in use.
    let fresh = write("/proc/self/clear_refs", "5").is_ok();
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let answer = work();
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    // The clock ticks: a time of only a few ticks is unknown.
    let cpu = cpu.filter(|cpu| *cpu > TICKS);
    (seconds, cpu, peak_kb().filter(|_| fresh), answer)
}

/// Processor time of this thread, which does all the work.
fn cpu_seconds() -> Option<f64> {
    let text = read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// The most memory since the peak was set.
fn peak_kb() -> Option<u64> {
    let text = read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// A run of halo exchanges, shifts and transposes in turn, in a temporary file.
fn trace(ranks: u32, messages: u64) -> (u64, File) {
    let rounds = (messages / u64::from(ranks) / 24).max(1);
    let text = format!("(halo2d*{rounds},shift*{rounds},transpose*{rounds})*4");
    let run = LabelledRun {
        gap_ns: 100_000,
        bytes: 16 << 10,
        ..LabelledRun::new(Program::parse(&text).unwrap(), ranks)
    };
    let file = tempfile::tempfile().unwrap();
    let out = BufWriter::new(file.try_clone().unwrap());
    let summary = run.generate(&mut ArchiveExport::new(out, false), &mut |_| Ok(())).unwrap();
    (summary.messages, file)
}
