//! The choice of a network: a GraphML file, or a generator with its parameters.

use std::fmt;
use std::path::{Path, PathBuf};

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Error, Result, units};

use super::options::{DEFAULT_LATENCY_PS, TopologyOptions};
use super::parameters::positive_or;
use super::uniform::UniformNetwork;
use super::xgft::{self, Arity};
use super::{
    Faults, LinkSpec, PortOrder, Topology, dragonfly, fat_tree, graphml, hyperx, jellyfish, leaf_spine,
    slimfly, star, torus,
};

/// A network as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyChoice {
    /// A GraphML file.
    File(PathBuf),
    /// A generator: `fat-tree[k=8]`.
    Generated(Choice),
}

/// The generators: one name, one variant, one arm of each match.
#[derive(Clone, Copy)]
enum Generator {
    Star,
    Xgft,
    FatTree,
    LeafSpine,
    Torus,
    Mesh,
    HyperX,
    Dragonfly,
    Jellyfish,
    SlimFly,
}

/// Generators by name, in the order of the documentation.
const GENERATORS: &[(&str, Generator)] = &[
    ("star", Generator::Star),
    ("xgft", Generator::Xgft),
    ("fat-tree", Generator::FatTree),
    ("leaf-spine", Generator::LeafSpine),
    ("torus", Generator::Torus),
    ("mesh", Generator::Mesh),
    ("hyperx", Generator::HyperX),
    ("dragonfly", Generator::Dragonfly),
    ("jellyfish", Generator::Jellyfish),
    ("slimfly", Generator::SlimFly),
];

impl TopologyChoice {
    /// Parses one choice: text with a `.` or a `/` outside brackets is a file, other text a
    /// generator.
    ///
    /// # Errors
    /// A generator that does not exist, or text that is neither.
    pub fn parse(text: &str) -> Result<Self> {
        let name = text.split('[').next().unwrap_or(text);
        if name.contains(['.', '/']) {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let choice = Choice::parse(text)?;
        generator(&choice)?;
        Ok(Self::Generated(choice))
    }

    /// Parses a comma-separated list; commas inside brackets separate parameters.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for each element.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let mut depth = 0_u32;
        let outside = |c: char| {
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        };
        text.split(outside).map(Self::parse).collect()
    }
}

impl fmt::Display for TopologyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Generated(choice) => write!(f, "{choice}"),
        }
    }
}

fn generator(choice: &Choice) -> Result<Generator> {
    let name = choice.name();
    match GENERATORS.iter().find(|(known, _)| *known == name) {
        Some((_, generator)) => Ok(*generator),
        None => {
            let names: Vec<&str> = GENERATORS.iter().map(|(name, _)| *name).collect();
            Err(unknown_name("topology", name, &names))
        }
    }
}

/// Reads or generates a network. Its label is what the user wrote.
///
/// # Errors
/// A file that cannot be read, or is no network that [`Topology::freeze`] accepts; a generator that
/// does not exist, or parameters that it does not have.
pub fn topology(choice: &TopologyChoice, options: &TopologyOptions) -> Result<Topology> {
    match choice {
        TopologyChoice::File(path) => from_file(path, options),
        TopologyChoice::Generated(choice) => generate(choice, options),
    }
}

fn from_file(path: &Path, options: &TopologyOptions) -> Result<Topology> {
    let label = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| Error::from(error).at(&label))?;
    let document = graphml::read(std::io::BufReader::with_capacity(1 << 16, file), options);
    let document = document.map_err(|error| error.at(&label))?;
    let switch_latency_ps = options.switch_latency_ps.or(document.switch_latency_ps).unwrap_or(0);
    Topology::freeze(&label, document.graph, document.order, switch_latency_ps)
}

