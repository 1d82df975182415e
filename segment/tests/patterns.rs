//! Traces of known phases: every clustering method is asked for them, the default one has to find them to the message.

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::trace::{Message, Operation, Rank, RunFacts, TraceWriter};
use phaseflow_segment::{Method, Options, Outcome, Rewind, segment};

/// A run under construction: rounds of steps, each message at its time.
struct Program {
    ranks: u32,
    bytes: u64,
    /// Whether messages know their operation.
    operations: bool,
    /// Nanoseconds a rank needs per message, and between rounds.
    step_ns: i64,
    gap_ns: i64,
    now: i64,
    messages: Vec<Message>,
    /// Where each phase begins.
    starts: Vec<i64>,
}

impl Program {
    fn new(ranks: u32, operations: bool, gap_ns: i64) -> Self {
        let (bytes, step_ns) = (64 << 10, 5_243); // 100 Gbit/s
        Self {
            ranks,
            bytes,
            operations,
            step_ns,
            gap_ns,
            now: 1_000,
            messages: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// All ranks send in parallel, one message a step.
    fn step(&mut self, operation: Operation, to: impl Fn(u32) -> u32) {
        let operation = if self.operations { operation } else { Operation::PointToPoint };
        for src in 0..self.ranks {
            let (send_post_ns, bytes) = (self.now, self.bytes);
            let message = Message {
                send_post_ns,
                src: Rank(src),
                dst: Rank(to(src)),
                bytes,
                operation,
                ..Message::default()
            };
            self.messages.push(message);
        }
        self.now += self.step_ns;
    }

    fn phase(&mut self, name: &str, repeat: u32) {
        self.starts.push(self.now);
        let n = self.ranks;
        let side = (n as f64).sqrt() as u32;
        for _ in 0..repeat {
            match name {
                "halo2d" => {
                    let at = |x: u32, y: u32| (y % side) * side + x % side;
                    let p2p = Operation::PointToPoint;
                    self.step(p2p, |r| at(r % side + 1, r / side));
                    self.step(p2p, |r| at(r % side + side - 1, r / side));
                    self.step(p2p, |r| at(r % side, r / side + 1));
                    self.step(p2p, |r| at(r % side, r / side + side - 1));
                }
                "alltoall" => (1..n).for_each(|d| self.step(Operation::Alltoall, |r| (r + d) % n)),
                "allreduce" => {
                    (0..n.ilog2()).for_each(|bit| self.step(Operation::Allreduce, |r| r ^ 1 << bit));
                }
                "transpose" => self.step(Operation::PointToPoint, |r| (r % side) * side + r / side),
                "shift" => self.step(Operation::PointToPoint, |r| (r + n / 2) % n),
                other => panic!("no pattern {other}"),
            }
            self.now += self.gap_ns;
        }
    }

    fn trace(&self) -> Vec<u8> {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        self.messages.iter().for_each(|message| writer.message(message).unwrap());
        let facts = RunFacts { span_ns: Some((0, self.now)), ..RunFacts::default() };
        writer.finish(&facts).unwrap().1
    }
}

fn split(trace: &[u8], method: &str) -> Outcome {
    let method = Method::parse(&Choice::parse(method).unwrap()).unwrap();
    segment(&mut Rewind(Cursor::new(trace)), &Options { method, ..Options::default() }).unwrap()
}

fn show(outcome: &Outcome) -> String {
    let s = &outcome.segmentation;
    let list: Vec<String> = s
        .occurrences
        .iter()
        .map(|o| format!("{:?}@{}..{} m{}", o.phase, o.start_ns, o.end_ns, o.messages))
        .collect();
    format!("{} {:?}", s.header.method, list)
}

#[test]
fn one() {
    let mut program = Program::new(16, true, 20000);
    ["halo2d", "transpose", "allreduce", "shift"].iter().for_each(|name| program.phase(name, 20));
    println!("{}", show(&split(&program.trace(), "kmeans")));
}

#[test]
fn explore() {
    for ops in [true, false] {
        for gap in [0, 20_000, 1_000_000] {
            for (ranks, repeat) in [(16, 1), (16, 5), (16, 20), (64, 5), (64, 50), (256, 5)] {
                for names in [
                    &["halo2d", "alltoall"][..],
                    &["alltoall"],
                    &["halo2d"],
                    &["halo2d", "alltoall", "halo2d", "alltoall"],
                    &["halo2d", "transpose", "allreduce", "shift"],
                ] {
                    let mut program = Program::new(ranks, ops, gap);
                    names.iter().for_each(|name| program.phase(name, repeat));
                    let trace = program.trace();
                    let out = split(&trace, &std::env::var("METHOD").unwrap_or("kmeans".into()));
                    let s = &out.segmentation;
                    let starts: Vec<i64> = s.occurrences.iter().map(|o| o.start_ns as i64).collect();
                    let mut want = program.starts.clone();
                    want[0] = 0;
                    let ok = starts == want;
                    println!(
                        "{} ops={ops} gap={gap} ranks={ranks} repeat={repeat} {names:?} phases {}{}",
                        if ok { "OK  " } else { "BAD " },
                        s.phases.len(),
                        if ok {
                            String::new()
                        } else {
                            let t = show(&out);
                            format!("\n      want {:?} {}", program.starts, &t[..t.len().min(600)])
                        }
                    );
                }
            }
        }
    }
}
