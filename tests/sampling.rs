//! Phases from samples against the whole run, as a user compares them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use stages::{Row, collect, number, output, segment, simulate, table};

/// The table `phases` with and without sampling.
fn on_and_off(collected: &[&str], topology: &str) -> [Vec<Row>; 2] {
    let trace = collect(collected);
    ["on", "off"].map(|sampling| {
        let keep: &[&str] = if sampling == "off" { &["--keep-messages"] } else { &[] };
        let phases = segment(&[&["--method", "marks"], keep].concat(), &trace);
        let model = format!("flow[sampling={sampling}]");
        table("phases", &output(simulate(&["--topology", topology, "--model", &model]), &phases))
    })
}

/// Ten thousand equal steps on a ring: a few blocks are simulated, one of them for nearly all, and nothing is lost by that.
#[test]
fn a_loop_of_equal_rounds_is_simulated_once() {
    for pattern in ["shift*10000", "allreduce*500"] {
        let collected = ["--pattern", pattern, "--ranks", "16", "--gap", "20us"];
        let [on, off] = on_and_off(&collected, "star[hosts=16]");
        let [sampled, whole] = [&on[0], &off[0]].map(|row| number(row, "makespan_s"));
        assert!(
            (sampled / whole - 1.0).abs() < 1e-9,
            "{pattern}: {sampled} s, the whole run takes {whole} s"
        );
        assert_eq!(number(&on[0], "makespan_error"), 0.0, "{pattern}");
        assert!(number(&on[0], "simulated") <= 6.0, "{pattern}: {}", on[0]["simulated"]);
    }
}

/// Phases in turn whose messages are late at random: the estimate covers how far they are off.
#[test]
fn the_error_of_phases_in_turn_is_covered() {
    let collected =
        ["--pattern", "(allreduce,halo2d)*500", "--ranks", "16", "--gap", "20us", "--jitter", "0.5"];
    let [on, off] = on_and_off(&collected, "xgft[m=4:4,w=1:2]");
    assert_eq!((on.len(), off.len()), (2, 2));
    for (sampled, whole) in on.iter().zip(&off) {
        let [time, expected] = [sampled, whole].map(|row| number(row, "makespan_s"));
        let error = number(sampled, "makespan_error");
        assert!(error > 0.0 && number(sampled, "simulated") < 500.0);
        assert!(
            (time - expected).abs() <= error * time,
            "{time} s ± {error}, the whole run takes {expected} s"
        );
    }
}
