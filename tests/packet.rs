//! The packet model as a user calls it: closed forms, its figures for links, and what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test that cannot go on says so and fails"
)]

mod stages;

use stages::{Row, collect, number, output, run, segment, simulate, table};

/// The phases of a generated trace in the packet model.
fn phases(pattern: &str, options: &str) -> Vec<Row> {
    table("phases", &results(pattern, options))
}

fn results(pattern: &str, options: &str) -> Vec<u8> {
    let words: Vec<&str> = ["--pattern"].into_iter().chain(pattern.split(' ')).collect();
    let phases = segment(&["--method", "none"], &collect(&words));
    output(simulate(&arguments(options)), &phases)
}

fn arguments(options: &str) -> Vec<&str> {
    ["--model", "packet"].into_iter().chain(options.split(' ')).collect()
}

/// Hosts at one switch, links of 10 Gbit/s.
const STAR: &str = "--topology star[hosts=8] --capacity 10 --latency 2500ns --switch-latency 0s";

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} instead of {expected}");
}

/// The α-β formulas of textbooks, α = 5 µs and β = 0.8 ns a byte (Thakur, Rabenseifner, Gropp,
/// *Optimization of collective communication operations in MPICH*, 2005). Store and forward at the
/// switch adds a packet of at most 4096 bytes, 3.3 µs, to each step.
#[test]
fn allreduce_takes_what_its_algorithm_takes() {
    let (p, alpha, beta) = (8.0, 5e-6, 0.8e-9);
    for bytes in [4096.0, 1_048_576.0, 16_777_216.0] {
        let pattern = format!("allreduce --ranks 8 --bytes {bytes}");
        for (collective, steps, volume) in [
            ("ring", 2.0 * (p - 1.0), 2.0 * (p - 1.0) / p),
            ("recursive-doubling", 3.0, 3.0),
            ("halving-doubling", 6.0, 2.0 * (p - 1.0) / p),
            // Reduction and broadcast.
            ("binomial", 6.0, 6.0),
        ] {
            let rows = phases(&pattern, &format!("{STAR} --collective {collective}"));
            let formula = steps * alpha + volume * bytes * beta;
            let found = number(&rows[0], "makespan_s");
            let stored = steps * 4096.0 * beta;
            assert!(
                found >= formula * (1.0 - 1e-9) && found <= (formula + stored) * (1.0 + 1e-9),
                "{collective} {bytes}: {found} {formula}"
            );
            assert_eq!((&rows[0]["drops"][..], &rows[0]["retransmits"][..]), ("0", "0"));
        }
    }
}

/// A server takes in p·m bytes and gives out as many at the same time. With a shard at each rank,
/// the time is that of a ring.
#[test]
fn parameter_servers_take_what_their_links_take() {
    let pattern = "allreduce --ranks 7 --bytes 16MiB";
    let vector = 16_777_216.0 * 0.8e-9;
    let makespan = |collective: &str| {
        number(&phases(pattern, &format!("{STAR} --collective {collective}"))[0], "makespan_s")
    };
    close(makespan("ps"), 7.0 * vector, 0.03);
    close(makespan("ps[shards=7,colocated=on]"), 2.0 * 6.0 / 7.0 * vector, 0.06);
}

/// Both directions at once: 8924 bytes of a message are 9038 bytes on the wire (V11 of the
/// specification: 9.874 Gbit/s), acknowledgements aside.
#[test]
fn usnic_reaches_its_ceiling() {
    let options = "--topology star[hosts=2] --latency 1us --switch-latency 0s --capacity 10 --transport usnic-4.1 --mtu 9000";
    close(number(&phases("shift --ranks 2 --bytes 100MB", options)[0], "makespan_s"), 0.081_02, 0.015);
}

#[test]
fn links_tell_of_packets() {
    // Seven hosts send to one, so 6 of 7 parts wait or find no room.
    let incast = "incast --ranks 8 --bytes 1MB";
    let lossless = results(incast, STAR);
    let into = |results: &[u8]| table("links", results).into_iter().find(|row| row["dst"] == "h0").unwrap();
    let row = into(&lossless);
    assert_eq!((&row["bytes"][..], &row["packets"][..], &row["drops"][..]), ("7000000", "1715", "0"));
    assert!(number(&row, "queue_max") > 4.5e6, "{row:?}");
    let tight = results(incast, &format!("{STAR} --transport dctcp --buffer 100KB"));
    let row = into(&tight);
    assert!(number(&row, "drops") > 0.0 && number(&row, "queue_max") < 125e3, "{row:?}");
    let phase = &table("phases", &tight)[0];
    assert_eq!(phase["drops"], row["drops"]);
    assert!(number(phase, "retransmits") >= number(phase, "drops"), "{phase:?}");
    assert!(number(phase, "marks") > 0.0);
}

