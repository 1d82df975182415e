use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{PatternName, Run};
use phaseflow_segment::{Method, Options, Rewind, segment};
use std::io::Cursor;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let run = Run {
        patterns: PatternName::parse_list("halo2d,alltoall").unwrap(),
        ranks: a[1].parse().unwrap(),
        bytes: 64 << 10,
        repeat: a[2].parse().unwrap(),
        gap_ns: 100_000,
        seed: 1,
    };
    let mut archive = Vec::new();
    let s = run.generate(&mut ArchiveExport::new(&mut archive, false)).unwrap();
    for m in &a[3..] {
        let options =
            Options { method: Method::parse(&Choice::parse(m).unwrap()).unwrap(), ..Options::default() };
        for _ in 0..3 {
            let t = std::time::Instant::now();
            let o = segment(&mut Rewind(Cursor::new(&archive)), &options).unwrap();
            let d = t.elapsed();
            println!(
                "{m} {} messages {:?} {:.1} ns/message {} phases",
                s.messages,
                d,
                d.as_nanos() as f64 / s.messages as f64,
                o.segmentation.phases.len()
            );
        }
    }
}
