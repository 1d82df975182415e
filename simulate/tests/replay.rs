//! Replay against formulas, against hand-made cases, and against the trace itself.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp, reason = "tests")]

use phaseflow_collect::trace::{Call, Message, Operation, Rank};
use phaseflow_simulate::replay::{
    Account, Ideal, JobHosts, MessageRoutes, Op, Operations, Options, Rendezvous, ReplayRequest,
    ReplayResult, Replayer, Shared, Stretch, TraceInterval,
};
use phaseflow_simulate::topology::{HostId, LinkId, Topology, TopologyChoice, TopologyOptions, topology};

/// 1 µs: the latency of a route through the star, both links together.
const L: u64 = 1_000_000;

/// Hosts on one switch, 80 Gbit/s, so a byte takes 100 ps.
fn star(hosts: u32) -> Topology {
    let options = TopologyOptions {
        capacity_gbps: Some(80.0),
        link_latency_ps: Some(L / 2),
        ..TopologyOptions::default()
    };
    topology(&TopologyChoice::parse(&format!("star[hosts={hosts}]")).unwrap(), &options).unwrap()
}

fn routes(topology: &Topology) -> MessageRoutes {
    let routes = MessageRoutes::default();
    let node = |host| topology.host(host);
    let link = |src, dst| {
        let mut links = (0..topology.link_count() as u32).map(LinkId);
        links.find(|link| topology.src(*link) == src && topology.dst(*link) == dst).unwrap()
    };
    let hosts = || (0..topology.host_count() as u32).map(HostId);
    let switch = (0..topology.node_count() as u32).map(phaseflow_simulate::topology::NodeId);
    let switch = switch.into_iter().find(|node| topology.is_switch(*node)).unwrap();
    for (src, dst) in hosts().flat_map(|src| hosts().map(move |dst| (src, dst))).filter(|(a, b)| a != b) {
        routes.set(src, dst, &[link(node(src), switch), link(switch, node(dst))]);
    }
    routes
}

fn ideal(topology: &Topology) -> Ideal<'_> {
    Ideal::new(topology, routes(topology), None)
}

/// A replay of job 0 without servers.
fn request<'r, 'o>(
    token: u64,
    operations: &'o Operations,
    ranks: &'r [HostId],
    starts: &'r [u64],
    options: Options,
) -> ReplayRequest<'r, 'o> {
    let hosts = JobHosts { ranks, servers: &[] };
    ReplayRequest { token, job: 0, operations, hosts, starts, options }
}

fn play(operations: &Operations, options: Options) -> ReplayResult {
    let topology = star(operations.ranks());
    let hosts: Vec<HostId> = (0..operations.ranks()).map(HostId).collect();
    let mut replayer = Replayer::new(ideal(&topology));
    replayer.begin(request(1, operations, &hosts, &vec![0; hosts.len()], options));
    let mut ended = Vec::new();
    while let Some(now) = replayer.next(u64::MAX) {
        replayer.advance(now, &mut ended);
    }
    assert_eq!(replayer.deadlock(), None);
    assert_eq!(ended.len(), 1);
    let result = ended.remove(0);
    // CORRECTNESS: the critical path has no gaps, and no rank has more time than there was.
    let path = result.path();
    assert_eq!(path.ranks + path.network, result.makespan);
    for account in &result.accounts {
        assert!(account.compute + account.communication() <= result.makespan);
    }
    if options.path_steps == 0 {
        check_steps(&play(operations, Options { path_steps: u32::MAX, ..options }));
    }
    result
}

/// CORRECTNESS: the steps of a critical path follow each other without gaps from beginning to end.
fn check_steps(result: &ReplayResult) {
    let details = result.details.as_ref().unwrap();
    let mut at = 0;
    for step in &details.steps {
        assert_eq!(step.start, at, "{details:?}");
        at = step.end;
    }
    assert_eq!(at, result.makespan);
    // Such a network has no sharing, and no remark on it.
    assert_eq!(details.delays, None);
}

/// A message with all its times, nanoseconds.
fn message(src: u32, dst: u32, bytes: u64, post: i64, [free, ready, received]: [i64; 3]) -> Message {
    Message {
        send_post_ns: post,
        src: Rank(src),
        dst: Rank(dst),
        bytes,
        send_complete_ns: Some(free),
        receive_post_ns: Some(ready),
        receive_complete_ns: Some(received),
        ..Message::default()
    }
}

fn call(rank: u32, enter_ns: i64, leave_ns: i64) -> Call {
    Call {
        enter_ns,
        leave_ns: Some(leave_ns),
        rank: Rank(rank),
        operation: Operation::Wait,
        communicator: None,
        root: None,
        bytes: None,
    }
}