#[test]
fn loss_is_repaired_or_refused() {
    let options = format!("{STAR} --loss 0.01 --seed 3");
    let pattern = "allreduce --ranks 8 --bytes 1MiB";
    for transport in ["dctcp", "roce", "usnic-4.1", "usnic-2013"] {
        let row = &phases(pattern, &format!("{options} --transport {transport}"))[0];
        assert!(number(row, "losses") > 0.0 && number(row, "retransmits") > 0.0, "{transport}: {row:?}");
        assert_eq!(row["drops"], "0");
    }
    let words: Vec<&str> = ["--pattern"].into_iter().chain(pattern.split(' ')).collect();
    let done = run(simulate(&arguments(&options)), &segment(&["--method", "none"], &collect(&words)));
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0));
    assert!(said.contains("transport `ideal` cannot recover what is lost"), "{said}");
}

/// A network file says which link is faulty; options for all links are added to that.
#[test]
fn one_link_may_be_at_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.graphml");
    let host = |number: u32| {
        let faults = if number == 2 { r#"<data key="l">0.02</data><data key="u">0.05</data>"# } else { "" };
        format!(
            r#"<node id="h{number}"><data key="t">host</data><data key="c">1</data></node>
<edge source="h{number}" target="s"><data key="g">10</data>{faults}</edge>"#
        )
    };
    let graph = format!(
        r#"<graphml><key id="t" for="node" attr.name="typ"/><key id="c" for="node" attr.name="capacity"/>
<key id="g" for="edge" attr.name="capacity"/><key id="l" for="edge" attr.name="loss"/><key id="u" for="edge" attr.name="duplicate"/>
<graph edgedefault="undirected"><node id="s"><data key="t">switch</data></node>{}</graph></graphml>"#,
        (0..4).map(host).collect::<String>()
    );
    std::fs::write(&path, graph).unwrap();
    let options = format!("--topology {} --transport dctcp", path.display());
    let pattern = "alltoall --ranks 4 --bytes 1MiB";
    let counts = |options: &str, column: &str| {
        let rows = table("links", &results(pattern, options));
        let by_link = |row: &Row| (format!("{}-{}", row["src"], row["dst"]), number(row, column));
        rows.iter().map(by_link).filter(|(_, count)| *count > 0.0).map(|(link, _)| link).collect::<Vec<_>>()
    };
    for column in ["losses", "duplicates"] {
        let mut links = counts(&options, column);
        links.sort();
        assert_eq!(links, ["h2-s", "s-h2"], "{column}");
    }
    assert_eq!(counts(&format!("{options} --loss 0.01"), "losses").len(), 8);
    let row = &phases(pattern, &options)[0];
    assert!(number(row, "losses") > 0.0 && number(row, "duplicates") > 0.0, "{row:?}");
    let words: Vec<&str> = ["--pattern"].into_iter().chain(pattern.split(' ')).collect();
    let ideal = options.replace("dctcp", "ideal");
    let done = run(simulate(&arguments(&ideal)), &segment(&["--method", "none"], &collect(&words)));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        !done.status.success() && said.contains("transport `ideal` cannot recover what is lost"),
        "{said}"
    );
}

/// Jobs that share the network are simulated together. Whose packets they are is then unknown, and
/// those cells are empty.
#[test]
fn jobs_meet_in_the_network() {
    let trace = collect(&["--pattern", "allreduce", "--ranks", "4", "--bytes", "16MiB"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phases.tar");
    std::fs::write(&path, segment(&["--method", "none"], &trace)).unwrap();
    let path = path.to_str().unwrap();
    // Cyclic placement on two switches: every message crosses the one link between them.
    let options =
        ["--topology", "leaf-spine[leaves=2,spines=1,hosts=4]", "--capacity", "10", "--model", "packet"];
    let options: Vec<&str> =
        options.into_iter().chain(["--host-selector", "random", "--transport", "dctcp"]).collect();
    let alone = table("jobs", &output(simulate(&[&options[..], &[path]].concat()), b""));
    let both = output(simulate(&[&options[..], &[path, path]].concat()), b"");
    let jobs = table("jobs", &both);
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| number(job, "run_s") >= 0.99 * number(&alone[0], "run_s")));
    assert!(
        table("phases", &both).iter().all(|row| row["drops"].is_empty() && !row["makespan_s"].is_empty())
    );
    let links = table("links", &both);
    assert!(!links.is_empty() && links.iter().all(|row| row["job"].is_empty() && !row["packets"].is_empty()));
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let options = format!("{STAR} --loss 0.001 --transport dctcp,usnic-4.1 --collective ring,ps --seed 5");
    let one = results("allreduce --ranks 8 --bytes 256KiB", &format!("{options} --threads 1"));
    let many = results("allreduce --ranks 8 --bytes 256KiB", &format!("{options} --threads 4"));
    assert!(one == many);
}

