//! Under Slurm: a cluster of one node, started for the test.

use crate::cluster::Cluster;
use crate::mpi::{self, Mpi, Recorded, pf_profile};

/// A recording of two ranks that srun starts under pf-profile.
fn record(cluster: &Cluster, mpi: &Mpi, kind: &str) -> Recorded {
    let directory = tempfile::tempdir().unwrap();
    let program = mpi.compile("subjects.c", directory.path());
    let output = pf_profile()
        .envs(cluster.command("srun").get_envs().map(|(name, value)| (name, value.unwrap())))
        .arg("-o")
        .arg(directory.path().join("run"))
        .args(["--", "srun", "--ntasks=2", kind])
        .arg(program)
        .arg("collectives")
        .output()
        .unwrap();
    Recorded { output, directory }
}

#[test]
fn srun_starts_recorded_processes() {
    let open = mpi::debian();
    let cluster = Cluster::up();
    let recorded = record(&cluster, &open, "--mpi=pmix");
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let messages = recorded.collected(&[]);
    messages.is_whole(&recorded.summary().sent_pairs, "srun");
    for mpich in mpi::mpichs().iter().take(1) {
        let recorded = record(&cluster, mpich, "--mpi=pmi2");
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        recorded.collected(&["--expand", "open-mpi"]).is_whole(&messages.pairs, "srun, MPICH");
    }
}

/// A batch script that starts MPI itself, with the environment that pf-profile prints.
#[test]
fn a_batch_job_records_by_its_environment() {
    let open = mpi::debian();
    let cluster = Cluster::up();
    let directory = tempfile::tempdir().unwrap();
    let program = open.compile("subjects.c", directory.path());
    let run = directory.path().join("run");
    let script = format!(
        "#!/bin/sh\neval \"$({} --env -o {})\"\nsrun --ntasks=2 --mpi=pmix {} collectives\n",
        env!("CARGO_BIN_EXE_pf-profile"),
        run.display(),
        program.display()
    );
    let path = directory.path().join("job");
    std::fs::write(&path, script).unwrap();
    let mut batch = cluster.command("sbatch");
    batch.args(["--wait", "--ntasks=2", "--output=/dev/null"]).arg(path).current_dir(directory.path());
    let output = batch.output().unwrap();
    let recorded = Recorded { output, directory };
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    assert!(recorded.collected(&[]).number("messages") > 0);
}
