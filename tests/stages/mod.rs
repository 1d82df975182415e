//! The stages as a shell runs them.

#![allow(dead_code, unreachable_pub, reason = "not every test runs every stage")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output, Stdio};

pub type Row = BTreeMap<String, String>;

/// Runs a command with `input` on standard input.
pub fn run(mut command: Command, input: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early does not read all of it.
    let feeder = std::thread::spawn(move || stdin.write_all(&input).ok());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

/// The standard output of a command that has to succeed.
pub fn output(command: Command, input: &[u8]) -> Vec<u8> {
    let shown = format!("{command:?}");
    let done = run(command, input);
    assert!(done.status.success(), "{shown}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

pub fn simulate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-simulate"));
    command.args(arguments);
    command
}

pub fn collect(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    command.args(arguments);
    output(command, b"")
}

pub fn segment(arguments: &[&str], trace: &[u8]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-segment"));
    command.args(arguments);
    output(command, trace)
}

/// A table of pf-report.
pub fn table(name: &str, results: &[u8]) -> Vec<Row> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.args(["--table", name]);
    let csv = output(command, results);
    csv::Reader::from_reader(&csv[..]).deserialize().map(|row| row.unwrap()).collect()
}

pub fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}