/// Three models of one halo exchange: the packet model's times exceed the flow model's by headers
/// alone, and both put the same bytes on links.
#[test]
fn models_agree_where_fluid_models_hold() {
    let pattern = ["--pattern", "halo2d", "--ranks", "16", "--bytes", "1MiB", "--repeat", "5"];
    let phases = segment(&["--method", "none"], &collect(&pattern));
    let options =
        ["--topology", "leaf-spine[leaves=4,spines=2,hosts=4]", "--capacity", "10", "--compute-scale", "0"];
    let models = ["--model", "traffic,flow,packet", "--transport", "ideal"];
    let results = output(simulate(&[&options[..], &models].concat()), &phases);
    let rows = table("agreement", &results);
    let of = |model: &str| -> Vec<&Row> { rows.iter().filter(|row| row["model"] == model).collect() };
    assert!(!of("flow").is_empty() && of("flow").len() == of("packet").len());
    for row in &rows {
        assert_eq!((&row["reference"][..], &row["reference_model"][..]), ("0", "traffic"));
        // Without headers, a link carries the same bytes in packets as in flows.
        assert_eq!(row["bytes_ratio"], "1", "{row:?}");
        assert_eq!(row["src"].is_empty(), !row["makespan_ratio"].is_empty());
    }
    let ratio = |model: &str| number(of(model)[0], "makespan_ratio");
    assert!(ratio("packet") >= ratio("flow") * 0.999 && ratio("packet") < ratio("flow") * 1.5, "{rows:?}");
}

/// Each phase's requirement, and the reason.
#[test]
fn auto_takes_the_cheapest_model_that_can_be_trusted() {
    let chosen = |pattern: &str, options: &str| {
        let words: Vec<&str> = ["--pattern"].into_iter().chain(pattern.split(' ')).collect();
        let phases = segment(&["--method", "none"], &collect(&words));
        let options =
            format!("--model auto --topology leaf-spine[leaves=2,spines=1,hosts=4] --capacity 10 {options}");
        let results = output(simulate(&options.split_whitespace().collect::<Vec<_>>()), &phases);
        let row = table("phases", &results).remove(0);
        assert!(!row["makespan_s"].is_empty(), "{row:?}");
        format!("{}: {}", row["model"], row["reason"])
    };
    let halo = "halo2d --ranks 8 --bytes 1MiB";
    assert_eq!(chosen("incast --ranks 8 --bytes 1MiB", ""), "packet: incast: 7 hosts send to one");
    assert_eq!(chosen("halo2d --ranks 8 --bytes 1KiB", ""), "packet: 20 of 20 messages are small");
    assert_eq!(
        chosen(halo, "--transport dctcp --loss 0.001"),
        "packet: links lose, double or reorder packets"
    );
    assert!(chosen(halo, "").starts_with("flow: links contend: one is used for "), "{}", chosen(halo, ""));
    let rare = chosen("halo2d --ranks 8 --bytes 1MiB --gap 1s --repeat 3", "");
    assert_eq!(rare, "traffic: nothing waits: no shared link is used for more than 1 %");
    assert_eq!(
        chosen("allreduce --ranks 4 --bytes 1MiB", "--collective switchml"),
        "packet: 1 sums in the network"
    );
}

