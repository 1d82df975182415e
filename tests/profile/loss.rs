//! Whatever ends a process, nothing that was recorded is lost. What cannot be recorded does not
//! stop a program.

use std::path::Path;
use std::process::Command;

use phaseflow_profiler::{Direction, Record};

use crate::mpi::{self, record};

/// Sends of a rank that completed.
fn completed(run: &phaseflow_profiler::Run, rank: u32) -> u64 {
    let mut count = 0;
    for (_, recording) in run.processes().filter(|process| process.0 == rank) {
        for record in recording.lanes().iter().flat_map(|lane| recording.records(lane)) {
            if let Record::Message(message) = record.unwrap()
                && message.direction == Direction::Send
            {
                count += u64::from(message.complete.is_some());
            }
        }
    }
    count
}

/// Programs that die at random moments; PHASEFLOW_TRIALS sets the number for each (the full test is
/// 100 in all).
#[test]
fn a_crash_loses_nothing() {
    let mpi = mpi::debian();
    let trials: u32 = std::env::var("PHASEFLOW_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let folder = tempfile::tempdir().unwrap();
    let program = mpi.compile("crash.c", folder.path());
    let mut seed = 12345_u64;
    for trial in 0..trials {
        for how in ["kill", "abort", "segfault", "exit"] {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let after = 1 + (seed >> 33) % 60_000;
            let directory = tempfile::tempdir().unwrap();
            let progress = directory.path().join("progress");
            std::fs::create_dir(&progress).unwrap();
            let mut words = mpi.launch(3, &[]);
            words.push(program.to_str().unwrap().into());
            words.extend([how.to_owned(), progress.to_str().unwrap().into(), after.to_string()]);
            let recorded = record(directory, &[], &words);
            let what = format!("{how} {trial} after {after} us: {}", recorded.stderr());
            assert!(!recorded.output.status.success(), "{what}");
            assert!(recorded.stderr().contains("did not reach MPI_Finalize"), "{what}");
            let run = recorded.run();
            // pf-collect gives all of it, and says that it is incomplete.
            let (collected, summary) = (recorded.collected(&[]), recorded.summary());
            assert!(collected.stderr.contains("ended early, before MPI_Finalize"), "{}", collected.stderr);
            assert_eq!(collected.number("messages"), summary.sent.messages, "{what}");
            assert_eq!(collected.pairs, summary.sent_pairs, "{what}");
            for rank in 0..3 {
                let bytes = std::fs::read(progress.join(rank.to_string())).unwrap_or_default();
                let returned = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let seen = completed(&run, rank);
                assert!(
                    seen == returned || seen == returned + 1,
                    "rank {rank}: {seen} of {returned}: {what}"
                );
            }
        }
    }
}

fn mounted(kilobytes: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let size = format!("size={kilobytes}k");
    let mut mount = Command::new("mount");
    let done = mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(directory.path()).output();
    assert!(
        done.is_ok_and(|output| output.status.success()),
        "needs the right to mount a small file system (root)"
    );
    directory
}

#[test]
#[ignore = "needs the right to mount a file system; tests/run runs it where root has that"]
fn a_full_disk_stops_the_recording_not_the_program() {
    let mpi = mpi::debian();
    // There is room for the library and for each process's first reservation, not for more.
    let library = u32::try_from(phaseflow_profiler::library().len().div_ceil(1024)).unwrap();
    let disk = mounted(library + 2 * 260 + 200);
    let folder = tempfile::tempdir().unwrap();
    let program = mpi.compile("threads.c", folder.path());
    let mut words = mpi.launch(2, &[]);
    words.push(program.to_str().unwrap().into());
    let output =
        mpi::pf_profile().arg("-o").arg(disk.path().join("run")).arg("--").args(&words).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let _ = Command::new("umount").arg(disk.path()).output();
    assert!(output.status.success(), "{stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("phaseflow:")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].contains("no space left"), "{stderr}");
}

#[test]
fn a_directory_that_cannot_be_written_stops_nothing() {
    let mpi = mpi::debian();
    let recorded = {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("fork.c", directory.path());
        let mut words = mpi.launch(2, &["-x", "PHASEFLOW_DIR=/proc/nowhere"]);
        words.push(program.to_str().unwrap().into());
        let library = directory.path().join("library.so");
        std::fs::write(&library, phaseflow_profiler::library()).unwrap();
        let preload = format!("LD_PRELOAD={}", library.display());
        words.splice(1..1, ["-x".into(), preload]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command.output().unwrap()
    };
    let stderr = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert!(recorded.status.success(), "{stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("phaseflow:")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].starts_with("phaseflow: cannot record into /proc/nowhere/"), "{stderr}");
}

#[test]
fn a_forked_child_does_not_write() {
    for mpi in mpi::all() {
        let recorded = mpi.record("fork.c", 2, &[], &[]);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        let summary = recorded.summary();
        assert_eq!((summary.processes, summary.sent.messages, summary.marks), (2, 4, 0));
        assert!(Path::new(&recorded.run_directory()).is_dir());
    }
}
