//! The launcher: exit status, run directory, environment, messages.

use std::process::{Command, Output};

use crate::mpi::{self, pf_profile};

fn profile(directory: &std::path::Path, arguments: &[&str]) -> Output {
    pf_profile().args(arguments).current_dir(directory).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn ends_as_its_command_ends() {
    let directory = tempfile::tempdir().unwrap();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
        let output = profile(directory.path(), &["-o", "run", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}");
    }
    let output = profile(directory.path(), &["-o", "run", "--", "./no-such-program"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "pf-profile: ./no-such-program: No such file or directory (os error 2)\n");
}

#[test]
fn leaves_nothing_behind_where_nothing_was_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let left = || std::fs::read_dir(directory.path()).unwrap().count();
    let output = profile(directory.path(), &["-o", "a/run", "--", "./no-such-program"]);
    assert_eq!((output.status.code(), left()), (Some(1), 0), "{}", stderr(&output));
    // A program without MPI.
    let output = profile(directory.path(), &["-o", "run", "--", "true"]);
    assert_eq!(
        stderr(&output),
        "pf-profile: run: nothing was recorded: no process came out of MPI_Init, or the program is linked statically\n"
    );
    assert_eq!((output.status.code(), left()), (Some(0), 0));
    // An empty directory that was there before stays empty.
    std::fs::create_dir(directory.path().join("run")).unwrap();
    assert_eq!(profile(directory.path(), &["-o", "run", "--", "true"]).status.code(), Some(0));
    assert_eq!(std::fs::read_dir(directory.path().join("run")).unwrap().count(), 0);
}

#[test]
fn says_where_the_command_goes() {
    let directory = tempfile::tempdir().unwrap();
    for options in [&[][..], &["-o", "run"]] {
        let output = profile(directory.path(), &[options, &["mpirun", "-n", "2", "./app"]].concat());
        assert_eq!(
            stderr(&output),
            "pf-profile: `mpirun`: the command to record goes after --: pf-profile -- mpirun -n 2 ./app\n"
        );
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn does_not_record_into_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("run")).unwrap();
    std::fs::write(directory.path().join("run/notes"), "mine").unwrap();
    let output = profile(directory.path(), &["-o", "run", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let problem = "pf-profile: run: is not empty; use --force to record into it, or another -o DIR\n";
    assert_eq!(stderr(&output), problem);
    let output = profile(directory.path(), &["-o", "a run", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let problem = "pf-profile: a run: has a space or colon in its path, which LD_PRELOAD cannot name\n";
    assert_eq!(stderr(&output), problem);
    let output = profile(directory.path(), &["-o", "run", "--force", "--", "true"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).starts_with("pf-profile: run: nothing was recorded"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(directory.path().join("run/notes")).unwrap(), "mine");
}

#[test]
fn says_what_it_recorded() {
    for mpi in mpi::all() {
        let recorded = mpi.record("fork.c", 2, &[], &[]);
        let line = format!("{}: 2 processes, 4 messages, 16 bytes", recorded.run_directory().display());
        assert!(recorded.stderr().contains(&line), "{}", recorded.stderr());
    }
}

#[test]
fn environment_settings_serve_scripts() {
    for mpi in mpi::all() {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("fork.c", directory.path());
        let mut words = mpi.launch(2, &[]);
        words.push(program.to_str().unwrap().into());
        let script = format!(
            "set -e; eval \"$({} --env -o \"it's\")\"; {}",
            env!("CARGO_BIN_EXE_pf-profile"),
            words.join(" ")
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(directory.path());
        shell.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        shell.envs([("PRTE_ALLOW_RUN_AS_ROOT", "1"), ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let run = phaseflow_profiler::Run::open(&directory.path().join("it's")).unwrap();
        assert_eq!(phaseflow_profiler::Summary::of(&run).unwrap().sent.messages, 4);
    }
}

#[test]
fn several_programs_in_one_job_are_all_recorded() {
    for mpi in mpi::all() {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("subjects.c", directory.path()).to_str().unwrap().to_owned();
        let mut words = mpi.launch(1, &[&program, "collectives", ":", "-n", "2", &program, "collectives"]);
        words.retain(|word| !word.is_empty());
        let recorded = mpi::record(directory, &[], &words);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        assert_eq!(recorded.summary().processes, 3);
    }
}

#[test]
fn spawned_processes_are_ranks_of_their_own() {
    let mpi = mpi::debian();
    let recorded = mpi.record("spawn.c", 2, &[], &[]);
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let run = recorded.run();
    assert_eq!((run.ranks(), run.processes().len()), (4, 4));
    assert!(run.processes().map(|process| process.0).eq(0..4));
}

#[test]
fn a_line_for_each_process_on_request() {
    for mpi in mpi::all() {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("fork.c", directory.path());
        let mut words = mpi.launch(2, &[]);
        words.push(program.to_str().unwrap().into());
        let mut command = pf_profile();
        command.arg("-o").arg(directory.path().join("run")).arg("--").args(&words).env("PHASEFLOW_LOG", "1");
        let output = command.output().unwrap();
        let level = if mpi.open { "level pml" } else { "level pmpi" };
        let text = stderr(&output);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("phaseflow: rank ")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines.iter().all(|line| line.contains(level)), "{text}");
    }
}
