//! What holds whatever happens: random networks, jobs, memories, losses, second copies, disorder.

use proptest::prelude::*;

use super::*;
use crate::packet::aggregation::atp::aggregator::{FREE, Row};
use crate::packet::aggregation::atp::server::{Slot, Slots};
use crate::packet::aggregation::atp::vectors::add_integers;
use crate::packet::{Marking, Paths};

#[derive(Clone, Debug)]
struct Case {
    /// Leaves, spines, hosts at a leaf; latency of switches.
    shape: (u32, u32, u32, Picoseconds),
    /// Of each job: first worker, workers, first server, servers; bytes of its two vectors.
    jobs: Vec<(u32, u32, u32, u32, [u64; 2])>,
    choice: String,
    options: FabricOptions,
}

fn case(is_calm: bool) -> impl Strategy<Value = Case> {
    let shape =
        (1_u32..4, if is_calm { 1_u32..2 } else { 1..3 }, 2_u32..4, prop_oneof![Just(0), Just(200_000)]);
    let job = (any::<u32>(), 1_u32..6, any::<u32>(), 1_u32..4, [0_u64..15_000, 0..4000]);
    let rows = prop_oneof![Just(0), Just(1), Just(3), Just(16), Just(64)];
    let words = (
        prop_oneof![Just("paper"), Just("code")],
        rows,
        prop_oneof![Just("dynamic"), Just("static,jobs=3")],
        prop_oneof![Just("numbers=int"), Just("scale=1000000"), Just("scale=1000000000")],
        1_u32..60,
        prop_oneof![Just("on"), Just("off")],
    );
    let choice = words.prop_map(|(profile, rows, sharing, numbers, window, controls)| {
        // Few slots, so that all can be looked at, and numbers of packets come round often.
        let limit = if profile == "paper" { window.max(20) } else { window };
        format!(
            "atp[profile={profile},window-limit={limit},aggregators={rows},sharing={sharing},{numbers},window={window},\
             congestion-control={controls},first-timeout=1ms,timeout=50us]"
        )
    });
    let worst = if is_calm { 0.000_001 } else { 0.04 };
    let loss = prop_oneof![Just(0.0), 0.0..worst];
    let duplicate = prop_oneof![Just(0.0), 0.0..0.1];
    let lossy = (loss, duplicate, prop_oneof![Just(0), 0_u64..5_000_000]);
    let options = (lossy, prop::option::of(0_u64..20_000), any::<bool>(), any::<u64>());
    (shape, prop::collection::vec(job, 1..4), choice, options).prop_map(
        move |(shape, jobs, choice, ((loss, duplicate, reorder_ps), mark, sprays, seed))| {
            let options = FabricOptions {
                loss: if is_calm { 0.0 } else { loss },
                duplicate: if is_calm { 0.0 } else { duplicate },
                reorder_ps: if is_calm { 0 } else { reorder_ps },
                marking: mark.map(Marking::above),
                paths: if sprays && !is_calm { Paths::Spray } else { Paths::Flow },
                seed,
                ..FabricOptions::default()
            };
            Case { shape, jobs, choice, options }
        },
    )
}

fn leaf_spine((leaves, spines, hosts, switch_latency): (u32, u32, u32, Picoseconds)) -> Topology {
    let mut text = String::new();
    for leaf in 0..leaves {
        (0..hosts).for_each(|host| text += &format!("h{leaf}x{host}-l{leaf} "));
        (0..spines).for_each(|spine| text += &format!("l{leaf}-s{spine} "));
    }
    network_of(&text, 100.0, 500_000, switch_latency)
}

/// Looks at all aggregators and sums after each event.
#[derive(Default)]
struct Watch {
    rows: Vec<Vec<Row>>,
    slots: Vec<Vec<Slot>>,
}

impl Watch {
    fn look(&mut self, run: &Run<'_>, has_integers: bool) -> Result<(), TestCaseError> {
        let atp = &run.atp.0;
        self.rows.resize(atp.tables.len(), Vec::new());
        for (place, (table, before)) in atp.tables.iter().zip(&mut self.rows).enumerate() {
            let node = atp.table_of.iter().position(|table| *table as usize == place).unwrap();
            before.resize(table.rows.len(), Table::new(1, 0).rows[0]);
            for (row, before) in table.rows.iter().zip(before) {
                if row == before {
                    continue;
                }
                // (c): no other packet's aggregator without being free in between.
                prop_assert!(
                    row.identifier == before.identifier
                        || before.identifier == FREE
                        || row.identifier == FREE
                );
                check_row(run, NodeId(node as u32), row, has_integers)?;
                *before = *row;
            }
        }
        self.slots.resize(atp.groups.len(), Vec::new());
        for (group, before) in atp.groups.iter().flatten().zip(&mut self.slots) {
            before.resize(group.slots.iter().len(), Slots::new(1, 0).iter().as_slice()[0]);
            for (slot, before) in group.slots.iter().zip(before) {
                if slot == before {
                    continue;
                }
                // (d): contributors only come, unless floats replace them.
                if slot.seq == before.seq && slot.is_raw == before.is_raw {
                    prop_assert_eq!(before.touched & !slot.touched, 0);
                    prop_assert!(slot.is_complete || !before.is_complete);
                    prop_assert!(!before.is_complete || slot.value == before.value, "a result changed");
                } else if slot.seq == before.seq {
                    prop_assert!(slot.is_raw && !before.is_complete);
                } else {
                    prop_assert!(before.seq == u32::MAX || slot.seq > before.seq);
                }
                *before = *slot;
            }
        }
        Ok(())
    }
}