fn operations(ranks: u32, end_ns: i64, messages: &[Message], calls: &[Call]) -> Operations {
    let mut interval = TraceInterval::default();
    let mut messages = messages.to_vec();
    messages.sort_by_key(|message| (message.send_post_ns, message.src));
    messages.iter().for_each(|message| interval.message(message));
    calls.iter().for_each(|call| interval.call(call));
    Operations::new(&interval, ranks, (0, end_ns), &[]).unwrap()
}

/// Steps in which ranks send, each lasting `step_ns`; what a step receives is there when the next
/// one begins.
fn steps(
    ranks: u32,
    steps: u32,
    step_ns: i64,
    timed: bool,
    send: impl Fn(u32, u32) -> Vec<(u32, u64)>,
) -> Operations {
    let mut messages = Vec::new();
    for step in 0..steps {
        for rank in 0..ranks {
            for (dst, bytes) in send(step, rank) {
                let (post, end) = (i64::from(step) * step_ns, i64::from(step + 1) * step_ns);
                let full = message(rank, dst, bytes, post, [post + 1, post, end]);
                let plain =
                    Message { send_post_ns: post, src: full.src, dst: full.dst, bytes, ..Message::default() };
                messages.push(if timed { full } else { plain });
            }
        }
    }
    operations(ranks, i64::from(steps) * step_ns, &messages, &[])
}

fn no_compute() -> Options {
    Options { compute_scale: 0.0, ..Options::default() }
}

fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

fn equal(found: u64, expected: f64) {
    assert!((seconds(found) - expected).abs() <= 1e-9 * expected, "{} instead of {expected}", seconds(found));
}

/// Of a star: α is the latency of a route and the overheads, β the time of a byte.
const BETA: f64 = 1e-10;

/// 2(p−1)α + 2(p−1)/p·mβ, Patarasuk and Yuan (2009).
#[test]
fn a_ring_takes_what_its_formula_says() {
    for (ranks, bytes) in [(2, 4096), (4, 1 << 20), (8, 1 << 20), (16, 256 << 20), (7, 7000)] {
        for (overhead, timed) in [(0, true), (250_000, true), (0, false)] {
            let part = bytes / u64::from(ranks);
            let operations =
                steps(ranks, 2 * (ranks - 1), 1000, timed, |_, rank| vec![((rank + 1) % ranks, part)]);
            let options =
                Options { send_overhead_ps: overhead, receive_overhead_ps: 2 * overhead, ..no_compute() };
            let found = play(&operations, options);
            let (p, m, alpha) = (f64::from(ranks), bytes as f64, seconds(L + 3 * overhead));
            equal(found.makespan, 2.0 * (p - 1.0) * alpha + 2.0 * (p - 1.0) / p * m * BETA);
            // Every step of every rank waits for the network, and is on the path.
            assert_eq!(found.path().messages, 2 * (u64::from(ranks) - 1));
        }
    }
}

/// ⌈log₂p⌉(α + mβ).
#[test]
fn recursive_doubling_takes_what_its_formula_says() {
    for (ranks, bytes) in [(2_u32, 8), (8, 4096), (32, 1 << 20), (64, 100 << 20)] {
        for timed in [true, false] {
            let doublings = ranks.ilog2();
            let operations =
                steps(ranks, doublings, 500, timed, |step, rank| vec![(rank ^ (1 << step), bytes)]);
            let found = play(&operations, no_compute()).makespan;
            equal(found, f64::from(doublings) * (seconds(L) + bytes as f64 * BETA));
        }
    }
}

/// Pairwise exchange: (p−1)(α + mβ).
#[test]
fn pairwise_exchange_takes_what_its_formula_says() {
    let operations = steps(8, 7, 500, true, |step, rank| vec![(rank ^ (step + 1), 30_000)]);
    equal(play(&operations, no_compute()).makespan, 7.0 * (seconds(L) + 30_000.0 * BETA));
}

