//! What holds whatever is lost and doubled, and whenever workers come.

use proptest::prelude::*;

use super::*;
use crate::packet::chance::mix;
use crate::topology::PortOrder;
use crate::topology::sketch::sketch;

/// Racks under spines, or in a line without; links of unlike speed and latency.
fn racks(racks: usize, spines: usize, hosts: usize, seed: u64) -> Topology {
    let mut text = String::new();
    for rack in 0..racks {
        (0..hosts).for_each(|host| text += &format!("h{rack}x{host}-l{rack} "));
        (0..spines).for_each(|spine| text += &format!("l{rack}-s{spine} "));
        if spines == 0 && rack > 0 {
            text += &format!("l{}-l{rack} ", rack - 1);
        }
    }
    let mut graph = sketch(&text);
    for (i, link) in graph.edge_weights_mut().enumerate() {
        let random = mix(seed ^ i as u64);
        link.capacity = [10.0, 25.0, 40.0, 100.0][random as usize % 4];
        link.latency_ps = 100_000 + (random >> 32) % 2_000_000;
    }
    Topology::freeze("net", graph, PortOrder::Name, 0).unwrap()
}

#[derive(Clone, Debug)]
struct Case {
    network: Topology,
    options: FabricOptions,
    choice: String,
    /// Bytes of each reduction.
    reductions: Vec<u64>,
    /// How many things happen between two vectors that are added.
    pace: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let network = (1_usize..6, 0_usize..3, 1_usize..4, any::<u64>());
    let loss = prop_oneof![Just(0.0), 0.0..0.02, 0.0..0.3];
    let faults = (loss, prop_oneof![Just(0.0), 0.0..0.3]);
    let protocol = (1_u32..20, 1_u32..6, 1_u32..5, 3_u32..200, any::<[bool; 2]>(), 0_u32..5);
    let buffer = prop::option::of(2_000_u64..20_000);
    let reductions = prop::collection::vec(0_u64..3000, 1..6);
    (network, (faults, 0_u64..100, buffer), protocol, reductions, 0_u32..200).prop_map(
        |((leaves, spines, hosts, seed), ((loss, duplicate), jitter, buffer), protocol, reductions, pace)| {
            let (k, window, times, timeout, [is_float, is_safe], message) = protocol;
            let is_rdma = leaves == 1 && message > 0 && !is_safe;
            let message = if is_rdma { message } else { 1 };
            let numbers = if is_float { "float" } else { "int" };
            let framing = if is_rdma { "rdma" } else { "udp" };
            let safe = if is_safe { "on" } else { "off" };
            let choice = format!(
                "switchml[k={k},outstanding={},slots={},timeout={timeout}us,numbers={numbers},framing={framing},\
                 message={message},safe={safe}]",
                window * message,
                window * times * message,
            );
            let options = FabricOptions {
                loss,
                duplicate,
                buffer,
                // Only the extension stands packets that overtake each other.
                reorder_ps: if is_safe { jitter * MICROSECOND } else { 0 },
                seed,
                ..FabricOptions::default()
            };
            Case { network: racks(leaves, spines, hosts, seed), options, choice, reductions, pace }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// On links that keep the order, whatever is lost, and however often it is sent or comes: every
    /// sum is right and every worker has it once, workers are a phase apart at most, a switch sums
    /// each packet once.
    #[test]
    fn sums_are_exact(case in case()) {
        let mut run = trial(&case.network, &case.options, &case.choice, true);
        let workers = case.network.host_count() as u32;
        let number = run.open(&group(0, 0..workers)).unwrap();
        let mut to_add: Vec<(u32, usize)> =
            (0..workers).flat_map(|worker| (0..case.reductions.len()).map(move |reduction| (worker, reduction))).collect();
        // Workers come in any order, each with its reductions in turn.
        to_add.sort_by_key(|(worker, reduction)| (*reduction as u64 + mix(case.options.seed ^ u64::from(*worker)) % 3, *reduction));
        let mut to_add = to_add.into_iter();
        let mut steps = 0;
        loop {
            let goes_on = run.step();
            if !goes_on || steps % (case.pace + 1) == 0 {
                match to_add.next() {
                    Some((worker, reduction)) => {
                        let key = worker << 8 | reduction as u32;
                        run.add(number, worker, case.reductions[reduction], key).unwrap();
                    }
                    None if !goes_on => break,
                    None => {}
                }
            }
            steps += 1;
            prop_assert!(steps < 5_000_000, "no end");
            let protocol = &run.program.0;
            prop_assert!(protocol.levels.iter().all(Level::counts_agree));
            if steps % 64 == 0 && !protocol.settings.is_safe {
                prop_assert!(protocol.levels.iter().all(|level| level.versions_take_turns(&protocol.settings)));
            }
            let Settings { slots, window, .. } = protocol.settings;
            if slots == window {
                for chain in 0..protocol.settings.chains() as usize {
                    let chunks = || protocol.workers.iter().map(|worker| worker.chains[chain].chunk);
                    prop_assert!(chunks().max().unwrap() - chunks().min().unwrap() <= slots);
                }
            }
        }
        let mut keys: Vec<u32> = run.sums.iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        let all = (0..workers).flat_map(|worker| (0..case.reductions.len() as u32).map(move |number| worker << 8 | number));
        prop_assert!(keys.into_iter().eq(all));
        let elements: u64 = case.reductions.iter().map(|bytes| bytes.div_ceil(4)).sum();
        let report = run.program.0.report();
        prop_assert_eq!((report.checked, report.wrong), (elements * u64::from(workers), 0));
        prop_assert_eq!(run.program.0.stuck(), None);
        prop_assert_eq!(run.fabric.packets(), 0);
        let packets = u64::from(run.program.0.worker_groups[0].end);
        prop_assert!(run.program.0.levels.iter().all(|level| level.multicasts == packets));
    }

    /// The same once more, to the picosecond, whether results are checked or not.
    #[test]
    fn runs_can_be_repeated(case in case()) {
        let run = |verify| {
            let mut run = trial(&case.network, &case.options, &case.choice, verify);
            let time = run.allreduce(case.reductions[0] * 10);
            (time, run.fabric.hops(), run.fabric.traffic(), run.program.0.report().retransmits)
        };
        let once = run(false);
        prop_assert_eq!(&once, &run(false));
        prop_assert_eq!(&once, &run(true));
    }
}
