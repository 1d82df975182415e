//! Expansions against Open MPI itself: its monitoring counts messages and bytes of each pair of
//! ranks in real runs of every collective. Skipped without Open MPI 4.1 and its compiler.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests and what they are made of"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use phaseflow_collect::expand::{Collective, Counts, Edge, Rules, expand};
use phaseflow_collect::trace::Operation;

/// One line of the program's list.
#[derive(Clone, Copy)]
struct Case {
    operation: Operation,
    root: u32,
    irregular: bool,
    count: u64,
    type_bytes: u64,
    commutative: bool,
}

/// Messages and bytes by (sender, receiver).
type Pairs = BTreeMap<(u32, u32), (u64, u64)>;

impl Case {
    fn count_of(&self, i: u32) -> u64 {
        if self.irregular { self.count * u64::from((i * 7 + 3) % 5) } else { self.count }
    }

    fn line(&self) -> String {
        let Self { operation, root, irregular, count, type_bytes, commutative } = self;
        let (irregular, commutative) = (u8::from(*irregular), u8::from(*commutative));
        format!("{} {root} {irregular} {count} {type_bytes} {commutative}\n", operation.name())
    }

    fn add(&self, ranks: u32, pairs: &mut Pairs) {
        let per_rank: Vec<u64> = (0..ranks).map(|rank| self.count_of(rank)).collect();
        let per_pair: Vec<u64> = (0..ranks * ranks).map(|pair| self.count_of(pair)).collect();
        let edge = |src: u32, i: u32| {
            let number = if self.operation == Operation::NeighborAllgatherv { src } else { 2 * src + i };
            Edge { src, dst: (src + ranks - 1 + 2 * i) % ranks, count: self.count_of(number) }
        };
        let edges: Vec<Edge> = (0..ranks).flat_map(|src| [edge(src, 0), edge(src, 1)]).collect();
        let counts = match self.operation {
            Operation::Alltoallv | Operation::Alltoallw => Counts::Pairs(&per_pair),
            operation if operation.name().starts_with("neighbor") => Counts::Edges(&edges),
            _ if self.irregular => Counts::Ranks(&per_rank),
            _ => Counts::Each(self.count),
        };
        let collective = Collective {
            root: Some(self.root),
            type_bytes: self.type_bytes,
            commutative: self.commutative,
            ..Collective::new(self.operation, ranks, counts)
        };
        expand(&collective, Rules::OpenMpi41, &mut |transfer| {
            let cell = pairs.entry((transfer.src, transfer.dst)).or_default();
            *cell = (cell.0 + 1, cell.1 + transfer.bytes);
        })
        .unwrap();
    }
}

/// Every collective, with sizes that visit most algorithms.
fn cases(ranks: u32) -> Vec<Case> {
    use Operation as O;
    let mut cases = Vec::new();
    for operation in O::ALL.iter().copied().skip(1).take_while(|operation| *operation != O::Put) {
        let ragged = matches!(operation, O::Gatherv | O::Scatterv | O::Allgatherv | O::ReduceScatter)
            || [O::Alltoallv, O::Alltoallw, O::NeighborAllgatherv].contains(&operation)
            || [O::NeighborAlltoallv, O::NeighborAlltoallw].contains(&operation);
        let ordered = matches!(
            operation,
            O::Reduce | O::Allreduce | O::Scan | O::Exscan | O::ReduceScatter | O::ReduceScatterBlock
        );
        for bytes in [0, 9, 24, 100, 300, 1500, 5000, 10_000, 20_000, 70_000, 270_000] {
            for type_bytes in [4, 24] {
                let case = Case {
                    operation,
                    root: u32::try_from(bytes).unwrap() % ranks,
                    irregular: false,
                    count: bytes / type_bytes,
                    type_bytes,
                    commutative: true,
                };
                cases.push(case);
                if ragged {
                    cases.push(Case { irregular: true, ..case });
                }
                if ordered {
                    cases.push(Case { commutative: false, ..case });
                }
            }
        }
    }
    cases
}

/// What Open MPI's monitoring counts in a run of the program over some cases.
fn monitored(folder: &Path, ranks: u32, cases: &[Case]) -> Pairs {
    let list = cases.iter().fold(String::new(), |list, case| list + &case.line());
    fs::write(folder.join("cases"), list).unwrap();
    let mut run = Command::new("mpirun");
    run.current_dir(folder).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    run.args(["-n", &ranks.to_string(), "--oversubscribe", "--mca", "pml_monitoring_enable", "2"]);
    run.args(["--mca", "pml_monitoring_enable_output", "3", "--mca", "pml_monitoring_filename", "sent"]);
    let output = run.args(["./collectives", "cases"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut pairs = Pairs::new();
    for rank in 0..ranks {
        let text = fs::read_to_string(folder.join(format!("sent.{rank}.prof"))).unwrap();
        // Kind, sender, receiver, "N bytes", "N msgs sent"; E is external, I internal to
        // collectives.
        for line in text.lines().filter(|line| line.starts_with("E\t") || line.starts_with("I\t")) {
            let number = |i: usize| -> u64 {
                let field = line.split('\t').nth(i).unwrap();
                field.split(' ').next().unwrap().parse().unwrap()
            };
            let pair = (rank, u32::try_from(number(2)).unwrap());
            let cell = pairs.entry(pair).or_default();
            *cell = (cell.0 + number(4), cell.1 + number(3));
        }
    }
    pairs
}

/// The pairs that differ between real runs and expansions, as lines; `idle` is what the program
/// sends without cases.
fn differences(folder: &Path, ranks: u32, cases: &[Case], idle: &Pairs) -> String {
    let real = monitored(folder, ranks, cases);
    let mut expected = idle.clone();
    cases.iter().for_each(|case| case.add(ranks, &mut expected));
    let mut lines = String::new();
    for src in 0..ranks {
        for dst in 0..ranks {
            let (real, expected) = (real.get(&(src, dst)), expected.get(&(src, dst)));
            if real.unwrap_or(&(0, 0)) != expected.unwrap_or(&(0, 0)) {
                writeln!(lines, "{src} to {dst}: Open MPI {real:?}, expansion {expected:?}").unwrap();
            }
        }
    }
    lines
}

#[test]
fn open_mpi_sends_what_the_expansion_says() {
    let version = Command::new("mpirun").arg("--version").output();
    let is_there =
        version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("(Open MPI) 4.1."));
    assert!(is_there, "needs mpirun of Open MPI 4.1: tests/install installs it");
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expand_open_mpi.c");
    let program = folder.path().join("collectives");
    let compiled = Command::new("mpicc").args(["-O1", "-w", source, "-o"]).arg(program).status();
    assert!(compiled.unwrap().success(), "mpicc fails");
    for ranks in [2, 3, 5, 8] {
        let cases = cases(ranks);
        let idle = monitored(folder.path(), ranks, &[]);
        if differences(folder.path(), ranks, &cases, &idle).is_empty() {
            continue;
        }
        // Which collective is it?
        for cases in cases.chunk_by(|a, b| a.operation == b.operation) {
            let lines = differences(folder.path(), ranks, cases, &idle);
            assert!(lines.is_empty(), "{} on {ranks} ranks:\n{lines}", cases[0].operation.name());
        }
        panic!("collectives on {ranks} ranks differ together, but not one by one");
    }
}
