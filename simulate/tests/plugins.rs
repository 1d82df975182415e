//! Programs as plugins: the Python router in the repository, and programs that die, lie, dawdle or
//! babble.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests stop where something is wrong"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, TrafficMatrix};
use phaseflow_simulate::host_selection::{self, HostRequest, HostSelector};
use phaseflow_simulate::process_mapping::{self, MapRequest, Placement, ProcessMapper};
use phaseflow_simulate::routing::{HostDemand, RouteRequest, Routes, router};
use phaseflow_simulate::scheduling::{self, Occasion, QueueView, QueuedJob, RunningJob};
use phaseflow_simulate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

fn network(text: &str) -> Topology {
    topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
}

fn demand(src: u32, dst: u32, load: f64) -> HostDemand {
    HostDemand { src: HostId(src), dst: HostId(dst), bytes: load as u64, load, flows: 1 }
}

/// Asks a router twice and gives the last routes.
fn ask(net: &Topology, program: &str, demands: &[HostDemand]) -> phaseflow_collect::Result<Vec<Vec<u32>>> {
    let choice = Choice::parse(&format!("exec:{program}")).unwrap();
    let mut router = router(&choice, 1)?;
    let mut routes = Routes::default();
    for job in 0..2 {
        routes.clear();
        let request = RouteRequest {
            topology: net,
            demands,
            link_load: &vec![0.0; net.link_count()],
            job,
            phase: "0",
            placement: &Placement { hosts: vec![HostId(0), HostId(2)] },
            matrix: &TrafficMatrix::from_cells([cell(0, 1)]).unwrap(),
        };
        router.route(&request, &mut routes)?;
    }
    Ok(routes.iter().map(|route| route.iter().map(|link| link.0).collect()).collect())
}

fn cell(src: u32, dst: u32) -> Cell {
    Cell { src: Rank(src), dst: Rank(dst), messages: 1, bytes: 10 }
}

