//! Programs that iterate keep their phases, however often they iterate; and options of pf-segment
//! and pf-simulate for a trace.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use stages::{collect, number, output, run, segment, simulate, table};

const TREE: &str = "xgft[m=8:8,w=1:4]";

/// A run of 64 ranks.
fn program(text: &str) -> Vec<u8> {
    collect(&["--pattern", text, "--ranks", "64", "--bytes", "64B"])
}

/// Of each phase under the traffic model: name, load of the hottest link, number of occurrences.
fn phases(archive: &[u8]) -> Vec<(String, f64, u64)> {
    let results = output(simulate(&["--topology", TREE]), archive);
    let rows = table("phases", &results);
    rows.iter()
        .map(|row| (row["phase"].clone(), number(row, "max_link_load"), number(row, "occurrences") as u64))
        .collect()
}

/// Loads, in bytes per second, of two phases that are the same in each iteration. The loads of 2
/// iterations, where no loop is found, are the reference. Times are rounded to nanoseconds; in a
/// phase of milliseconds, the tolerance of 1e-6 far exceeds that.
#[test]
fn an_iterative_program_has_the_same_two_phases_however_often_it_iterates() {
    let few = phases(&segment(&[], &program("(halo2d*20,alltoall*5)*2")));
    let names: Vec<&str> = few.iter().map(|phase| phase.0.as_str()).collect();
    assert_eq!(names, ["0", "1"]);
    assert!((few[0].1 - few[1].1).abs() > 0.1 * few[0].1, "the phases differ: {few:?}");
    for iterations in [16, 17, 100, 1000] {
        let trace = program(&format!("(halo2d*20,alltoall*5)*{iterations}"));
        let levels: &[&str] = if iterations == 17 { &["auto", "leaf", "outer"] } else { &["auto"] };
        for level in levels {
            let many = phases(&segment(&["--level", level], &trace));
            assert_eq!(many.len(), 2, "{iterations} iterations, level {level}: {many:?}");
            for (one, other) in few.iter().zip(&many) {
                assert_eq!((&one.0, iterations), (&other.0, other.2), "level {level}");
                assert!(
                    (one.1 - other.1).abs() <= 1e-6 * one.1,
                    "{iterations} iterations: {one:?}, {other:?}"
                );
            }
        }
    }
}

/// Phases by number, as all tables have them, with the bytes of each.
#[test]
fn what_the_level_shows_comes_first_in_tables() {
    let trace = program("(halo2d*20,alltoall*5)*17,transpose*30");
    let bytes = |level: &str| -> Vec<f64> {
        let results = output(simulate(&["--topology", TREE]), &segment(&["--level", level], &trace));
        table("phases", &results).iter().map(|row| number(row, "bytes")).collect()
    };
    // Messages of 64 bytes on 64 ranks: 224 in a halo exchange, 4 032 in an alltoall, 56 in a
    // transpose.
    let [halo, alltoall, transpose] =
        [17.0 * 20.0 * 224.0, 17.0 * 5.0 * 4032.0, 30.0 * 56.0].map(|messages| 64.0 * messages);
    let equal = |level: &str, expected: [f64; 3]| {
        let found = bytes(level);
        assert!(
            found.len() == 3
                && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.5),
            "{level}: {found:?}"
        );
    };
    equal("leaf", [halo, alltoall, transpose]);
    // One row is the loop, another the transposes.
    equal("outer", [transpose, halo, alltoall]);
}

#[test]
fn a_trace_is_said_to_be_simulated_as_one_phase() {
    let trace = program("halo2d*20,alltoall*5");
    let note = "pf-simulate: the whole trace is one phase; pf-segment tells its phases apart (pf-segment TRACE | pf-simulate …)\n";
    let done = run(simulate(&["--topology", TREE]), &trace);
    assert!(done.status.success());
    assert_eq!(String::from_utf8(done.stderr).unwrap(), note);
    let done = run(simulate(&["--topology", TREE]), &segment(&[], &trace));
    assert_eq!(String::from_utf8(done.stderr).unwrap(), "");
}

/// Innermost rows of a list: phase, length.
fn innermost(arguments: &[&str], trace: &[u8]) -> Vec<(String, u64)> {
    let list = String::from_utf8(segment(&[arguments, &["--list"]].concat(), trace)).unwrap();
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let depth = |row: usize| rows.get(row).map_or(0, |row| row[2].parse::<u32>().unwrap());
    let leaves = (0..rows.len()).filter(|row| depth(row + 1) <= depth(*row));
    let length = |row: &Vec<&str>| row[4].parse::<u64>().unwrap() - row[3].parse::<u64>().unwrap();
    leaves.map(|row| (rows[row][1].to_string(), length(&rows[row]))).collect()
}

#[test]
fn no_phase_is_shorter_than_asked() {
    // Phases of some 60 µs to 2 ms each, most of them shorter than the least length asked for.
    let trace =
        program("(halo2d*9,alltoall*2,shift*9,transpose*20,incast*3)*12,halo3d*40,(shift*30,allreduce*8)*9");
    let length = innermost(&["--level", "leaf"], &trace);
    let run_ns: u64 = length.iter().map(|row| row.1).sum();
    for level in ["leaf", "auto", "outer"] {
        let part = |parts: u64| format!("{}ns", run_ns / parts);
        for parts in [10, 50, 200] {
            let least = part(parts);
            let found = innermost(&["--level", level, "--min-duration", &least], &trace);
            let short: Vec<_> =
                found.iter().filter(|row| row.0 != "idle" && row.1 < run_ns / parts).collect();
            assert!(short.is_empty(), "at least {least}, level {level}: {short:?} of {found:?}");
            assert!(found.len() > 1 && found.len() as u64 <= parts, "{found:?}");
        }
        for most in [1, 2, 3] {
            let found = innermost(&["--level", level, "--max-phases", &most.to_string()], &trace);
            let mut names: Vec<_> = found.iter().map(|row| &row.0).filter(|name| *name != "idle").collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), most, "level {level}");
        }
    }
    // The reference: without the option, most rows are shorter than a fiftieth of the run.
    assert!(length.iter().filter(|row| row.1 < run_ns / 50).count() > length.len() / 2, "{length:?}");
}
