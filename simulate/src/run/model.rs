//! The network model and its parameters.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::units::{parse_size, parse_time_ns};
use phaseflow_collect::{At, Error, Result};

use crate::collective::CollectiveChoice;
use crate::packet::transport::TransportChoice;
use crate::packet::{FabricOptions, Marking, PacketNetwork, Paths, Pause, check_rates};
use crate::replay::{Options, Packets, Rendezvous, Replacement, Sampling, switch};
use crate::topology::{LinkId, Topology};
use crate::units::PS_PER_S;

/// A network model.
#[derive(Clone, Debug)]
pub enum Model {
    /// Phases load links with the rates of the trace; a job takes as long as its trace or its given
    /// run time.
    Traffic,
    /// Ranks are replayed message by message, which determines the run time of a job. Its given run
    /// time is only an estimate for the scheduler.
    Flow(Options, Option<CollectiveChoice>),
    /// The same with packets; or, with `auto`, with the cheapest sufficient model of each phase.
    Packet(Box<PacketModel>),
}

/// Parameters of the packet model, in brackets: `packet[mtu=9000,buffer=1MiB]`, beside those of the
/// replay, [`Options`].
#[derive(Clone, Debug)]
pub struct PacketModel {
    /// Options of the replay.
    pub options: Options,
    /// Links and switches: `buffer`, `shared`, `pause`, `ecn`, `loss`, `duplicate`, `reorder`,
    /// `paths`.
    pub fabric: FabricOptions,
    /// The transport; `mtu` is its largest packet.
    pub transport: TransportChoice,
    /// The replacement of recorded collectives.
    pub collective: CollectiveChoice,
    /// Whether sums in the network are computed and checked: `verify`, `off` by default.
    pub verify: bool,
    /// Whether deadlocks and wrong sums are results instead of errors: `allow-hang`, `off` by
    /// default.
    pub allow_hang: bool,
    /// Whether each phase has the cheapest sufficient model: `auto`.
    pub is_chosen: bool,
    seed: u64,
    routes_of_router: bool,
}

/// Default ECN marking of DCTCP: above 65 packets of 1500 bytes, for 10 Gbit/s (Alizadeh et al.,
/// SIGCOMM 2010, section 3.4).
const DCTCP_MARKING: Marking = Marking { from: 65 * 1500, to: 65 * 1500, probability: 1.0 };
/// Default ECN marking of DCQCN: from 5 to 200 kB with up to 1 % (Zhu et al., SIGCOMM 2015).
const DCQCN_MARKING: Marking = Marking { from: 5_000, to: 200_000, probability: 0.01 };
/// Default ECN marking of ATP: above 1000 cells of 80 bytes, as in its public code.
const ATP_MARKING: Marking = Marking { from: 80_000, to: 80_000, probability: 1.0 };

/// Names of the parameters that the replay does not have.
const NAMES: &[&str] = &[
    "mtu",
    "buffer",
    "shared",
    "pause",
    "ecn",
    "loss",
    "duplicate",
    "reorder",
    "paths",
    "verify",
    "allow-hang",
];

impl Model {
    /// True if the messages are those of the trace, without replaced collectives.
    pub(super) fn keeps_messages(&self) -> bool {
        match self {
            Self::Traffic => true,
            Self::Flow(_, collective) => collective.is_none(),
            Self::Packet(model) => model.collective.replacement.is_none(),
        }
    }

    /// Names of the models.
    pub const NAMES: &[&str] = &["traffic", "flow", "packet", "auto"];

    /// The model that the user chose, with its transport, of which flows take the headers, and its
    /// collectives; `seed` is that of the run.
    ///
    /// # Errors
    /// A name or parameter that does not exist, or a wrong value; a collective that the model does
    /// not have.
    pub fn new(model: &Choice, transport: &Choice, collective: &Choice, seed: u64) -> Result<Self> {
        let collectives = CollectiveChoice::new(collective)?;
        match model.name() {
            "traffic" => {
                model.only(&[])?;
                match collectives.replacement {
                    None => Ok(Self::Traffic),
                    Some(_) => Err(Error::usage(format!(
                        "the traffic model has the matrices of the trace: collective `{}` needs --model flow or packet",
                        collective.name()
                    ))),
                }
            }
            "flow" => {
                model.only(Options::NAMES)?;
                if collectives.replacement == Some(Replacement::Network) {
                    return Err(Error::usage(format!(
                        "collective `{}` sums packets on their way: it needs --model packet",
                        collective.name()
                    )));
                }
                let replaced = collectives.replacement.is_some();
                let mut options = options(model, seed)?;
                if !transport.name().is_empty() {
                    let transport = TransportChoice::new(transport, None, Paths::Flow)?;
                    take_headers(&mut options, model, &transport);
                }
                Ok(Self::Flow(options, replaced.then_some(collectives)))
            }
            "packet" | "auto" => {
                Ok(Self::Packet(Box::new(PacketModel::new(model, transport, collectives, seed)?)))
            }
            other => Err(unknown_name("model", other, Self::NAMES)),
        }
    }