/// Without overtaking, SwitchML is exact at any loss. With overtaking, a late copy counts into a
/// later sum: that is an error, unless the result was asked for.
#[test]
fn sums_are_right_or_it_is_said_that_they_are_not() {
    let sums = "--topology star[hosts=5] --capacity 10 --loss 0.01 --verify --seed 2 --collective";
    let pattern = "allreduce --ranks 4 --bytes 1MB";
    for collective in ["switchml[slots=8]", "switchml[numbers=float]", "atp", "atp[numbers=float]"] {
        let row = &phases(pattern, &format!("{sums} {collective}"))[0];
        // Each of 4 workers checks each of 250 000 elements.
        assert_eq!((&row["checked_sums"][..], &row["wrong_sums"][..]), ("1000000", "0"), "{collective}");
        assert!(number(row, "retransmits") > 0.0 && !row["makespan_s"].is_empty());
    }
    let confused = format!("{sums} switchml[slots=8,timeout=15us] --reorder 10us");
    let trace = segment(
        &["--method", "none"],
        &collect(&["--pattern", "allreduce", "--ranks", "4", "--bytes", "1MB"]),
    );
    let refused = run(simulate(&arguments(&confused)), &trace);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("wait for ever") || said.contains("summed in the network are wrong"), "{said}");
    let row = &table("phases", &output(simulate(&arguments(&format!("{confused} --allow-hang"))), &trace))[0];
    assert!(row["makespan_s"].is_empty() || number(row, "wrong_sums") > 0.0, "{row:?}");
    assert!(number(row, "retransmits") > 0.0);
    let safe = format!("{sums} switchml[slots=8,timeout=15us,safe=on] --reorder 10us");
    assert_eq!(phases(pattern, &safe)[0]["wrong_sums"], "0");
}

/// Each worker receives and sends m bytes, where a ring moves 2(p−1)/p·m; without headers (V6 of
/// the specification).
#[test]
fn a_network_that_sums_carries_each_vector_once() {
    let pattern = "allreduce --ranks 8 --bytes 1024000";
    let bytes = |collective: &str| {
        number(&phases(pattern, &format!("{STAR} --collective {collective}"))[0], "max_link_bytes")
    };
    assert_eq!(bytes("ring"), 2.0 * 7.0 / 8.0 * 1_024_000.0);
    // 8000 packets of 32 elements, 204 bytes each.
    assert_eq!(bytes("switchml"), 8000.0 * 204.0);
}

/// Eight jobs at one switch, each with slots of its own, are as fast as one.
#[test]
fn jobs_that_sum_share_a_switch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phases.tar");
    let trace = collect(&["--pattern", "allreduce", "--ranks", "4", "--bytes", "1MB"]);
    std::fs::write(&path, segment(&["--method", "none"], &trace)).unwrap();
    let path = path.to_str().unwrap();
    let times = |jobs: usize, collective: &str| -> Vec<f64> {
        let options =
            format!("--topology star[hosts=20] --capacity 10 --latency 1us --collective {collective}");
        let mut command = simulate(&arguments(&options));
        command.args(vec![path; jobs]);
        table("jobs", &output(command, b"")).iter().map(|job| number(job, "run_s")).collect()
    };
    let alone = times(1, "switchml[slots=128]")[0];
    assert!(times(4, "switchml[slots=512,jobs=4]").iter().all(|time| (time / alone - 1.0).abs() < 1e-9));
    // A quarter of the slots for each job is less than its links can take.
    assert!(times(4, "switchml[slots=32,jobs=4]").iter().all(|time| *time > 1.5 * alone));
    let mut command = simulate(&arguments("--topology star[hosts=20] --capacity 10 --collective switchml"));
    command.args([path, path]);
    let refused = run(command, b"");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("jobs=1"), "{said}");
}

/// A run in which one phase needs packets and the other does not: the link table has figures of
/// packets only where there are packets.
#[test]
fn phases_of_one_run_may_have_different_models() {
    let pattern = ["--pattern", "incast,halo2d", "--ranks", "8", "--bytes", "1MiB", "--repeat", "4"];
    let phases = segment(&["--method", "marks"], &collect(&pattern));
    let options =
        ["--model", "auto", "--topology", "leaf-spine[leaves=2,spines=1,hosts=4]", "--capacity", "10"];
    let results = output(simulate(&options), &phases);
    let rows = table("phases", &results);
    let models: Vec<&str> = rows.iter().map(|row| &row["model"][..]).collect();
    assert_eq!(models, ["packet", "flow"]);
    let links = table("links", &results);
    for (row, has_packets) in rows.iter().zip([true, false]) {
        let mut of_phase = links.iter().filter(|link| link["phase"] == row["phase"]).peekable();
        assert!(of_phase.peek().is_some());
        assert!(of_phase.all(|link| link["packets"].is_empty() != has_packets));
        assert_eq!(row["hops"].is_empty(), !has_packets);
    }
}
