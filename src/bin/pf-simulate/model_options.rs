//! Parameters of the flow and packet models as options of their own.

use clap::Args;
use phaseflow::offered::Offered;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};
use phaseflow_simulate::flow::Order;
use phaseflow_simulate::replay::Rendezvous;
use phaseflow_simulate::scenario::{Axis, Scenario};

/// Parameters of `--model flow` and the replay of `--model packet`, for those that do not have them
/// in brackets.
#[derive(Args, Debug)]
#[command(next_help_heading = "Flow and packet model")]
pub(crate) struct FlowOptions {
    /// Factor on computation [default: 1]
    #[arg(long, value_name = "F")]
    compute_scale: Option<String>,

    /// Speed of hosts relative to those of the trace: computation takes 1/F of its time [default:
    /// 1]
    #[arg(long, value_name = "F")]
    host_speed: Option<String>,

    /// Time that a message keeps its sender busy, beyond what the trace has as computation
    /// [default: 0s]
    #[arg(long, value_name = "TIME")]
    send_overhead: Option<String>,

    /// Time that a message keeps its receiver busy [default: 0s]
    #[arg(long, value_name = "TIME")]
    receive_overhead: Option<String>,

    /// Largest message that leaves before its receiver is ready [default: 64KiB]
    #[arg(long, value_name = "SIZE")]
    eager: Option<String>,

    /// What a larger message costs before it leaves: nothing, free, a request with its first bytes
    /// and a reply, handshake, or both without payload, put, as Open MPI does over TCP [default:
    /// free]
    #[arg(long, value_name = "NAME", value_parser = Offered::new(Rendezvous::NAMES.iter().copied()), hide_possible_values = true)]
    rendezvous: Option<String>,

    /// Part of a link's capacity that flows may use, as headers take the rest [default: 1, or that
    /// of --transport]
    #[arg(long, value_name = "F")]
    goodput: Option<String>,

    /// Who gets how much of a full link: all messages alike, maxmin, or in inverse proportion to
    /// their latency, rtt [default: maxmin]
    #[arg(long, value_name = "NAME", value_parser = Offered::new(["maxmin", "rtt"]), hide_possible_values = true)]
    fairness: Option<String>,

    /// Links count as full that are so to this part, 0 to 0.1: for very many messages at once, see
    /// docs/models-flow.md [default: 0]
    #[arg(long, value_name = "F")]
    tolerance: Option<String>,

    /// Messages that go one after the other: those of one rank to another, connection, all that
    /// leave a host, adapter, or none [default: connection]
    #[arg(long, value_name = "NAME", value_parser = Offered::new(Order::NAMES.iter().copied()), hide_possible_values = true)]
    order: Option<String>,

    /// Rate of messages within one host [default: they take no time]
    #[arg(long, value_name = "RATE")]
    memory: Option<String>,

    /// Standard deviation of the factor that each stretch of computation takes, by chance [default:
    /// 0]
    #[arg(long, value_name = "F")]
    noise: Option<String>,

    /// Probability that a host computes slowly [default: 0]
    #[arg(long, value_name = "P")]
    stragglers: Option<String>,

    /// What a slow host takes for computation, over what others take [default: 2]
    #[arg(long, value_name = "F")]
    slowdown: Option<String>,

    /// Tell what held up the messages of critical paths, and whose messages it was: pf-report
    /// --table path, --table blame
    #[arg(long)]
    blame: bool,

    /// Steps of the critical path of each phase that are told one by one, the longest [default: 100
    /// with --blame, else 0]
    #[arg(long, value_name = "N")]
    path_steps: Option<String>,

    /// Run each job also without the others: columns alone_s and slowdown of pf-report --table jobs
    #[arg(long)]
    interference: bool,

    /// Simulate a phase once for all its occurrences, `on`, or the whole run, `off`, which needs
    /// all messages (pf-segment --keep-messages) [default: on]
    #[arg(long, value_name = "SWITCH", value_parser = Offered::new(["on", "off"]), hide_possible_values = true)]
    sampling: Option<String>,
}

/// Parameters of `--model packet`, for those that do not have them in brackets; those of the replay
/// are the flow model's.
#[derive(Args, Debug)]
#[command(next_help_heading = "Packet model")]
pub(crate) struct PacketOptions {
    /// Largest packet [default: dctcp and tcp 1500, usnic 9000, roce and ideal 4096 bytes of
    /// payload]
    #[arg(long, value_name = "SIZE")]
    mtu: Option<String>,

    /// What a port of a switch can queue [default: no limit]
    #[arg(long, value_name = "SIZE")]
    buffer: Option<String>,

    /// Ports of a switch share its buffer: each may have F times what is free [default: each has
    /// its own]
    #[arg(long, value_name = "F")]
    shared: Option<String>,