    /// Options of the replay, if the model has one.
    pub fn replay(&self) -> Option<Options> {
        match self {
            Self::Traffic => None,
            Self::Flow(options, _) => Some(*options),
            Self::Packet(model) => Some(model.options),
        }
    }

    /// Bytes of a message that a packet takes at most, if messages become packets.
    pub fn packet_payload(&self) -> Option<u32> {
        match self {
            Self::Traffic | Self::Flow(..) => None,
            Self::Packet(model) => Some(model.transport.payload()),
        }
    }

    /// The replacement of recorded collectives, if any.
    pub fn collective(&self) -> Option<&CollectiveChoice> {
        match self {
            Self::Traffic => None,
            Self::Flow(_, collective) => collective.as_ref(),
            Self::Packet(model) => Some(&model.collective).filter(|choice| choice.replacement.is_some()),
        }
    }

    /// Refuses a network that messages cannot be carried over in this model.
    ///
    /// # Errors
    /// Links too slow for packets; a transport that cannot recover what the network loses; failures
    /// in the course of the run where the model has no answer to them.
    pub(crate) fn check(&self, topology: &Topology) -> Result<()> {
        self.check_failures(topology)?;
        let Self::Packet(model) = self else { return Ok(()) };
        check_rates(topology)?;
        // With sums in the network, the transport may carry no message.
        if model.collective.replacement == Some(Replacement::Network) {
            return Ok(());
        }
        model.transport.check(&model.fabric.worst(topology))
    }

    /// Refuses failures in the course of a run that the model has no answer to.
    fn check_failures(&self, topology: &Topology) -> Result<()> {
        let Some(change) = topology.changes().first() else { return Ok(()) };
        let has_interference = self.replay().is_some_and(|options| options.interference);
        let problem = match self {
            _ if has_interference => "interference compares with a run in which nothing fails: leave it out",
            Self::Packet(model) if model.collective.replacement == Some(Replacement::Network) => {
                "sums in the network keep their switches: let links fail from the start, or take another collective"
            }
            Self::Packet(model) if matches!(model.transport, TransportChoice::Ideal(_)) => {
                "transport `ideal` cannot recover the packets that are lost on them: take another transport"
            }
            Self::Packet(_) if topology.changes().iter().any(|change| cuts_host_link(&change.topology)) => {
                "packets change their routes between switches alone: let links of hosts fail from the start"
            }
            _ => return Ok(()),
        };
        let at_s = change.at_ps as f64 / PS_PER_S;
        Err(Error::usage(format!("links fail at {at_s} s: {problem}")).at(topology.label()))
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Traffic => "traffic",
            Self::Flow(..) => "flow",
            Self::Packet(model) if model.is_chosen => "auto",
            Self::Packet(_) => "packet",
        }
    }
}

impl PacketModel {
    fn new(model: &Choice, transport: &Choice, collective: CollectiveChoice, seed: u64) -> Result<Self> {
        let known: Vec<&str> = Options::NAMES
            .iter()
            .filter(|name| !["fairness", "tolerance", "order", "goodput"].contains(*name))
            .chain(NAMES)
            .copied()
            .collect();
        model.only(&known)?;
        let mtu = largest_packet(model)?;
        let (paths, routes_of_router) = match model.get("paths") {
            None | Some("router") => (Paths::Flow, true),
            Some("ecmp") => (Paths::Flow, false),
            Some("spray") => (Paths::Spray, false),
            Some(other) => return Err(unknown_name("paths", other, &["router", "ecmp", "spray"])),
        };
        let ideal = Choice::plain("ideal");
        let chosen = if transport.name().is_empty() { &ideal } else { transport };
        let transport = TransportChoice::new(chosen, mtu, paths)?;
        let default_marking = match (&transport, collective.name()) {
            (TransportChoice::Dctcp(_), _) => Some(DCTCP_MARKING),
            (TransportChoice::Roce(_), _) => Some(DCQCN_MARKING),
            (_, "atp") => Some(ATP_MARKING),
            _ => None,
        };
        let fabric = fabric(model, default_marking, paths, seed)?;
        let mut options = options(model, seed)?;
        if let Some(eager) = transport.eager_bytes() {
            if options.rendezvous != Rendezvous::Free {
                return Err(Error::usage(format!(
                    "transport `{}` asks the receivers of long messages itself: without rendezvous",
                    chosen.name()
                )));
            }
            if model.get("eager").is_none() {
                options.eager_bytes = eager;
            }
        }
        if model.name() == "auto" {
            take_headers(&mut options, model, &transport);
        }
        let verify = switch(model, "verify")?;
        let allow_hang = switch(model, "allow-hang")?;
        let made = Self {
            options,
            fabric,
            transport,
            collective,
            verify,
            allow_hang,
            is_chosen: model.name() == "auto",
            seed,
            routes_of_router,
        };
        let largest = made.collective.aggregation(seed, verify)?.map_or(0, |sums| sums.largest_packet());
        made.fabric.check(made.transport.largest_packet().max(largest))?;
        // With sums in the network, the transport may carry no message.
        if made.collective.replacement != Some(Replacement::Network) {
            made.transport.check(&made.fabric)?;
        }
        Ok(made)
    }

