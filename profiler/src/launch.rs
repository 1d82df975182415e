//! The launcher: starts a program so that its MPI processes are recorded.
//!
//! The library is preloaded by environment variables. Launchers pass variables to other hosts in
//! different ways: Open MPI's by `-x`, MPICH's by `-genv`, `srun` with its own environment. Other
//! programs inherit the variables, which suffices for singletons, scripts, and launchers on one
//! host.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Name of the library in a run directory.
pub const LIBRARY_FILE: &str = "libphaseflow-preload.so";

/// Launchers by how they pass environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun` and those of its run-time (PRRTE): `-x NAME=VALUE`.
    OpenMpi,
    /// MPICH's Hydra and those made from it: `-genv NAME VALUE`.
    Hydra,
    /// Anything else: its own environment.
    Inherit,
}

impl Launcher {
    /// Recognises a program by its name and its output for `--version`.
    pub fn of(program: &OsStr, version: impl FnOnce() -> Option<String>) -> Self {
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        if !["mpirun", "mpiexec", "orterun", "prterun"].contains(&stem) {
            return Self::Inherit;
        }
        let version = version().unwrap_or_default();
        if ["Open MPI", "OpenRTE", "PRRTE", "prte"].iter().any(|mark| version.contains(mark)) {
            Self::OpenMpi
        } else if ["HYDRA", "Intel(R) MPI", "MPICH", "mvapich"].iter().any(|mark| version.contains(mark)) {
            Self::Hydra
        } else {
            Self::Inherit
        }
    }
}

/// Settings for the processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The run directory, absolute: processes may start elsewhere.
    pub directory: PathBuf,
    /// `auto`, `pml` or `pmpi`.
    pub level: String,
    /// A library that is preloaded already.
    pub preloaded: Option<OsString>,
    /// Further variables to pass on as they are, such as `PHASEFLOW_LOG`.
    pub others: Vec<(OsString, OsString)>,
}

impl Settings {
    /// The environment variables of a recorded process.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut preload = self.directory.join(LIBRARY_FILE).into_os_string();
        if let Some(more) = self.preloaded.as_ref().filter(|more| !more.is_empty()) {
            preload.push(":");
            preload.push(more);
        }
        let mut all = vec![
            ("LD_PRELOAD".into(), preload),
            ("PHASEFLOW_DIR".into(), self.directory.clone().into_os_string()),
            ("PHASEFLOW_LEVEL".into(), self.level.clone().into()),
        ];
        all.extend(self.others.iter().cloned());
        all
    }

    /// The command to run instead of `command`, and the variables to set for it.
    pub fn wrap(
        &self,
        launcher: Launcher,
        command: &[OsString],
    ) -> (Vec<OsString>, Vec<(OsString, OsString)>) {
        let Some((program, arguments)) = command.split_first() else { return Default::default() };
        let mut environment = self.environment();
        let mut options = Vec::new();
        match launcher {
            Launcher::Inherit => {}
            Launcher::OpenMpi => {
                for (name, value) in environment.drain(..) {
                    let mut pair = name;
                    pair.push("=");
                    pair.push(value);
                    options.extend(["-x".into(), pair]);
                }
            }
            Launcher::Hydra => {
                for (name, value) in environment.drain(..) {
                    options.extend(["-genv".into(), name, value]);
                }
            }
        }
        let mut wrapped = vec![program.clone()];
        wrapped.extend(options.iter().cloned());
        for argument in arguments {
            wrapped.push(argument.clone());
            // Open MPI's options are those of one program of several.
            if launcher == Launcher::OpenMpi && argument == ":" {
                wrapped.extend(options.iter().cloned());
            }
        }
        (wrapped, environment)
    }

    /// Shell commands that set the environment, for scripts that start MPI themselves.
    pub fn script(&self) -> String {
        let mut text = String::from(
            "# Open MPI on several hosts: mpirun -x LD_PRELOAD -x PHASEFLOW_DIR -x PHASEFLOW_LEVEL ...\n",
        );
        let own = Self { preloaded: None, ..self.clone() };
        for (name, value) in own.environment() {
            let quoted = value.to_string_lossy().replace('\'', "'\\''");
            let more = if name == "LD_PRELOAD" { "${LD_PRELOAD:+:$LD_PRELOAD}" } else { "" };
            text += &format!("export {}='{quoted}'{more}\n", name.to_string_lossy());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            directory: "/scratch/it's".into(),
            level: "auto".into(),
            preloaded: Some("/opt/other.so".into()),
            others: vec![("PHASEFLOW_LOG".into(), "1".into())],
        }
    }

    fn wrap(launcher: Launcher) -> (Vec<String>, usize) {
        let command: Vec<OsString> = ["mpirun", "-n", "4", "./app"].map(Into::into).to_vec();
        let (wrapped, environment) = settings().wrap(launcher, &command);
        (wrapped.into_iter().map(|word| word.into_string().unwrap()).collect(), environment.len())
    }

    #[test]
    fn launchers_are_known_by_name_and_version() {
        let of = |name: &str, version: &str| Launcher::of(name.as_ref(), || Some(version.into()));
        assert_eq!(of("/usr/bin/mpirun", "mpirun (Open MPI) 4.1.4"), Launcher::OpenMpi);
        assert_eq!(of("mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4"), Launcher::OpenMpi);
        assert_eq!(of("prterun", "prterun (PRRTE) 3.0"), Launcher::OpenMpi);
        assert_eq!(of("mpiexec.hydra", "HYDRA build details:"), Launcher::Hydra);
        assert_eq!(of("mpirun", "something else"), Launcher::Inherit);
        assert_eq!(Launcher::of("srun".as_ref(), || panic!("need not be asked")), Launcher::Inherit);
    }

    #[test]
    fn each_launcher_passes_the_environment_its_way() {
        let preload = "/scratch/it's/libphaseflow-preload.so:/opt/other.so";
        let (words, environment) = wrap(Launcher::OpenMpi);
        assert_eq!(words[..3], ["mpirun", "-x", &format!("LD_PRELOAD={preload}")]);
        assert_eq!((&words[9..], environment), (&["-n", "4", "./app"].map(String::from)[..], 0));
        let (words, environment) = wrap(Launcher::Hydra);
        assert_eq!(words[..4], ["mpirun", "-genv", "LD_PRELOAD", preload]);
        assert_eq!((words.len(), environment), (4 + 4 * 3, 0));
        let (words, environment) = wrap(Launcher::Inherit);
        assert_eq!((words.len(), environment), (4, 4));
    }

    #[test]
    fn the_script_is_quoted_for_a_shell() {
        let script = settings().script();
        let preload =
            r"export LD_PRELOAD='/scratch/it'\''s/libphaseflow-preload.so'${LD_PRELOAD:+:$LD_PRELOAD}";
        assert!(script.contains(preload), "{script}");
        assert!(script.contains("export PHASEFLOW_LEVEL='auto'\n"), "{script}");
    }
}