/// (b): an aggregator's value is the sum over its bitmap, its counter the number of bits.
fn check_row(run: &Run<'_>, node: NodeId, row: &Row, has_integers: bool) -> Result<(), TestCaseError> {
    if row.identifier == FREE {
        prop_assert!(row.bitmap == 0 && row.counter == 0 && row.value == u32::MAX);
        return Ok(());
    }
    prop_assert_eq!(row.bitmap.count_ones(), row.counter);
    let (number, seq) = ((row.identifier >> 32) as u32, row.identifier as u32);
    let (atp, group) = (&run.atp.0, run.group(number));
    let server = group.server_of(seq);
    let is_second = group.servers[server].switch == node;
    let net = run.fabric.topology();
    let is_in = |worker: &usize| {
        let heading = group.headings[server * group.hosts.len() + worker];
        if is_second {
            row.bitmap & heading.bitmaps[1] != 0
        } else {
            let rack = tree::switch_of(net, group.hosts[*worker]).unwrap();
            rack == node && row.bitmap & heading.bitmaps[0] != 0
        }
    };
    let workers: Vec<usize> = (0..group.hosts.len()).filter(is_in).collect();
    prop_assert!(!workers.is_empty());
    // What all workers have is not known any more, and sums that leave the range depend on their
    // order.
    let Some(stretch) = group.stretch(seq, atp.seed, number).filter(|_| has_integers) else { return Ok(()) };
    let numbers = numbers::Numbers { scale: atp.options.scale, workers: group.hosts.len() as u32 };
    let mut sum = [0; header::LANES];
    for worker in workers {
        let part = numbers.integers(&stretch, worker as u32);
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum = add_integers(*sum, part));
    }
    prop_assert_eq!(atp.vectors.get(row.value), Some(&sum));
    Ok(())
}

/// What came out: keys with their times, counts, free aggregators, vectors that are left.
type Outcome = (Vec<(u32, Picoseconds)>, AggregationReport, usize, usize);

fn check(case: &Case) -> Result<Outcome, TestCaseError> {
    let net = leaf_spine(case.shape);
    let hosts = net.host_count() as u32;
    let mut run = Run::new(&net, &case.options, &case.choice);
    let (mut expected, mut elements, mut key) = (Vec::new(), 0, 0);
    for (job, (first, workers, first_server, servers, bytes)) in (0..).zip(&case.jobs) {
        let workers: Vec<u32> =
            (0..(*workers).min(hosts)).map(|host| (first % hosts + host) % hosts).collect();
        let servers: Vec<u32> = (0..*servers).map(|host| (first_server % hosts + host) % hosts).collect();
        let group = run.open(job, &workers, &servers);
        for bytes in bytes {
            elements += workers.len() as u64 * bytes.div_ceil(4);
            for worker in 0..workers.len() as u32 {
                run.atp.0.contribute(&mut run.fabric, group, worker, *bytes, key).unwrap();
                expected.push(key);
                key += 1;
            }
        }
    }
    let mut watch = Watch::default();
    let has_integers = !case.choice.contains("scale=1000000000");
    while run.step() {
        watch.look(&run, has_integers)?;
    }
    prop_assert_eq!(run.atp.0.stuck(), None);
    // (a), (g), (i): each worker has each sum once, all of them right.
    let mut keys: Vec<u32> = run.done.iter().map(|done| done.0).collect();
    keys.sort_unstable();
    prop_assert_eq!(keys, expected);
    let report = run.atp.0.report();
    prop_assert_eq!((report.checked, report.wrong), (elements, 0));
    prop_assert_eq!(run.fabric.packets(), 0);
    prop_assert!(run.atp.0.groups.iter().flatten().all(|group| !group.wires.iter().any(|wire| wire.1)));
    let rows = run.atp.0.tables.iter().flat_map(|table| &table.rows);
    let taken = rows.filter(|row| row.identifier != FREE).count();
    let groups = run.atp.0.groups.iter().flatten();
    let kept = groups.flat_map(|group| group.slots.iter()).filter(|slot| slot.value != u32::MAX).count();
    let left = run.atp.0.vectors.used() - taken - kept;
    Ok((run.done, report, taken, left))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn all_sums_are_right_whatever_happens(case in case(false)) {
        let once = check(&case)?;
        prop_assert_eq!(once, check(&case)?, "not deterministic");
    }

    /// (f): on links that keep the order every aggregator is free in the end, and every vector is
    /// forgotten.
    #[test]
    fn nothing_is_left_where_nothing_is_lost(case in case(true)) {
        let (_, _, taken, left) = check(&case)?;
        prop_assert_eq!((taken, left), (0, 0));
    }
}