    /// An idle network for the messages of replays.
    pub(super) fn network<'a>(&self, topology: &'a Topology) -> Result<Packets<'a>> {
        Ok(Packets::new(self.bare_network(topology)?, self.options.network.memory_gbps))
    }

    /// An idle network.
    pub(super) fn bare_network<'a>(&self, topology: &'a Topology) -> Result<PacketNetwork<'a>> {
        let aggregation = self.collective.aggregation(self.seed, self.verify)?;
        PacketNetwork::new(topology, &self.fabric, &self.transport, aggregation)
    }

    /// True if packets take the routes of the router; false if hosts and switches choose.
    pub(crate) fn takes_routes(&self) -> bool {
        self.routes_of_router
    }

    /// True if each phase is simulated once.
    pub fn is_sampled(&self) -> bool {
        self.options.sampling == Sampling::On
    }
}

/// True if a link to or from a host is down.
fn cuts_host_link(topology: &Topology) -> bool {
    let links = (0..).map(LinkId).zip(topology.links_down());
    links.into_iter().any(|(link, is_down)| is_down && !topology.between_switches(link))
}

/// A parameter that is a number of bytes.
fn size(model: &Choice, name: &str) -> Result<Option<u64>> {
    model.get(name).map(parse_size).transpose().at(|| place(model, name))
}

fn place(model: &Choice, name: &str) -> String {
    format!("`{model}`: {name}")
}

/// The parameter `mtu`.
fn largest_packet(model: &Choice) -> Result<Option<u32>> {
    let Some(mtu) = size(model, "mtu")? else { return Ok(None) };
    let too_large = |_| Error::usage(format!("{}: {mtu} bytes, expected at most 65535", place(model, "mtu")));
    u32::try_from(mtu).map(Some).map_err(too_large)
}

/// Links and switches, with the marking where the model names none.
fn fabric(
    model: &Choice,
    default_marking: Option<Marking>,
    paths: Paths,
    seed: u64,
) -> Result<FabricOptions> {
    let stop = size(model, "pause")?;
    let reorder = model.get("reorder").map(parse_time_ns).transpose().at(|| place(model, "reorder"))?;
    let shared = match model.get("shared") {
        None => None,
        Some(_) => Some(model.value("shared", 1.0)?),
    };
    Ok(FabricOptions {
        buffer: size(model, "buffer")?,
        shared,
        // Links resume at half of that: packets in flight to the neighbour have then left its
        // memory.
        pause: stop.map(|stop| Pause { stop, go: stop / 2 }),
        marking: size(model, "ecn")?.map(Marking::above).or(default_marking),
        loss: model.value("loss", 0.0)?,
        duplicate: model.value("duplicate", 0.0)?,
        reorder_ps: reorder.unwrap_or(0).saturating_mul(1000),
        paths,
        seed,
    })
}

/// Flows carry the headers of the transport too, unless the model names its `goodput`.
fn take_headers(options: &mut Options, model: &Choice, transport: &TransportChoice) {
    if model.get("goodput").is_none() {
        options.network.headers = transport.headers();
    }
}

/// Options of the replay.
fn options(model: &Choice, seed: u64) -> Result<Options> {
    let mut options = Options::new(model)?;
    options.noise.seed = seed;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::sketch::sketch;
    use crate::topology::{Failure, PortOrder};

    /// Hosts with two switches each: only flows leave a link of theirs in the course of a run.
    #[test]
    fn packets_keep_the_links_of_their_hosts() {
        let network = |failure: &str| {
            let graph = sketch("h0-s0 h0-s1 h1-s0 h1-s1 s0-s2 s1-s2 s0-s1");
            let whole = Topology::freeze("net", graph, PortOrder::Number, 0).unwrap();
            whole.with_failures(&[Failure::parse(failure).unwrap()]).unwrap()
        };
        let model = |name: &str| {
            Model::new(&Choice::plain(name), &Choice::plain("dctcp"), &Choice::plain("recorded"), 1).unwrap()
        };
        let refusal = model("packet").check(&network("h0<>s0@1ms")).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "net: links fail at 0.001 s: packets change their routes between switches alone: let links of hosts fail from the start"
        );
        model("packet").check(&network("s0<>s1@1ms")).unwrap();
        model("flow").check(&network("h0<>s0@1ms")).unwrap();
    }
}
