//! The environment variables that the recorder reads, all of them here, and the variables by which launchers name a job.

/// The variables; [`from_process`](Environment::from_process) reads them once, in `MPI_Init`.
///
/// | variable | meaning |
/// |---|---|
/// | `PHASEFLOW_DIR` | run directory to record into; without it the library does nothing at all |
/// | `PHASEFLOW_LEVEL` | `auto` (default), `pml`: say so loudly when messages below the collectives cannot be seen, `pmpi`: record calls only |
/// | `PHASEFLOW_LOG` | `1`: one line per process on standard error at the start |
/// | `PHASEFLOW_CLOCK` | `auto` (default), `tsc`, `monotonic`: the clock to take |
/// | `PHASEFLOW_CLOCK_SHIFT` | ticks to add to the clock; for tests of the clock alignment |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `PHASEFLOW_DIR`.
    pub directory: Option<std::path::PathBuf>,
    /// `PHASEFLOW_LEVEL`.
    pub level: Wish,
    /// `PHASEFLOW_LOG`.
    pub log: bool,
    /// `PHASEFLOW_CLOCK`: true for the time stamp counter, false for the monotonic clock.
    pub tsc: Option<bool>,
    /// `PHASEFLOW_CLOCK_SHIFT`.
    pub clock_shift: u64,
    /// What the launcher calls the job.
    pub job: String,
}

/// The level that the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Messages below the collectives where possible, else calls.
    #[default]
    Auto,
    /// Messages below the collectives.
    Pml,
    /// Calls.
    Pmpi,
}

/// Open MPI and everything with PMIx, MPICH, Slurm without either.
const JOB_NAMES: [&str; 4] = ["PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID", "SLURM_JOB_ID"];

impl Environment {
    /// Reads the process's environment. What is misspelt counts as not set: a recorder does not stop a program.
    pub fn from_process() -> Self {
        Self::of(|name| std::env::var_os(name).and_then(|value| value.into_string().ok()))
    }

    fn of(value: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, wanted: &str| value(name).is_some_and(|found| found == wanted);
        let level = if is("PHASEFLOW_LEVEL", "pml") {
            Wish::Pml
        } else if is("PHASEFLOW_LEVEL", "pmpi") {
            Wish::Pmpi
        } else {
            Wish::Auto
        };
        let tsc = match value("PHASEFLOW_CLOCK").as_deref() {
            Some("tsc") => Some(true),
            Some("monotonic") => Some(false),
            _ => None,
        };
        let shift = value("PHASEFLOW_CLOCK_SHIFT").and_then(|text| text.parse::<i64>().ok());
        Self {
            directory: value("PHASEFLOW_DIR").filter(|path| !path.is_empty()).map(Into::into),
            level,
            log: is("PHASEFLOW_LOG", "1"),
            tsc,
            clock_shift: shift.unwrap_or(0).cast_unsigned(),
            job: JOB_NAMES.iter().find_map(|name| value(name)).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_is_nothing_done() {
        assert_eq!(Environment::of(|_| None), Environment::default());
    }

    #[test]
    fn each_variable_has_its_field() {
        let set = [
            ("PHASEFLOW_DIR", "/scratch/run"),
            ("PHASEFLOW_LEVEL", "pmpi"),
            ("PHASEFLOW_LOG", "1"),
            ("PHASEFLOW_CLOCK", "monotonic"),
            ("PHASEFLOW_CLOCK_SHIFT", "-5"),
            ("SLURM_JOB_ID", "17"),
            ("PMIX_NAMESPACE", "prterun-3@1"),
        ];
        let found = Environment::of(|name| set.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()));
        let expected = Environment {
            directory: Some("/scratch/run".into()),
            level: Wish::Pmpi,
            log: true,
            tsc: Some(false),
            clock_shift: (-5_i64).cast_unsigned(),
            job: "prterun-3@1".into(),
        };
        assert_eq!(found, expected);
    }
}
