//! Reading of scenario files: PFSim's YAML, with our names and keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use phaseflow_collect::{At, Error, Result};

use super::axis::{Axes, Axis};
use super::node::{LARGEST_FILE, Map, Node};
use super::{Scenario, algorithms, jobs, topologies};
use crate::run::Reroute;
use crate::topology::{Failure, TopologyOptions};

/// The paper's name for `host_selector` of PFSim's files.
const NODE_SELECTOR: &str = "node_selector";

/// The keys of a scenario.
const KEYS: &[&str] = &[
    "duration",
    "topology",
    "slots",
    "capacity",
    "latency",
    "switch_latency",
    "fail",
    "output",
    "algorithms",
    "scheduler",
    "host_selector",
    NODE_SELECTOR,
    "process_mapper",
    "router",
    "model",
    "transport",
    "collective",
    "phases",
    "jobs",
    "reroute",
    "snapshots",
    "seed",
    "repeat",
];

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// A file that cannot be read, is not YAML, or has a key or value that a scenario does not
    /// have; with line and column.
    pub fn read(path: &Path) -> Result<Self> {
        // A pipe has no known length: one byte beyond the limit shows that it is too long.
        let file = File::open(path).at(|| path.display())?;
        let mut text = Vec::new();
        file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut text).at(|| path.display())?;
        if text.len() > LARGEST_FILE {
            let problem = format!("is longer than {LARGEST_FILE} bytes, the most of a scenario");
            return Err(Error::usage(problem).at(path.display()));
        }
        let text = String::from_utf8(text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::usage(format!("byte {at} is not UTF-8, expected a YAML document")).at(path.display())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).at(|| path.display())
    }

    /// Parses a scenario whose relative paths start at `folder`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, folder: &Path) -> Result<Self> {
        let root = Node::parse(text)?;
        let map = root.map("a scenario", KEYS)?;
        let mut scenario =
            Self { axes: axes(map, folder)?, options: network_options(map)?, ..Self::default() };
        if let Some(node) = map.get("topology") {
            scenario.networks = topologies::networks(node, folder)?;
        }
        if let Some(node) = map.get("fail") {
            let failure =
                |item: &Node| item.locate(Failure::parse(item.text("fail", "a link, switch or host")?));
            scenario.failures = node.list().iter().map(failure).collect::<Result<_>>()?;
        }
        if let Some(node) = map.get("jobs") {
            match jobs::log(node, folder)? {
                Some(log) => scenario.log = Some(log),
                None => scenario.jobs = jobs::jobs(node, folder)?,
            }
        }
        if let Some(node) = map.get("duration") {
            scenario.duration_s = Some(node.seconds("duration")?);
        }
        if let Some(node) = map.get("snapshots") {
            for time in node.list() {
                scenario.snapshots_s.push(time.seconds("a snapshot's time")?);
            }
            scenario.snapshots_s.sort_by(f64::total_cmp);
        }
        if let Some(node) = map.get("reroute") {
            scenario.reroute = Some(node.locate(Reroute::parse(node.text("reroute", "job or phase")?))?);
        }
        if let Some(node) = map.get("seed") {
            scenario.seed = Some(node.whole("seed")?);
        }
        if let Some(node) = map.get("repeat") {
            let repeat = node.whole("repeat")?;
            let count = u32::try_from(repeat).ok().filter(|count| *count > 0);
            scenario.repeat = Some(node.locate(
                count.ok_or_else(|| Error::usage(format!("repeat is {repeat}, expected 1 to 4294967295"))),
            )?);
        }
        if map.get("output").is_some() {
            scenario
                .notes
                .push("the scenario's `output` is not used: results go to -o or standard output".into());
        }
        Ok(scenario)
    }
}

