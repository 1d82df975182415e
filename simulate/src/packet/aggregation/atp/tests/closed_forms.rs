//! What can be computed with paper and pencil.

use super::*;

/// Time of a packet of the paper on a link of 100 Gbit/s.
const PACKET: f64 = 330.0 * 80.0;

#[test]
fn the_ceiling_is_that_of_headers() {
    let net = star(9);
    for text in [
        "atp",
        "atp[profile=code]",
        "atp[congestion-control=off,window=85]",
        "atp[aggregators=65536]",
        "atp[aggregators=65536,window=85,congestion-control=off]",
    ] {
        let mut run = Run::of(
            &net,
            &FabricOptions {
                marking: Some(crate::packet::Marking::above(80_000)),
                ..FabricOptions::default()
            },
            text,
            false,
        );
        let group = run.open(1, &[0, 1, 2, 3, 4, 5, 6, 7], &[8]);
        run.add_all(group, 10_000_000);
        let start = std::time::Instant::now();
        run.finish();
        let packets = 10_000_000_f64 / 248.0;
        let line = packets * PACKET;
        eprintln!(
            "{text}: {} done, {:.4} of line, {:?} wall {:?} hops {}",
            run.done.len(),
            run.last() as f64 / line,
            run.atp.0.report(),
            start.elapsed(),
            run.fabric.hops()
        );
    }
}
