//! Writes what a replay does as SimGrid's time-independent trace: `ti ARCHIVE DIRECTORY`.
//!
//! The archive is a phase archive that holds the whole run (`pf-segment --keep-messages`). Each
//! rank gets a file; `ti.txt` names them for `smpirun -replay`. A nanosecond of computation becomes
//! one operation, so that hosts of 1 Gf take as long as the run did. Made for comparisons with SMPI
//! (`benches/peers/`).
#![allow(clippy::print_stdout, reason = "a program")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use phaseflow_collect::import::Input;
use phaseflow_collect::{Error, Result};
use phaseflow_simulate::replay::{Op, Operations};
use phaseflow_simulate::workload::{Reading, Workload};

/// SimGrid's number of MPI_BYTE.
const BYTE: u32 = 6;

fn write_rank(out: &mut impl Write, operations: &Operations, rank: u32) -> std::io::Result<()> {
    let messages = operations.messages();
    writeln!(out, "{rank} init")?;
    for op in operations.of(rank) {
        // The number of a message is its tag, so that each receive gets the message that it got.
        let transfer = |number: u32| messages[number as usize];
        match *op {
            Op::Compute(gap) => writeln!(out, "{rank} compute {}", operations.gap_ns(gap))?,
            Op::Send(n) => {
                let message = transfer(n);
                writeln!(out, "{rank} isend {} {n} {} {BYTE}", message.dst, message.bytes)?;
            }
            Op::ReceivePost(n) => {
                let message = transfer(n);
                writeln!(out, "{rank} irecv {} {n} {} {BYTE}", message.src, message.bytes)?;
            }
            Op::ReceiveWait(n) if !transfer(n).announced => {
                let message = transfer(n);
                writeln!(out, "{rank} recv {} {n} {} {BYTE}", message.src, message.bytes)?;
            }
            Op::ReceiveWait(n) | Op::SendWait(n) => {
                let message = transfer(n);
                writeln!(out, "{rank} wait {} {} {n}", message.src, message.dst)?;
            }
            Op::Join(_) | Op::Boundary(_) => {}
        }
    }
    writeln!(out, "{rank} finalize")
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [archive, directory] = &arguments[..] else { return Err(Error::usage("ti ARCHIVE DIRECTORY")) };
    let file = File::open(archive).map_err(|error| Error::from(error).at(archive))?;
    let workload = Workload::read(Input::File(file), tempfile::tempfile, Reading::Messages)?;
    let whole = workload.recording.as_ref().and_then(|recording| recording.whole.as_ref());
    let operations = whole.ok_or_else(|| {
        Error::data("does not hold the whole run: run pf-segment with --keep-messages").at(archive)
    })?;
    let failed = |error: std::io::Error| Error::from(error).at(directory);
    let directory = Path::new(directory);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut list = BufWriter::new(File::create(directory.join("ti.txt")).map_err(failed)?);
    for rank in 0..operations.ranks() {
        let path = directory.join(format!("rank-{rank}.txt"));
        let mut out = BufWriter::new(File::create(&path).map_err(failed)?);
        write_rank(&mut out, operations, rank).and_then(|()| out.flush()).map_err(failed)?;
        writeln!(list, "{}", path.display()).map_err(failed)?;
    }
    list.flush().map_err(failed)?;
    println!("ranks: {}\nmessages: {}", operations.ranks(), operations.messages().len());
    Ok(())
}

fn main() -> Result<()> {
    run()
}