fn generate(choice: &Choice, options: &TopologyOptions) -> Result<Topology> {
    let generator = generator(choice)?;
    let own: &[&str] = match generator {
        Generator::Star => &["hosts"],
        Generator::Xgft => &["m", "w", "p", "variant"],
        Generator::FatTree => &["k"],
        Generator::LeafSpine => &["leaves", "spines", "hosts", "links"],
        Generator::Torus | Generator::Mesh => &["dims", "hosts"],
        Generator::HyperX => &["dims", "hosts", "links"],
        Generator::Dragonfly => &["a", "h", "p", "groups"],
        Generator::Jellyfish => &["switches", "degree", "hosts", "seed"],
        Generator::SlimFly => &["q", "hosts"],
    };
    choice.only(&[own, &["slots", "capacity"]].concat())?;
    let capacity = match choice.get("capacity") {
        Some(text) => units::parse_rate_gbps(text).map_err(|error| error.at(format!("`{choice}`")))?,
        None => options.capacity_gbps.unwrap_or(10.0),
    };
    let slots = positive_or(choice, "slots", options.slots.unwrap_or(1))?;
    let link = LinkSpec {
        capacity,
        latency_ps: options.link_latency_ps.unwrap_or(DEFAULT_LATENCY_PS),
        port: None,
        faults: Faults::default(),
        cost: 1,
    };
    let mut network = UniformNetwork::new(choice, slots, link);
    match generator {
        Generator::Star => xgft::build(&star::arity(choice)?, &mut network),
        Generator::Xgft => xgft::build(&Arity::parse(choice)?, &mut network),
        Generator::FatTree => xgft::build(&fat_tree::arity(choice)?, &mut network),
        Generator::LeafSpine => xgft::build(&leaf_spine::arity(choice)?, &mut network),
        Generator::Torus => torus::build(&torus::Grid::torus(choice)?, &mut network),
        Generator::Mesh => torus::build(&torus::Grid::mesh(choice)?, &mut network),
        Generator::HyperX => hyperx::build(&hyperx::HyperX::parse(choice)?, &mut network),
        Generator::Dragonfly => dragonfly::build(&dragonfly::Dragonfly::parse(choice)?, &mut network),
        Generator::Jellyfish => jellyfish::build(&jellyfish::Jellyfish::parse(choice)?, &mut network),
        Generator::SlimFly => slimfly::build(&slimfly::SlimFly::parse(choice)?, &mut network),
    }?;
    let switch_latency_ps = options.switch_latency_ps.unwrap_or(0);
    Topology::freeze(choice.label(), network.into_graph(), PortOrder::Number, switch_latency_ps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn made(text: &str) -> Topology {
        topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        let made = TopologyChoice::parse(text)
            .and_then(|choice| topology(&choice, &TopologyOptions::default()).map(|_| ()));
        made.unwrap_err().to_string()
    }

    #[test]
    fn sizes_are_those_of_the_closed_forms() {
        // Hosts, switches, directed links.
        let cases = [
            ("star[hosts=8]", 8, 1, 16),
            ("xgft[m=4:4,w=1:2]", 16, 4 + 2, 2 * (16 + 8)),
            ("xgft[m=4:4:3,w=1:2:2]", 48, 12 + 6 + 4, 2 * (48 + 24 + 12)),
            ("xgft[m=16:16:8,w=1:16:16]", 2048, 128 + 128 + 256, 2 * 3 * 2048),
            ("xgft[m=2:2,w=2:2]", 4, 4 + 4, 2 * (8 + 8)),
            ("fat-tree[k=8]", 128, 32 + 32 + 16, 2 * 3 * 128),
            ("fat-tree[k=2]", 2, 2 + 2 + 1, 2 * 3 * 2),
            ("leaf-spine[leaves=16,spines=8,hosts=32]", 512, 24, 2 * (512 + 128)),
            ("torus[dims=4x4x4]", 64, 64, 2 * (64 + 3 * 64)),
            ("torus[dims=2x3x1]", 6, 6, 2 * (6 + 3 + 6)),
            ("torus[dims=5,hosts=3]", 15, 5, 2 * (15 + 5)),
            ("mesh[dims=4x4x4]", 64, 64, 2 * (64 + 3 * 48)),
            ("mesh[dims=2x1x7,hosts=2]", 28, 14, 2 * (28 + 7 + 2 * 6)),
            ("hyperx[dims=4x3,hosts=2]", 24, 12, 2 * (24 + 3 * 6 + 4 * 3)),
            ("xgft[m=4:4:3,w=1:2:2,p=1:2:3]", 48, 12 + 6 + 4, 2 * (48 + 2 * 24 + 3 * 12)),
            ("leaf-spine[leaves=4,spines=2,hosts=8,links=3]", 32, 6, 2 * (32 + 3 * 8)),
            ("dragonfly[a=4,h=2,p=2]", 72, 36, 2 * (72 + 9 * 6 + 36)),
            ("jellyfish[switches=20,degree=4,hosts=2]", 40, 20, 2 * (40 + 40)),
            ("slimfly[q=5]", 50 * 4, 50, 2 * (200 + 175)),
        ];
        for (text, hosts, switches, links) in cases {
            let net = made(text);
            let found = (net.host_count(), net.switch_count(), net.link_count());
            assert_eq!(found, (hosts, switches, links), "{text}");
            assert_eq!(net.label(), text);
        }
    }

    #[test]
    fn parameters_go_before_options_and_options_before_defaults() {
        let options = TopologyOptions {
            slots: Some(4),
            capacity_gbps: Some(25.0),
            link_latency_ps: Some(7),
            switch_latency_ps: Some(9),
        };
        let star = |text: &str| topology(&TopologyChoice::parse(text).unwrap(), &options).unwrap();
        let seen = |net: &Topology| {
            let link = net.link(crate::topology::LinkId(0));
            (net.slots()[0], link.capacity.to_string(), link.latency_ps, net.switch_latency_ps())
        };
        assert_eq!(seen(&star("star[hosts=2]")), (4, "25".into(), 7, 9));
        assert_eq!(seen(&star("star[hosts=2,slots=3,capacity=400G]")), (3, "400".into(), 7, 9));
        assert_eq!(seen(&made("star[hosts=2]")), (1, "10".into(), 1_000_000, 0));
    }

    #[test]
    fn what_cannot_be_generated_is_refused() {
        let cases = [
            (
                "stra[hosts=2]",
                "unknown topology `stra`; did you mean star? (known: star, xgft, fat-tree, leaf-spine, torus, mesh, hyperx, dragonfly, jellyfish, slimfly)",
            ),
            (
                "dragonfly[a=4,h=2,p=2,groups=10]",
                "`dragonfly[a=4,h=2,p=2,groups=10]`: groups is 10, expected at most a·h + 1 = 9: a group reaches no more",
            ),
            (
                "hyperx[dims=4x4,links=2]",
                "`hyperx[dims=4x4,links=2]`: links has 1 numbers, expected 2, one per dimension",
            ),
            (
                "jellyfish[switches=4,degree=4]",
                "`jellyfish[switches=4,degree=4]`: degree is 4, expected less than the 4 switches",
            ),
            (
                "slimfly[q=6]",
                "`slimfly[q=6]`: q is 6, expected a prime power from 3 to 127: 3, 4, 5, 7, 8, 9, 11, 13, …",
            ),
            (
                "xgft[m=4:4,w=1:1,p=2]",
                "`xgft[m=4:4,w=1:1,p=2]`: p has 1 levels, expected 2, as m has, and no zeros",
            ),
            ("star", "`star` needs `hosts=…` in brackets"),
            ("star[hosts=0]", "`star[hosts=0]`: hosts is 0, expected at least 1"),
            ("star[hosts=2,slots=0]", "`star[hosts=2,slots=0]`: slots is 0, expected at least 1"),
            (
                "star[host=2]",
                "unknown parameter of `star` `host`; did you mean hosts? (known: hosts, slots, capacity)",
            ),
            ("xgft[m=4:4,w=1]", "`xgft[m=4:4,w=1]`: m has 2 levels and w has 1, expected the same number"),
            (
                "xgft[m=4:4,w=1:2,variant=paper]",
                "`xgft[m=4:4,w=1:2,variant=paper]`: variant is `paper`, expected published or pfsim",
            ),
            ("xgft[m=4:0,w=1:1]", "`xgft[m=4:0,w=1:1]`: m and w have no zeros"),
            ("fat-tree[k=5]", "`fat-tree[k=5]`: k is 5, expected an even number of ports"),
            ("torus[dims=4x0]", "`torus[dims=4x0]`: dims has no zeros"),
            ("torus[dims=4x-1]", "`torus[dims=4x-1]`: dims is `-1`, expected a whole number"),
            (
                "torus[dims=4096x4096]",
                "`torus[dims=4096x4096]` has 33554432 nodes, at most 4194304 are possible",
            ),
            (
                "star[hosts=2,capacity=0]",
                "`star[hosts=2,capacity=0]`: `0` is not a rate; write 10 (Gbit/s), 2.5 or 400G",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(refused(text), expected);
        }
        let huge = refused("xgft[m=4294967295:4294967295:4294967295,w=1:1:4294967295]");
        assert!(huge.ends_with("nodes, at most 4194304 are possible"), "{huge}");
    }

    #[test]
    fn lists_mix_files_and_generators() {
        let list = TopologyChoice::parse_list("a/milk.graphml,xgft[m=4:4,w=1:2],torus[dims=3x3,hosts=2]");
        let shown: Vec<String> = list.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a/milk.graphml", "xgft[m=4:4,w=1:2]", "torus[dims=3x3,hosts=2]"]);
        assert!(refused("no/such.graphml").starts_with("no/such.graphml: No such file"));
    }
}
