//! The environment variables that the recorder reads, all of them here, and the variables by which
//! launchers name a job.

/// The variables; [`from_process`](Environment::from_process) reads them once, in `MPI_Init`.
///
/// | variable | meaning |
/// |---|---|
/// | `PHASEFLOW_DIR` | run directory to record into; without it the library does nothing at all |
/// | `PHASEFLOW_LEVEL` | `auto` (default); `pml`: an error without messages; `pmpi`: calls only |
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
    /// The launcher's name of the job.
    pub job: String,
    /// The process's place by the launcher; `None` if unknown.
    pub place: Option<Place>,
}

/// A process's place in its job, known before `MPI_Init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rank.
    pub rank: u32,
    /// Number of this process among those of its host.
    pub local_rank: u32,
    /// All processes are on this host.
    pub one_host: bool,
}

/// The level that the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Messages below the collectives if possible, otherwise calls.
    #[default]
    Auto,
    /// Messages below the collectives.
    Pml,
    /// Calls.
    Pmpi,
}

/// Open MPI and everything with PMIx, MPICH, Slurm without either.
const JOB_NAMES: [&str; 4] = ["PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID", "SLURM_JOB_ID"];

/// Rank, number on the host, processes of the host, processes of the job: Open MPI, MPICH.
const PLACES: [[&str; 4]; 2] = [
    [
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_COMM_WORLD_SIZE",
    ],
    ["PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_SIZE"],
];
/// Rank, number on the host, hosts: Slurm's own launcher.
const SLURM_PLACE: [&str; 3] = ["SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES"];

impl Environment {
    /// Reads the process's environment. Invalid values count as not set, so that the recorder never
    /// stops a program.
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
        let number = |name: &str| value(name).and_then(|text| text.parse::<u32>().ok());
        let mut places = PLACES.iter().filter_map(|[rank, local, on_host, all]| {
            let one_host = number(on_host)? == number(all)?;
            Some(Place { rank: number(rank)?, local_rank: number(local)?, one_host })
        });
        let slurm = || {
            let [rank, local, hosts] = SLURM_PLACE.map(number);
            Some(Place { rank: rank?, local_rank: local?, one_host: hosts? == 1 })
        };
        Self {
            directory: value("PHASEFLOW_DIR").filter(|path| !path.is_empty()).map(Into::into),
            level,
            log: is("PHASEFLOW_LOG", "1"),
            tsc,
            clock_shift: shift.unwrap_or(0).cast_unsigned(),
            job: JOB_NAMES.iter().find_map(|name| value(name)).unwrap_or_default(),
            place: places.next().or_else(slurm),
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
            ("SLURM_PROCID", "5"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_NUM_NODES", "2"),
        ];
        let found = Environment::of(|name| set.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()));
        let expected = Environment {
            directory: Some("/scratch/run".into()),
            level: Wish::Pmpi,
            log: true,
            tsc: Some(false),
            clock_shift: (-5_i64).cast_unsigned(),
            job: "prterun-3@1".into(),
            place: Some(Place { rank: 5, local_rank: 1, one_host: false }),
        };
        assert_eq!(found, expected);
    }
}
