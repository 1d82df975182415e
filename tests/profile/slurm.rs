//! Under Slurm: a cluster of one node, started for the test.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::mpi::{self, Mpi, Recorded, pf_profile, skip};

/// The controller and the daemon of one node; they end when this does.
struct Cluster {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Needs root, as daemons of a cluster do.
    fn up() -> Option<Self> {
        let needs =
            "slurmctld, slurmd and munged (apt: slurm-wlm munge), and the rights of root to start them";
        let there = ["slurmctld", "slurmd", "munged"].map(|name| Path::new("/usr/sbin").join(name).is_file());
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        if there.contains(&false) || !root {
            return skip(needs);
        }
        let mut cluster = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        let host = Command::new("hostname").arg("-s").output().unwrap().stdout;
        let host = String::from_utf8(host).unwrap().trim().to_owned();
        let at = cluster.folder.path().to_str().unwrap().to_owned();
        // Whatever keeps a port of its own: no two tests of one machine share one.
        let port = 20_000 + 2 * (std::process::id() % 10_000);
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}\nSlurmctldPort={port}\nSlurmdPort={}\nSlurmUser=root\n\
             AuthType=auth/none\nCredType=cred/none\nStateSaveLocation={at}\nSlurmdSpoolDir={at}\n\
             SlurmctldPidFile={at}/controller.pid\nSlurmdPidFile={at}/daemon.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nReturnToService=2\nSlurmdParameters=config_overrides\nNodeName={host} CPUs=4\n\
             PartitionName=main Nodes={host} Default=YES State=UP\n",
            port + 1
        );
        std::fs::write(cluster.folder.path().join("slurm.conf"), configuration).unwrap();
        cluster.start("/usr/sbin/slurmctld", &["-D"]);
        cluster.start("/usr/sbin/slurmd", &["-D"]);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            let nodes = cluster.command("sinfo").args(["--noheader", "--format=%t"]).output().unwrap();
            if nodes.stdout == b"idle\n" {
                return Some(cluster);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        skip("a Slurm whose node comes up within half a minute")
    }

    fn start(&mut self, program: &str, arguments: &[&str]) {
        let log = std::fs::File::create(self.folder.path().join("output")).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdout(Stdio::null()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    /// What pf-profile records of two ranks started by srun.
    fn record(&self, mpi: &Mpi, kind: &str) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("subjects.c", directory.path());
        let output = pf_profile()
            .env("SLURM_CONF", self.folder.path().join("slurm.conf"))
            .arg("-o")
            .arg(directory.path().join("run"))
            .args(["--", "srun", "--ntasks=2", kind])
            .arg(program)
            .arg("collectives")
            .output()
            .unwrap();
        Recorded { output, directory }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

#[test]
fn srun_starts_recorded_processes() {
    let (Some(open), Some(cluster)) = (mpi::debian(), Cluster::up()) else { return };
    let recorded = cluster.record(&open, "--mpi=pmix");
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let messages = recorded.collected(&[]);
    messages.is_whole(&recorded.summary().sent_pairs, "srun");
    for mpich in mpi::mpichs().iter().take(1) {
        let recorded = cluster.record(mpich, "--mpi=pmi2");
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        recorded.collected(&["--expand", "open-mpi"]).is_whole(&messages.pairs, "srun, MPICH");
    }
}

/// A batch script that starts MPI itself, with the environment that pf-profile prints.
#[test]
fn a_batch_job_records_by_its_environment() {
    let (Some(open), Some(cluster)) = (mpi::debian(), Cluster::up()) else { return };
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