#[test]
fn ping_pong_is_latency_and_bytes_there_and_back() {
    // 100 rounds of 10 000 bytes; in the trace a flight took 3 µs, and rank 0 computed 0.5 µs
    // between two rounds.
    let mut messages = Vec::new();
    for round in 0..100 {
        let t = round * 6500;
        messages.push(message(0, 1, 10_000, t, [t + 10, (t - 3500).max(0), t + 3000]));
        messages.push(message(1, 0, 10_000, t + 3000, [t + 3010, t + 10, t + 6000]));
    }
    let operations = operations(2, 649_500, &messages, &[call(1, 646_510, 649_500)]);
    let flight = L + 1_000_000;
    let found = play(&operations, Options::default());
    assert_eq!(found.makespan, 200 * flight + 99 * 500_000);
    assert_eq!((found.path().network, found.path().ranks), (200 * flight, 99 * 500_000));
    let halved = Options { compute_scale: 0.5, ..Options::default() };
    assert_eq!(play(&operations, halved).makespan, 200 * flight + 99 * 250_000);
    // Where everything is a rendezvous both wait for the other's readiness, which costs nothing: it
    // was there before.
    let rendezvous = Options { eager_bytes: 0, ..Options::default() };
    assert_eq!(play(&operations, rendezvous).makespan, found.makespan);
}

/// T = 3L + bytes + headers of 64 bytes there and back, and the overheads of three messages:
/// request, reply and data.
#[test]
fn a_rendezvous_that_costs_takes_three_latencies() {
    let bytes = 100_000;
    let one = message(0, 1, bytes, 0, [90_000, 0, 90_000]);
    let operations = operations(2, 0, &[one], &[]);
    let header = 64 * 100;
    for rendezvous in [Rendezvous::Handshake, Rendezvous::Put] {
        let options = Options { rendezvous, eager_bytes: 10_000, ..Options::default() };
        let found = play(&operations, options);
        assert_eq!(found.makespan, 3 * L + bytes * 100 + 2 * header, "{rendezvous:?}");
        let (send, receive) = (2_000_000, 3_000_000);
        let busy = Options { send_overhead_ps: send, receive_overhead_ps: receive, ..options };
        let expected = found.makespan + 3 * (send + receive);
        assert_eq!(play(&operations, busy).makespan, expected, "{rendezvous:?}");
        // Up to the limit, which counts the header, nobody asks.
        let eager = |eager_bytes| play(&operations, Options { eager_bytes, ..options }).makespan;
        assert_eq!(eager(bytes + 64), L + bytes * 100);
        assert_eq!(eager(bytes + 63), 3 * L + bytes * 100 + 2 * header);
    }
}

/// The reply waits for the receive, which is posted after 70 µs; then it takes two latencies. Both
/// know whom they waited for.
#[test]
fn a_reply_waits_for_the_receive() {
    let bytes = 1_000_000;
    let one = message(0, 1, bytes, 0, [90_000, 70_000, 90_000]);
    let operations = operations(2, 90_000, &[one], &[]);
    let put = Options { rendezvous: Rendezvous::Put, ..Options::default() };
    let found = play(&operations, put);
    let flight = 2 * L + (bytes + 64) * 100;
    assert_eq!(found.makespan, 70_000_000 + flight);
    let sender = Account { late_receiver: 70_000_000, network: flight, ..Account::default() };
    let receiver = Account { compute: 70_000_000, network: flight, ..Account::default() };
    assert_eq!(found.accounts, [sender, receiver]);
    // With half of the message ahead only half is left.
    let handshake =
        Options { rendezvous: Rendezvous::Handshake, eager_bytes: bytes / 2, ..Options::default() };
    let makespan = play(&operations, handshake).makespan;
    // 64 bytes of the eager half were header, 64 are the reply's.
    assert_eq!(makespan, 70_000_000 + 2 * L + (bytes / 2 + 64 + 64) * 100);
}

/// Both send to each other, rank 1 70 µs later. It answers first and asks then, so the answer to
/// its request waits for all of rank 0's message: one goes after the other, each with its latency.
#[test]
fn a_connection_that_is_busy_both_ways_takes_turns() {
    let bytes = 1_000_000;
    let there = message(0, 1, bytes, 0, [400_000, 70_000, 400_000]);
    let back = message(1, 0, bytes, 70_001, [400_000, 0, 400_000]);
    let operations = operations(2, 400_000, &[there, back], &[]);
    let (topology, hosts) = (star(2), [HostId(0), HostId(1)]);
    let took = |rendezvous| {
        let options = Options { rendezvous, ..Options::default() };
        let flows = Shared::new(&topology, routes(&topology), &options.network);
        let mut replayer = Replayer::new(flows);
        replayer.begin(request(1, &operations, &hosts, &[0; 2], options));
        let mut ended = Vec::new();
        while let Some(now) = replayer.next(u64::MAX) {
            replayer.advance(now, &mut ended);
        }
        ended[0].makespan
    };
    let one = bytes * 100 + L;
    let free = took(Rendezvous::Free);
    assert!(free >= 70_000_000 + one && free < 70_000_000 + one + 2 * L, "{free}");
    let put = took(Rendezvous::Put);
    assert!(put >= 70_000_000 + 2 * one && put < 70_000_000 + 2 * one + 4 * L, "{put}");
}