    /// Bytes of a neighbour's packets above which a switch pauses it instead of dropping packets
    /// [default: switches do not pause]
    #[arg(long, value_name = "SIZE")]
    pause: Option<String>,

    /// Probability that a packet is lost, per link [default: 0]
    #[arg(long, value_name = "P")]
    loss: Option<String>,

    /// Probability that a packet that passes a link arrives twice [default: 0]
    #[arg(long, value_name = "P")]
    duplicate: Option<String>,

    /// A packet takes up to so much longer on a link, so that packets overtake each other [default:
    /// 0s, links keep order]
    #[arg(long, value_name = "TIME")]
    reorder: Option<String>,

    /// Queues above this size mark packets [default: as the transport's paper says]
    #[arg(long, value_name = "SIZE")]
    ecn: Option<String>,

    /// Who chooses the way of packets: the `router`, switches by flow, `ecmp`, or by packet,
    /// `spray` [default: router]
    #[arg(long, value_name = "NAME", value_parser = Offered::new(["router", "ecmp", "spray"]), hide_possible_values = true)]
    paths: Option<String>,

    /// Carry numbers through sums in the network, and check them
    #[arg(long)]
    verify: bool,

    /// Take ranks that wait for ever, and wrong sums, for a result and not for an error
    #[arg(long)]
    allow_hang: bool,
}

/// A parameter of models, and what the command line says of it.
type Parameter<'a> = (&'static str, Option<&'a str>);

impl FlowOptions {
    /// What packets do not have.
    fn of_sharing(&self) -> [Parameter<'_>; 4] {
        [
            ("fairness", self.fairness.as_deref()),
            ("tolerance", self.tolerance.as_deref()),
            ("order", self.order.as_deref()),
            ("goodput", self.goodput.as_deref()),
        ]
    }

    fn given(&self) -> [Parameter<'_>; 14] {
        [
            ("compute-scale", self.compute_scale.as_deref()),
            ("host-speed", self.host_speed.as_deref()),
            ("send-overhead", self.send_overhead.as_deref()),
            ("receive-overhead", self.receive_overhead.as_deref()),
            ("eager", self.eager.as_deref()),
            ("rendezvous", self.rendezvous.as_deref()),
            ("sampling", self.sampling.as_deref()),
            ("memory", self.memory.as_deref()),
            ("noise", self.noise.as_deref()),
            ("stragglers", self.stragglers.as_deref()),
            ("slowdown", self.slowdown.as_deref()),
            ("blame", self.blame.then_some("on")),
            ("path-steps", self.path_steps.as_deref()),
            ("interference", self.interference.then_some("on")),
        ]
    }
}

impl PacketOptions {
    fn given(&self) -> [Parameter<'_>; 11] {
        [
            ("mtu", self.mtu.as_deref()),
            ("buffer", self.buffer.as_deref()),
            ("shared", self.shared.as_deref()),
            ("pause", self.pause.as_deref()),
            ("loss", self.loss.as_deref()),
            ("duplicate", self.duplicate.as_deref()),
            ("reorder", self.reorder.as_deref()),
            ("ecn", self.ecn.as_deref()),
            ("paths", self.paths.as_deref()),
            ("verify", self.verify.then_some("on")),
            ("allow-hang", self.allow_hang.then_some("on")),
        ]
    }
}

/// Gives the parameters to those models of a scenario that have them.
///
/// # Errors
/// A parameter that none of its models has.
pub(crate) fn complete(scenario: Scenario, flow: &FlowOptions, packet: &PacketOptions) -> Result<Scenario> {
    let scenario = give(scenario, flow.given(), &["flow", "packet", "auto"])?;
    let scenario = give(scenario, flow.of_sharing(), &["flow"])?;
    give(scenario, packet.given(), &["packet", "auto"])
}

/// Gives parameters to models of these names.
fn give<'a>(
    mut scenario: Scenario,
    parameters: impl IntoIterator<Item = Parameter<'a>>,
    names: &[&str],
) -> Result<Scenario> {
    let given: Vec<(&str, &str)> =
        parameters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let models = scenario.axes.get(Axis::Model).to_vec();
    let has = |model: &Choice| names.contains(&model.name());
    if let Some((key, _)) = given.first().filter(|_| !models.iter().any(has)) {
        let names = names.join(" or ");
        return Err(Error::usage(format!("--{key} is a parameter of another model: add --model {names}")));
    }
    let with = |model: Choice| match has(&model) {
        true => given.iter().fold(model, |model, (key, value)| model.or_with(key, value)),
        false => model,
    };
    scenario.axes.set(Axis::Model, models.into_iter().map(with).collect());
    Ok(scenario)
}