/// The axes at the top of the file and in PFSim's `algorithms`.
fn axes(map: Map<'_>, folder: &Path) -> Result<Axes> {
    let keys: Vec<&str> = Axis::ALL.map(Axis::key).into_iter().chain([NODE_SELECTOR]).collect();
    let algorithms = map.get("algorithms").map(|node| node.map("algorithms", &keys)).transpose()?;
    let mut axes = Axes::default();
    for axis in Axis::ALL {
        let inner = algorithms.map_or(Ok(None), |algorithms| of_axis(axis, algorithms))?;
        let node = match (of_axis(axis, map)?, inner) {
            (Some(node), Some(_)) => {
                return Err(node.error(format!("{axis} is given here and in `algorithms`, expected once")));
            }
            (outer, inner) => outer.or(inner),
        };
        if let Some(node) = node {
            axes.set(axis, algorithms::alternatives(axis, node, folder)?);
        }
    }
    Ok(axes)
}

/// The alternatives of an axis in a mapping; the key may have two names.
fn of_axis<'a>(axis: Axis, map: Map<'a>) -> Result<Option<&'a Node>> {
    let other = (axis == Axis::HostSelector).then(|| map.get(NODE_SELECTOR)).flatten();
    match (map.get(axis.key()), other) {
        (Some(_), Some(node)) => Err(node
            .error(format!("`{NODE_SELECTOR}` is another name of `{}`, expected one of them", axis.key()))),
        (node, other) => Ok(node.or(other)),
    }
}