#[test]
fn who_waits_for_a_late_sender() {
    // Rank 1 is ready at 0; rank 0 computes 50 µs, then sends 1000 bytes; the trace's network took
    // 10 µs.
    let one = message(0, 1, 1000, 50_000, [50_100, 0, 60_000]);
    let found = play(&operations(2, 60_000, &[one], &[]), Options::default());
    let flight = L + 100_000;
    let sender = Account { compute: 50_000_000 + 9_900_000, ..Account::default() };
    let receiver = Account { late_sender: 50_000_000, network: flight, ..Account::default() };
    assert_eq!(found.accounts, [sender, receiver]);
    // The sender has computed until the trace's end, long after the receiver was done.
    assert_eq!((found.makespan, found.path().messages), (59_900_000, 0));
}

#[test]
fn who_waits_for_a_late_receiver() {
    // Rank 0 sends 1 MB at 0 and is blocked until its receiver, which computes 70 µs first, has it.
    let bytes = 1_000_000;
    let one = message(0, 1, bytes, 0, [90_000, 70_000, 90_000]);
    let operations = operations(2, 90_000, &[one], &[]);
    let found = play(&operations, Options::default());
    let flight = L + bytes * 100;
    let sender = Account { late_receiver: 70_000_000, network: flight, ..Account::default() };
    let receiver = Account { compute: 70_000_000, network: flight, ..Account::default() };
    assert_eq!(found.accounts, [sender, receiver]);
    assert_eq!(found.makespan, 70_000_000 + flight);
    assert_eq!((found.path().ranks, found.path().network, found.path().messages), (70_000_000, flight, 1));
    // As an eager message it arrives before its receive: the receiver does not wait longer than it
    // computes.
    let eager = Options { eager_bytes: bytes, ..Options::default() };
    assert_eq!(play(&operations, eager).makespan, L + bytes * 100);
    assert_eq!(play(&operations, eager).accounts[0], Account::default());
    // Proof that it was eager: the buffer was free before the receive was posted.
    let buffered = message(0, 1, bytes, 0, [60_000, 70_000, 90_000]);
    assert_eq!(
        play(&self::operations(2, 90_000, &[buffered], &[]), Options::default()).makespan,
        L + bytes * 100
    );
}

#[test]
fn time_in_calls_is_no_computation_and_time_before_them_is() {
    // Ready at 0, computes until it waits from 40 to 60 µs, then computes 5 µs more.
    let one = message(0, 1, 8, 30_000, [30_000, 0, 55_000]);
    let operations = operations(2, 65_000, &[one], &[call(1, 40_000, 60_000)]);
    let ops: Vec<Op> = operations.of(1).to_vec();
    assert_eq!(ops, [Op::ReceivePost(0), Op::Compute(2), Op::ReceiveWait(0), Op::Compute(3)]);
    assert_eq!((operations.gap_ns(2), operations.gap_ns(3)), (40_000, 5_000));
    // The message is sent 10 µs before its receive: no rank waits.
    assert_eq!(play(&operations, Options::default()).accounts[1].communication(), 0);
}

#[test]
fn a_receive_of_unknown_time_is_waited_for_before_the_next_send() {
    let plain = |src: u32, dst: u32, post: i64| Message {
        send_post_ns: post,
        src: Rank(src),
        dst: Rank(dst),
        bytes: 1000,
        ..Message::default()
    };
    // 0 → 1 at 0; 1 → 2 at 0 as well, so it cannot depend on it; 1 → 2 at 5 µs does.
    let operations = operations(3, 5_000, &[plain(0, 1, 0), plain(1, 2, 0), plain(1, 2, 5_000)], &[]);
    assert_eq!(operations.of(1), [Op::Send(1), Op::Compute(1), Op::ReceiveWait(0), Op::Send(2)]);
    // In no call, and nothing sent: at the end.
    assert_eq!(operations.of(2), [Op::Compute(2), Op::ReceiveWait(1), Op::ReceiveWait(2)]);
    assert_eq!(operations.unmatched(), None);
}

#[test]
fn sends_without_a_receive_are_named() {
    let lost = Message { send_post_ns: 30, src: Rank(1), dst: Rank(0), bytes: 77, ..Message::default() };
    let operations = operations(2, 100, &[message(1, 0, 8, 0, [1, 0, 20]), lost], &[]);
    assert_eq!(
        operations.unmatched().unwrap(),
        "1 sends have no known receive: rank 1, send 2 (77 bytes to rank 0)"
    );
    // No rank waits for it, and it delays no other message.
    assert_eq!(play(&operations, no_compute()).makespan, L + 800);
}

