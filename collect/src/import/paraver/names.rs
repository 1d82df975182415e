//! Names of the values of events, from the `.pcf` file of a Paraver trace; numbers of objects, from
//! the `.row` file.

use std::io::Read;

use rustc_hash::FxHashMap;

use crate::Result;
use crate::import::mpi_names;
use crate::import::set::Member;
use crate::trace::Operation;

/// Largest file of names that is read, bytes; those with all of MPI have about 100 kB.
const LARGEST: u64 = 64 << 20;

/// Types of Extrae's events of MPI calls: point-to-point, collective, other, one-sided, files.
pub(super) const CALLS: std::ops::RangeInclusive<i64> = 50_000_001..=50_000_005;

/// Extrae's numbers of the oldest functions, for traces without names.
const OLDEST: [(i64, &str); 17] = [
    (1, "MPI_Send"),
    (2, "MPI_Recv"),
    (5, "MPI_Wait"),
    (6, "MPI_Waitall"),
    (7, "MPI_Bcast"),
    (8, "MPI_Barrier"),
    (9, "MPI_Reduce"),
    (10, "MPI_Allreduce"),
    (11, "MPI_Alltoall"),
    (12, "MPI_Alltoallv"),
    (13, "MPI_Gather"),
    (14, "MPI_Gatherv"),
    (15, "MPI_Scatter"),
    (16, "MPI_Scatterv"),
    (17, "MPI_Allgather"),
    (18, "MPI_Allgatherv"),
    (32, "MPI_Finalize"),
];

/// Operations by the values of events of MPI calls.
#[derive(Clone, Debug)]
pub(in crate::import) struct Names {
    operations: FxHashMap<i64, Option<Operation>>,
}

impl Default for Names {
    /// Those of traces without names.
    fn default() -> Self {
        let operations = OLDEST.iter().map(|(value, name)| (*value, mpi_names::operation(name)));
        Self { operations: operations.collect() }
    }
}

impl Names {
    /// # Errors
    /// An error of the operating system.
    pub(super) fn read(member: &Member) -> Result<Self> {
        let mut text = Vec::new();
        member.reader(16 << 10).take(LARGEST).read_to_end(&mut text)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Sections `EVENT_TYPE` name types, `VALUES` after them their values, until an empty line.
    pub(super) fn parse(text: &str) -> Self {
        let mut names = Self::default();
        let (mut of_calls, mut in_values) = (false, false);
        for line in text.lines().map(str::trim) {
            match line {
                "EVENT_TYPE" => (of_calls, in_values) = (false, false),
                "VALUES" => in_values = true,
                "" => in_values = false,
                _ if in_values && of_calls => {
                    if let Some((value, name)) = line.split_once(char::is_whitespace)
                        && let Ok(value) = value.parse()
                    {
                        names.operations.insert(value, mpi_names::operation(name.trim()));
                    }
                }
                _ if !in_values => {
                    // Gradient, type, label.
                    let kind = line.split_whitespace().nth(1).and_then(|kind| kind.parse().ok());
                    of_calls |= kind.is_some_and(|kind: i64| CALLS.contains(&kind));
                }
                _ => {}
            }
        }
        names
    }

    /// The operation of a value; `None` for those that neither communicate nor wait.
    pub(super) fn operation(&self, value: i64) -> Option<Operation> {
        self.operations.get(&value).copied().flatten()
    }

    /// The value has a name.
    pub(super) fn knows(&self, value: i64) -> bool {
        self.operations.contains_key(&value)
    }
}

/// How many tasks a `.row` file names: the line `LEVEL TASK SIZE n`.
///
/// # Errors
/// An error of the operating system.
pub(super) fn tasks(member: &Member) -> Result<Option<u32>> {
    let mut text = Vec::new();
    member.reader(16 << 10).take(LARGEST).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let size = text.lines().find_map(|line| line.trim().strip_prefix("LEVEL TASK SIZE"));
    Ok(size.and_then(|size| size.trim().parse().ok()))
}