fn network_options(map: Map<'_>) -> Result<TopologyOptions> {
    Ok(TopologyOptions {
        slots: map.get("slots").map(|node| node.whole32("slots")).transpose()?,
        capacity_gbps: map.get("capacity").map(|node| node.rate_gbps("capacity")).transpose()?,
        link_latency_ps: map.get("latency").map(|node| node.picoseconds("latency")).transpose()?,
        switch_latency_ps: map
            .get("switch_latency")
            .map(|node| node.picoseconds("switch_latency"))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::run::Submission;
    use crate::scenario::{Job, Trace};
    use crate::topology::TopologyChoice;
    use phaseflow_collect::choice::Choice;

    fn parse(text: &str) -> Result<Scenario> {
        Scenario::parse(text, Path::new("dir"))
    }

    fn distribution(spelling: &str) -> Distribution {
        Distribution::new(&Choice::parse(spelling).unwrap()).unwrap()
    }

    fn labels(scenario: &Scenario, axis: Axis) -> Vec<&str> {
        scenario.axes.get(axis).iter().map(Choice::label).collect()
    }

    /// PFSim's dialect, in the words of its releases and of the paper's listing.
    #[test]
    fn pfsims_files_run_unchanged() {
        for (module, topology) in [
            ("pfsim", "[{kind: pfsim.topology.FileTopology, params: {path: milk.graphml}}]"),
            ("picosim", "milk.graphml"),
        ] {
            let text = format!(
                "---\nduration: 1000.0\ntopology: {topology}\noutput: output/milk\nalgorithms:\n  scheduler:\n  \
                 - {module}.scheduler.FCFSScheduler\n  host_selector:\n  - {module}.host_selector.LinearHostSelector\n  \
                 process_mapper:\n  - {module}.process_mapper.CyclicProcessMapper\n  router:\n  \
                 - {module}.router.DmodKRouter\n  - {module}.router.GreedyRouter2\njobs:\n- submit:\n    \
                 distribution: {module}.math.ExponentialDistribution\n    params:\n      lambd: 0.1\n  trace: cg.tar.gz\n"
            );
            let scenario = parse(&text).unwrap();
            assert_eq!(scenario.duration_s, Some(1000.0));
            assert_eq!(scenario.networks[0].label, "milk.graphml");
            assert_eq!(scenario.networks[0].topology, TopologyChoice::File("dir/milk.graphml".into()));
            let routers = scenario.axes.get(Axis::Router);
            assert_eq!(labels(&scenario, Axis::Router), ["dmodk", "greedy-max"]);
            assert_eq!(routers[0].get("variant"), Some("pfsim"));
            assert_eq!(scenario.axes.get(Axis::Scheduler)[0].spelling(), "fcfs[variant=pfsim]");
            assert_eq!(labels(&scenario, Axis::ProcessMapper), ["cyclic"]);
            let submission =
                Submission::Endless { submit: distribution("exponential[lambd=0.1]"), duration: None };
            let trace = Trace { label: "cg.tar.gz".into(), path: "dir/cg.tar.gz".into() };
            assert_eq!(scenario.jobs, [Job { trace: Some(trace), submission, count: 1 }]);
            assert_eq!(scenario.notes.len(), 1, "output is not used");
        }
    }

    #[test]
    fn pfsims_generated_networks() {
        let text = "topology:\n- kind: pfsim.topology.XGFTTopology\n  params: {h: 2, m: [4, 8], w: [1, 2], bw: 2.5, npe: 8}\n\
                    - {kind: NDTorusTopology, params: {n: 3, dims: [4, 4, 2], bw: 1, npe: 1}}\n";
        let scenario = parse(text).unwrap();
        let labels: Vec<&str> = scenario.networks.iter().map(|network| network.label.as_str()).collect();
        assert_eq!(
            labels,
            ["xgft[m=4:8,w=1:2,slots=8,capacity=2.5]", "torus[dims=4x4x2,slots=1,capacity=1]"]
        );
        // PFSim's defaults are 1 Gbit/s and one process; below the top, several uplinks lead to all
        // of the level above.
        let said_less = "topology:\n- kind: pfsim.topology.XGFTTopology\n  params: {h: 3, m: [4, 4, 3], w: [1, 2, 2]}\n\
                         - {kind: NDTorusTopology, params: {n: 1, dims: [4]}}\n";
        let networks = parse(said_less).unwrap().networks;
        let labels: Vec<&str> = networks.iter().map(|network| network.label.as_str()).collect();
        assert_eq!(labels, ["xgft[m=4:4:3,w=1:2:2,variant=pfsim,capacity=1]", "torus[dims=4,capacity=1]"]);
        let error = parse(&text.replace("h: 2", "h: 3")).unwrap_err();
        assert_eq!(error.to_string(), "line 3, column 21: m has 2 numbers, expected 3 (h)");
    }

    /// The paper speaks of node selection.
    #[test]
    fn node_selector_is_host_selector() {
        for text in ["node_selector: compact\n", "algorithms: {node_selector: compact}\n"] {
            assert_eq!(labels(&parse(text).unwrap(), Axis::HostSelector), ["compact"], "{text}");
        }
    }

    #[test]
    fn our_own_words() {
        let scenario = parse(
            "router: [\"dmodk[variant=pfsim]\", 'greedy,greedy-max', {exec: [python3, router.py]}]\nlatency: 2us\n\
             capacity: 400G\nsnapshots: [20, 500ms]\njobs:\n- {at: 10s, duration: 30, count: 3}\n- submit: 12.5\n\
             - submit: {uniform: {low: 1, high: 2}}\n  duration: 1min\n",
        )
        .unwrap();
        let routers = ["dmodk[variant=pfsim]", "greedy", "greedy-max", "exec:python3 router.py"];
        assert_eq!(labels(&scenario, Axis::Router), routers);
        assert_eq!(scenario.options.link_latency_ps, Some(2_000_000));
        assert_eq!(scenario.options.capacity_gbps, Some(400.0));
        assert_eq!(scenario.snapshots_s, [0.5, 20.0]);
        let submissions = [
            (Submission::Fixed { at_s: 10.0, duration_s: Some(30.0) }, 3),
            (Submission::Fixed { at_s: 12.5, duration_s: None }, 1),
            (
                Submission::Endless {
                    submit: distribution("uniform[low=1,high=2]"),
                    duration: Some(Distribution::constant(60.0)),
                },
                1,
            ),
        ];
        assert_eq!(
            scenario.jobs,
            submissions.map(|(submission, count)| Job { trace: None, submission, count })
        );
    }

    /// Scenarios with a mistake, and the errors of them.
    const MISTAKES: &[(&str, &str)] = &[
        (
            "algorithms:\n  routre: dmodk\n",
            "line 2, column 3: unknown key of algorithms `routre`; did you mean router? (known: scheduler, \
             host_selector, process_mapper, router, model, transport, collective, phases, node_selector)",
        ),
        (
            "router: pfsim.router.DmodKRoutr\n",
            "line 1, column 9: unknown PFSim router `DmodKRoutr`; did you mean DmodKRouter? (known: DmodKRouter, \
             RandomRouter, GreedyRouter, GreedyRouter2)",
        ),
        (
            "router: 7\n",
            "line 1, column 9: router is `7`, expected a name, name[key=value] or {exec: [program, …]}",
        ),
        ("router: []\n", "line 1, column 9: router is an empty list, expected one algorithm or more"),
        ("router: 'a b'\n", "line 1, column 9: `a b` is not a list of choices; write a,b[key=value],c"),
        (
            "router: a\nalgorithms:\n  router: b\n",
            "line 1, column 9: router is given here and in `algorithms`, expected once",
        ),
        (
            "algorithms:\n  host_selector: linear\n  node_selector: random\n",
            "line 3, column 18: `node_selector` is another name of `host_selector`, expected one of them",
        ),
        (
            "duration: soon\n",
            "line 1, column 11: duration is `soon`, expected a time: seconds as a number, or 250ns, 5us, 1ms, 2s",
        ),
        (
            "duration: -1\n",
            "line 1, column 11: duration is `-1`, expected a time: seconds as a number, or 250ns, 5us, 1ms, 2s",
        ),
        ("seed: 1.5\n", "line 1, column 7: seed is `1.5`, expected a whole number"),
        ("slots: 5000000000\n", "line 1, column 8: slots is `5000000000`, expected a number below 2^32"),
        (
            "latency: 5\n",
            "line 1, column 10: latency is `5`, expected a time with its unit: 250ns, 5us, 1ms, 2s",
        ),
        ("jobs: []\n", "line 1, column 7: jobs is an empty list, expected one job or more"),
        (
            "jobs:\n- tarce: x\n",
            "line 2, column 3: unknown key of a job `tarce`; did you mean trace? (known: submit, at, duration, trace, count)",
        ),
        (
            "jobs: [{submit: 1, at: 2}]\n",
            "line 1, column 24: a job has `submit` and `at`, expected one of them",
        ),
        ("jobs: [{count: 0}]\n", "line 1, column 16: count is 0, expected 1 to 1000000"),
        (
            "jobs: [{submit: {exponential: {lambd: 1}}, count: 2}]\n",
            "line 1, column 51: count goes with a time, this job is submitted by a distribution",
        ),
        (
            "jobs: [{count: 600000}, {count: 600000}]\n",
            "line 1, column 7: all counts together are 1200000 jobs, expected at most 1000000",
        ),
        (
            "jobs: [{submit: {exponental: {lambd: 1}}}]\n",
            "line 1, column 17: unknown distribution `exponental`; did you mean exponential? (known: constant, \
             exponential, uniform, lognormal, weibull)",
        ),
        (
            "jobs: [{submit: {exponential: {lambd: x}}}]\n",
            "line 1, column 39: lambd is `x`, expected a number",
        ),
        ("topology: [{kind: FileTopology}]\n", "line 1, column 12: topology has no `params`"),
        (
            "topology: {kind: pfsim.topology.FileTopologie, params: {}}\n",
            "line 1, column 18: unknown PFSim topology `FileTopologie`; did you mean FileTopology? (known: \
             FileTopology, XGFTTopology, NDTorusTopology)",
        ),
        ("- 1\n", "line 1, column 1: a scenario is a list, expected a mapping"),
        ("", "line 1, column 1: a scenario is empty, expected a mapping"),
    ];

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, expected) in MISTAKES {
            assert_eq!(parse(text).unwrap_err().to_string(), *expected, "{text}");
        }
    }

    /// The documentation has to parse.
    #[test]
    fn the_documented_examples_are_scenarios() {
        let text = include_str!("../../../docs/scenarios.md");
        let examples: Vec<&str> =
            text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert_eq!(examples.len(), 5);
        for example in &examples {
            let scenario = parse(example).unwrap_or_else(|error| panic!("{error}:\n{example}"));
            assert!(!scenario.networks.is_empty() && (!scenario.jobs.is_empty() || scenario.log.is_some()));
        }
        for key in KEYS {
            assert!(text.contains(&format!("`{key}`")) || text.contains(&format!("\n{key}:")), "{key}");
        }
    }
}
