//! A Slurm cluster of one node for a test: the controller and the node's daemon, under the user who
//! runs the test.

#![allow(dead_code, unreachable_pub, reason = "not every test does everything with it")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

/// Time between two looks at something that takes a while.
const GLANCE: Duration = Duration::from_millis(100);

/// A cluster; dropping it ends the daemons.
pub struct Cluster {
    folder: TempDir,
    daemons: Vec<Child>,
}

/// Standard output of a command that has to succeed, without the end of the line.
fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Cluster {
    /// A cluster whose node is idle.
    pub fn up() -> Self {
        for name in ["slurmctld", "slurmd"] {
            let there = Path::new("/usr/sbin").join(name).is_file();
            assert!(there, "there is no /usr/sbin/{name}: tests/install installs it (apt: slurm-wlm)");
        }
        let mut cluster = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        let mut short = Command::new("hostname");
        short.arg("-s");
        let mut name = Command::new("id");
        name.arg("-un");
        let (host, user) = (said(short), said(name));
        let at = cluster.folder.path().to_str().unwrap().to_owned();
        // Both ports are held until both are known, so they differ.
        let free = [(); 2].map(|()| TcpListener::bind("0.0.0.0:0").unwrap());
        let [controller, daemon] = free.map(|listener| listener.local_addr().unwrap().port());
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}\nSlurmctldPort={controller}\nSlurmdPort={daemon}\n\
             SlurmUser={user}\nSlurmdUser={user}\n\
             MessageTimeout=100\nAuthType=auth/none\nCredType=cred/none\nStateSaveLocation={at}\nSlurmdSpoolDir={at}\n\
             SlurmctldPidFile={at}/controller.pid\nSlurmdPidFile={at}/daemon.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nReturnToService=2\nSlurmdParameters=config_overrides\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nNodeName={host} CPUs=4\n\
             PartitionName=main Nodes={host} Default=YES State=UP\n"
        );
        std::fs::write(cluster.folder.path().join("slurm.conf"), configuration).unwrap();
        cluster.start("slurmctld");
        cluster.start("slurmd");
        // However slow the machine is, this waits; but a daemon that has ended never comes up.
        while cluster.command("sinfo").args(["--noheader", "--format=%t"]).output().unwrap().stdout
            != b"idle\n"
        {
            cluster.is_alive();
            sleep(GLANCE);
        }
        cluster
    }

    fn log(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    fn start(&mut self, name: &str) {
        let log = std::fs::File::create(self.log(name)).unwrap();
        let mut command = self.command(&format!("/usr/sbin/{name}"));
        command.arg("-D").stdout(Stdio::null()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn is_alive(&mut self) {
        let ended = self.daemons.iter_mut().any(|daemon| daemon.try_wait().unwrap().is_some());
        let logs = ["slurmctld", "slurmd"].map(|name| std::fs::read_to_string(self.log(name)).unwrap());
        assert!(!ended, "a daemon of Slurm has ended: {}", logs.join("\n"));
    }

    /// A command that talks to this cluster.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    /// Numbers of jobs and tasks that wait or run.
    pub fn jobs(&self) -> Vec<String> {
        let mut queue = self.command("squeue");
        queue.args(["--noheader", "--array", "--format=%i"]);
        said(queue).lines().map(String::from).collect()
    }

    /// Waits until something holds, as long as there are jobs. Fails with `what` if it never does.
    pub fn until(&mut self, what: &str, holds: impl Fn() -> bool) {
        while !holds() {
            self.is_alive();
            assert!(!self.jobs().is_empty() || holds(), "all jobs have ended before {what}");
            sleep(GLANCE);
        }
    }

    /// Waits until all jobs have ended.
    pub fn drain(&mut self) {
        while !self.jobs().is_empty() {
            self.is_alive();
            sleep(GLANCE);
        }
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