/// A shell script that answers the greeting, then does as it is told.
fn script(folder: &Path, body: &str) -> String {
    let path = folder.join("plugin.sh");
    fs::write(&path, format!("#!/bin/sh\nread hello\necho '{{\"phaseflow\":1}}'\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("/bin/sh {}", path.display())
}

#[test]
fn the_python_router_takes_detours_when_the_short_way_is_full() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../pipelines/plugins/router.py");
    let net = network("leaf-spine[leaves=2,spines=2,hosts=2]");
    let routes = ask(&net, program, &[demand(0, 2, 4.0), demand(1, 3, 3.0), demand(0, 3, 1.0)]).unwrap();
    let spine =
        |route: &[u32]| net.node(net.dst(phaseflow_simulate::topology::LinkId(route[1]))).name.clone();
    let through: Vec<String> = routes.iter().map(|route| spine(route)).collect();
    // 4 on one spine, 3 on the other, and 1 on the less loaded one.
    assert_eq!((routes[0].len(), through[0] != through[1], &through[2]), (4, true, &through[1]));

    // Around a square of switches: four demands between neighbours do not all take the direct link.
    let net = network("torus[dims=2x2]");
    let routes = ask(&net, program, &[demand(0, 1, 1.0); 4]).unwrap();
    let lengths: Vec<usize> = routes.iter().map(Vec::len).collect();
    assert!(lengths.contains(&3) && lengths.contains(&5), "{lengths:?}");
}

#[test]
fn programs_that_lie_end_the_run_and_show_what_they_said() {
    let folder = tempfile::tempdir().unwrap();
    // Links: cable i of host i is 2i up and 2i+1 down.
    let net = network("star[hosts=3]");
    let expected = r#"expected {"routes": [[link, …], …]}, one route per demand"#;
    let cases = [
        ("hello", format!("answered `hello`: expected value at line 1 column 1; {expected}")),
        (r#"{"route":[]}"#, format!("answered `{{\"route\":[]}}`: missing field `routes` at line 1 column 12; {expected}")),
        (r#"{"routes":[]}"#, r#"answered `{"routes":[]}`: 0 routes, expected 1, one per demand"#.into()),
        (r#"{"routes":[[0]]}"#, r#"answered `{"routes":[[0]]}`: route 0 is no route: it ends at `s1.0`; expected links from `h0` to `h2`"#.into()),
        (r#"{"routes":[[2]]}"#, r#"answered `{"routes":[[2]]}`: route 0 is no route: link 2 (h1 → s1.0) does not start at `h0`; expected links from `h0` to `h2`"#.into()),
        (r#"{"routes":[[0,9]]}"#, r#"answered `{"routes":[[0,9]]}`: route 0 is no route: there is no link 9, the last is 5; expected links from `h0` to `h2`"#.into()),
        (r#"{"routes":[[0,3,2,5]]}"#, r#"answered `{"routes":[[0,3,2,5]]}`: route 0 is no route: it passes through host `h1`, and hosts do not forward; expected links from `h0` to `h2`"#.into()),
        (r#"{"routes":[[0,1]]}"#, r#"answered `{"routes":[[0,1]]}`: route 0 is no route: it passes `h0` twice; expected links from `h0` to `h2`"#.into()),
    ];
    for (answer, problem) in cases {
        let program = script(folder.path(), &format!("read question; echo '{answer}'; read question"));
        let error = ask(&net, &program, &[demand(0, 2, 1.0)]).unwrap_err().to_string();
        assert_eq!(error, format!("exec:{program}: router {problem}"));
    }
    let long =
        script(folder.path(), "read question; head -c 100000 /dev/zero | tr '\\0' x; echo; read question");
    let error = ask(&net, &long, &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(error.contains(&format!("answered `{}…`", "x".repeat(200))), "{error}");
}

#[test]
fn programs_that_die_dawdle_or_babble_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let net = network("star[hosts=3]");
    let expected = r#"expected one line {"routes": [[link, …], …]}, one route per demand"#;
    let check = |program: &str, problem: &str| {
        let error = ask(&net, program, &[demand(0, 2, 1.0)]).unwrap_err().to_string();
        assert_eq!(error, format!("exec:{program}: router {problem}"));
    };
    let dead = script(folder.path(), "exit 3");
    check(&dead, &format!("ended (exit status: 3) instead of answering; {expected}"));
    let slow = script(folder.path(), "exec sleep 1000") + " [timeout=200ms]";
    // On a busy machine it may be too slow for the greeting already.
    let error = ask(&net, &slow, &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(error.contains("router gave no answer within 0.2 s; expected one line {"), "{error}");
    let early = script(folder.path(), "echo 1; echo 2; echo 3; sleep 1; read question");
    let error = ask(&net, &early, &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(
        error.contains("router said `1` without being asked") || error.contains("answered `1`"),
        "{error}"
    );
    // A program that repeats what it hears passes the greeting and fails at the first answer.
    let error = ask(&net, "/bin/cat", &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(error.starts_with("exec:/bin/cat: router answered `{\"job\":0,"), "{error}");
}

#[test]
fn other_versions_and_missing_programs_are_refused() {
    let net = network("star[hosts=3]");
    let demands = [demand(0, 2, 1.0)];
    let refused = |program: &str| ask(&net, program, &demands).unwrap_err().to_string();
    // It waits for the greeting: what comes before it is refused as not asked for.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("later.sh");
    std::fs::write(&file, "read greeting; echo '{\"phaseflow\":2}'; read question").unwrap();
    let later = format!("/bin/sh {}", file.display());
    assert_eq!(
        refused(&later),
        format!("exec:{later}: router answered `{{\"phaseflow\":2}}`: expected {{\"phaseflow\": 1}}")
    );
    assert_eq!(
        refused("/bin/true"),
        "exec:/bin/true: router ended (exit status: 0) instead of answering; expected one line {\"phaseflow\": 1}"
    );
    assert_eq!(refused("  "), "exec:  : names no program");
    assert!(refused("no-such-program").starts_with("exec:no-such-program: cannot be started: No such file"));
    assert!(refused("x[timeout=5]").ends_with("`5` is not a time; write 250ns, 5us, 1ms or 2s"));
}

#[test]
fn a_program_that_never_reads_or_never_stops_talking_is_ended() {
    let net = network("fat-tree[k=16]");
    let error = ask(&net, "/bin/sleep 1000 [timeout=300ms]", &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(error.contains("gave no answer within 0.3 s"), "{error}");
    let error = ask(&net, "/usr/bin/yes", &[demand(0, 2, 1.0)]).unwrap_err().to_string();
    assert!(error.contains("`y`"), "{error}");
}

#[test]
fn host_selectors_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let net = network("star[hosts=4,slots=2]");
    let select = |answer: &str| {
        let program = script(folder.path(), &format!("read question; echo '{answer}'; read question"));
        let request = HostRequest {
            topology: &net,
            free: &[true, false, true, true],
            processes: 4,
            matrix: &TrafficMatrix::default(),
            judge: None,
        };
        let mut selector = host_selection::exec::Exec::new(&program, 1).unwrap();
        let selected = selector.select(&request);
        selected.map_err(|error| error.to_string().replace(&format!("exec:{program}: host selector "), ""))
    };
    assert_eq!(select(r#"{"hosts":["h3","h0"]}"#), Ok(vec![HostId(3), HostId(0)]));
    let cases = [
        (r#"["h3","h9"]"#, "`h9` is not a host of the network"),
        (r#"["h3","s1.0"]"#, "`s1.0` is not a host of the network"),
        (r#"["h3","h1"]"#, "host `h1` is not free, expected free hosts"),
        (r#"["h3","h3"]"#, "host `h3` is named twice, expected each once"),
        (r#"["h3"]"#, "these hosts have 2 slots, expected at least 4 (processes)"),
    ];
    for (hosts, problem) in cases {
        let answer = format!(r#"{{"hosts":{hosts}}}"#);
        assert_eq!(select(&answer), Err(format!("answered `{answer}`: {problem}")));
    }
}

#[test]
fn process_mappers_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let net = network("star[hosts=4,slots=2]");
    let matrix = TrafficMatrix::from_cells([cell(0, 1), cell(1, 2)]).unwrap();
    let map = |answer: &str| {
        let program = script(folder.path(), &format!("read question; echo '{answer}'; read question"));
        let request = MapRequest {
            topology: &net,
            hosts: &[HostId(1), HostId(3)],
            ranks: 3,
            matrix: &matrix,
            judge: None,
            proposed: None,
        };
        let mut mapper = process_mapping::exec::Exec::new(&program, 1).unwrap();
        let placement = mapper.map(&request).map(|placement| placement.hosts);
        placement.map_err(|error| error.to_string().replace(&format!("exec:{program}: process mapper "), ""))
    };
    assert_eq!(map(r#"{"placement":["h3","h1","h3"]}"#), Ok(vec![HostId(3), HostId(1), HostId(3)]));
    let cases = [
        (r#"["h3","h1"]"#, "2 hosts, expected 3, one per rank"),
        (r#"["h3","h1","h2"]"#, "rank 2: host `h2` is not one of the job's hosts"),
        (r#"["h3","h3","h3"]"#, "rank 2: host `h3` gets more ranks than its 2 slots"),
        (r#"["h3","h1","x"]"#, "`x` is not a host of the network"),
    ];
    for (placement, problem) in cases {
        let answer = format!(r#"{{"placement":{placement}}}"#);
        assert_eq!(map(&answer), Err(format!("answered `{answer}`: {problem}")));
    }
}

#[test]
fn schedulers_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let net = network("star[hosts=4]");
    let queued = |job, processes| QueuedJob { job, processes, slots: u64::from(processes), estimate: 1 };
    let next = |answer: &str| {
        let program = script(folder.path(), &format!("read question; echo '{answer}'; read question"));
        let choice = Choice::parse(&format!("exec:{program}")).unwrap();
        let mut scheduler = scheduling::scheduler(&choice, 1).unwrap();
        let view = QueueView {
            topology: &net,
            now: 0,
            occasion: Occasion::Submitted,
            started: 0,
            free_slots: 2,
            queue: &[queued(5, 3), queued(6, 2)],
            running: &[RunningJob { job: 4, slots: 2, remaining: 1 }],
        };
        let next = scheduler.next(&view);
        next.map_err(|error| error.to_string().replace(&format!("exec:{program}: scheduler "), ""))
    };
    assert_eq!(next(r#"{"start":6}"#), Ok(Some(1)));
    assert_eq!(next(r#"{"start":null}"#), Ok(None));
    let cases = [
        (r#"{"start":4}"#, "job 4 does not wait, expected a job of the queue"),
        (r#"{"start":5}"#, "job 5 has 3 processes, expected one that fits 2 free slots"),
    ];
    for (answer, problem) in cases {
        assert_eq!(next(answer), Err(format!("answered `{answer}`: {problem}")));
    }
}

#[test]
fn the_python_mapper_brings_partners_together() {
    // Two hosts of four slots; ranks 0 and 7, 1 and 6, … exchange messages. Block mapping has all
    // of them between the hosts, annealing none.
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../pipelines/plugins/mapper.py");
    let net = network("star[hosts=2,slots=4]");
    let matrix = TrafficMatrix::from_cells((0..8).map(|rank| cell(rank, 7 - rank))).unwrap();
    let request = MapRequest {
        topology: &net,
        hosts: &[HostId(0), HostId(1)],
        ranks: 8,
        matrix: &matrix,
        judge: None,
        proposed: None,
    };
    let mut mapper = process_mapping::exec::Exec::new(program, 1).unwrap();
    let hosts = mapper.map(&request).unwrap().hosts;
    assert!((0..8).all(|rank| hosts[rank] == hosts[7 - rank]), "{hosts:?}");
}

/// The exchanges in docs/plugins.md, by axis: questions and answers in turn.
fn documented(axis: &str) -> (Vec<serde_json::Value>, Vec<String>) {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plugins.md")).unwrap();
    let blocks = text.split("```").filter(|block| block.contains("\n> "));
    let greeting = format!(r#""axis":"{axis}""#);
    let block = blocks.into_iter().find(|block| block.contains(&greeting)).unwrap().to_string();
    let lines = |mark: &'static str| block.lines().filter_map(move |line| line.strip_prefix(mark));
    let questions = lines("> ").map(|line| serde_json::from_str(line).unwrap()).collect();
    (questions, lines("< ").map(str::to_string).collect())
}

/// A program that gives the documented answers and writes down the questions.
fn replay(folder: &Path, answers: &[String]) -> String {
    let heard = folder.join("heard");
    let step = |answer: &String| {
        format!("read -r line; printf '%s\\n' \"$line\" >> {}; echo '{answer}'\n", heard.display())
    };
    let path = folder.join("replay.sh");
    fs::write(&path, answers.iter().map(step).collect::<String>()).unwrap();
    format!("/bin/sh {}", path.display())
}

fn heard(folder: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join("heard")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_documented_exchanges_are_real() {
    let folder = tempfile::tempdir().unwrap();
    let net = network("leaf-spine[leaves=2,spines=1,hosts=1]");
    let (questions, answers) = documented("router");
    let program = replay(folder.path(), &answers);
    let mut router = router(&Choice::parse(&format!("exec:{program}")).unwrap(), 1).unwrap();
    let (matrix, mut routes) = (TrafficMatrix::from_cells([cell(0, 1)]).unwrap(), Routes::default());
    let request = RouteRequest {
        topology: &net,
        demands: &[demand(0, 1, 10.0)],
        link_load: &[0.0; 8],
        job: 0,
        phase: "0",
        placement: &Placement { hosts: vec![HostId(0), HostId(1)] },
        matrix: &matrix,
    };
    router.route(&request, &mut routes).unwrap();
    assert_eq!(routes.get(0).len(), 4);
    assert_eq!(heard(folder.path()), questions);

    let net = network("star[hosts=2,slots=2]");
    let folder = tempfile::tempdir().unwrap();
    let (questions, answers) = documented("host selector");
    let mut selector = host_selection::exec::Exec::new(&replay(folder.path(), &answers), 1).unwrap();
    let request = HostRequest {
        topology: &net,
        free: &[true, true],
        processes: 3,
        matrix: &TrafficMatrix::default(),
        judge: None,
    };
    assert_eq!(selector.select(&request).unwrap(), [HostId(1), HostId(0)]);
    assert_eq!(heard(folder.path()), questions);

    let folder = tempfile::tempdir().unwrap();
    let (questions, answers) = documented("process mapper");
    let mut mapper = process_mapping::exec::Exec::new(&replay(folder.path(), &answers), 1).unwrap();
    let request = MapRequest {
        topology: &net,
        hosts: &[HostId(1), HostId(0)],
        ranks: 2,
        matrix: &matrix,
        judge: None,
        proposed: None,
    };
    assert_eq!(mapper.map(&request).unwrap().hosts, [HostId(0), HostId(1)]);
    assert_eq!(heard(folder.path()), questions);

    let folder = tempfile::tempdir().unwrap();
    let (questions, answers) = documented("scheduler");
    let choice = Choice::parse(&format!("exec:{}", replay(folder.path(), &answers))).unwrap();
    let mut scheduler = scheduling::scheduler(&choice, 1).unwrap();
    let second = 1_000_000_000_000;
    let queued =
        |job, processes, slots, seconds: u64| QueuedJob { job, processes, slots, estimate: seconds * second };
    let view = QueueView {
        topology: &net,
        now: second,
        occasion: Occasion::Submitted,
        started: 0,
        free_slots: 2,
        queue: &[queued(1, 3, 4, 5), queued(2, 2, 2, 1)],
        running: &[RunningJob { job: 0, slots: 2, remaining: 3 * second }],
    };
    assert_eq!(scheduler.next(&view).unwrap(), Some(1));
    assert_eq!(heard(folder.path()), questions);
}