/// The receiver has no part in what is put into its memory, taken from it or added to it.
#[test]
fn one_sided_operations_lack_no_receive() {
    for operation in [Operation::Put, Operation::Get, Operation::Accumulate] {
        let plain = Message { send_post_ns: 30, src: Rank(1), dst: Rank(0), bytes: 77, ..Message::default() };
        let operations =
            operations(2, 100, &[message(1, 0, 8, 0, [1, 0, 20]), Message { operation, ..plain }], &[]);
        assert_eq!(operations.unmatched(), None, "{operation:?}");
        assert_eq!(play(&operations, no_compute()).makespan, L + 800, "{operation:?}");
    }
}

#[test]
fn programs_that_rely_on_buffers_run_as_they_did() {
    // Both send before they are ready to receive: that worked because both messages were buffered,
    // and still does.
    let messages = [message(0, 1, 1 << 20, 0, [50, 51, 90]), message(1, 0, 1 << 20, 0, [50, 51, 90])];
    let found = play(&operations(2, 90, &messages, &[]), no_compute());
    assert_eq!(found.makespan, L + (100 << 20));
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    // Rank 1's clock is far behind, so it seems ready for the first message before it receives the
    // second, which rank 0 sends after the first has gone.
    let first = message(0, 1, 1 << 20, 0, [50, 40, 90]);
    let second = message(0, 1, 8, 60, [60, 20, 35]);
    let operations = operations(2, 100, &[first, second], &[]);
    let topology = star(2);
    let mut replayer = Replayer::new(ideal(&topology));
    replayer.begin(request(7, &operations, &[HostId(0), HostId(1)], &[0; 2], no_compute()));
    let mut ended = Vec::new();
    while let Some(now) = replayer.next(u64::MAX) {
        replayer.advance(now, &mut ended);
    }
    assert!(ended.is_empty());
    let expected = "2 of 2 ranks wait for ever: rank 0 waits for send 1 of rank 0 (1048576 bytes to rank 1), for which rank 1 is \
                    not ready: it waits to receive; a higher `eager` lets it go; rank 1 waits for send 2 of rank 0 (8 bytes to \
                    rank 1), not sent yet: rank 0 waits for a send";
    assert_eq!(replayer.deadlock().unwrap(), (7, expected.to_string()));
    let eager = Options { eager_bytes: 1 << 20, ..no_compute() };
    assert_eq!(play(&operations, eager).makespan, L + (100 << 20));
}

/// A rank that starts long before the others is done before time begins: it counts as done at once,
/// and its time is none.
#[test]
fn a_rank_can_end_before_the_last_one_starts() {
    let operations = operations(2, 100, &[message(0, 1, 8, 0, [50, 50, 90])], &[]);
    let topology = star(2);
    let mut replayer = Replayer::new(ideal(&topology));
    let options = Options { receive_overhead_ps: 600, ..no_compute() };
    replayer.begin(request(1, &operations, &[HostId(0), HostId(1)], &[0, 5 * L], options));
    let mut ended = Vec::new();
    while let Some(now) = replayer.next(u64::MAX) {
        replayer.advance(now, &mut ended);
    }
    let found = &ended[0];
    assert_eq!((found.end, found.makespan), (5 * L + 600, 600));
    let Stretch { time, lag, next_lag, .. } = found.stretches[0];
    assert_eq!((time, lag, next_lag), (600, 0, 300));
}

/// CORRECTNESS: replays side by side on hosts of their own, over a network without sharing, have
/// the results of each alone.
#[test]
fn scripts_side_by_side() {
    let first = steps(4, 6, 1000, true, |_, rank| vec![((rank + 1) % 4, 5000)]);
    let second = steps(4, 2, 700, true, |step, rank| vec![(rank ^ (1 << step), 900)]);
    let topology = star(8);
    let mut replayer = Replayer::new(ideal(&topology));
    replayer.begin(request(1, &first, &[0, 1, 2, 3].map(HostId), &[0; 4], Options::default()));
    replayer.begin(request(2, &second, &[4, 5, 6, 7].map(HostId), &[0; 4], Options::default()));
    let mut ended = Vec::new();
    while let Some(now) = replayer.next(u64::MAX) {
        replayer.advance(now, &mut ended);
    }
    ended.sort_by_key(|result| result.token);
    for (operations, found) in [&first, &second].into_iter().zip(&ended) {
        assert_eq!(ReplayResult { token: found.token, ..play(operations, Options::default()) }, *found);
    }
}
