//! Published figures are made again, in their quick form, and hold what docs/reproduction.md says
//! of them. Expected values are those of `pipelines/reproduce/published.csv`, which names its
//! sources.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::float_cmp,
    reason = "a test that cannot go on says so and fails"
)]

use std::path::Path;
use std::process::Command;

/// A point of a figure: series, x, what is published (least and most), and what comes out.
struct Point {
    series: String,
    x: String,
    published: Option<(f64, f64)>,
    ours: Option<f64>,
}

/// Runs a script; its points, after a look at the picture and at the line that it prints.
fn figure(name: &str) -> Vec<Point> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let commands = Path::new(env!("CARGO_BIN_EXE_pf-collect")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let python = std::env::var_os("PHASEFLOW_TEST_PYTHON").expect("tests/run sets PHASEFLOW_TEST_PYTHON");
    let script = root.join("pipelines/reproduce").join(name).with_extension("py");
    let done = Command::new(python)
        .arg(script)
        .arg("--quick")
        .arg(out.path())
        .env("PATH", format!("{}:{path}", commands.display()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    let picture = std::fs::read_to_string(out.path().join(name).join("picture.svg")).unwrap();
    assert!(picture.contains("</svg>"), "{name}: {picture}");
    let mut lines = csv::ReaderBuilder::new().has_headers(false).from_reader(&done.stdout[..]);
    let line = lines.records().next().unwrap().unwrap();
    assert!(line.len() == 4 && line[0].starts_with(name), "{name}: {line:?}");
    let mut table = csv::Reader::from_path(out.path().join(name).join("table.csv")).unwrap();
    let number = |cell: &str| cell.parse().ok();
    let points = table.records().map(|row| {
        let row = row.unwrap();
        let published = number(&row[2]).zip(number(&row[3]));
        Point { series: row[0].into(), x: row[1].into(), published, ours: number(&row[4]) }
    });
    points.collect()
}

/// The points of a figure with a published value lie within this part of the published range.
fn agrees(name: &str, within: f64, points: usize) {
    let compared: Vec<Point> = figure(name).into_iter().filter(|point| point.published.is_some()).collect();
    assert_eq!(compared.len(), points, "{name}: points with a published value");
    for Point { series, x, published, ours } in compared {
        let ((least, most), ours) = (published.unwrap(), ours.unwrap());
        let fits = least * (1.0 - within) <= ours && ours <= most * (1.0 + within);
        assert!(fits, "{name}: {series}, {x}: published {least} to {most}, ours {ours}");
    }
}

/// Closed forms of full packets; fragments end with a short one, 4.4 % of the bytes.
/// The shorter transfer of the quick form has one round trip of start and end in it.
#[test]
fn windows_and_credits_limit_goodput() {
    agrees("usnic-window", 0.07, 8);
}

/// The paper's two closed forms, exactly.
#[test]
fn bytes_of_sums_in_the_network() {
    agrees("switchml-bytes", 1e-6, 8);
}

/// A simulation of the same rules by others; a shorter vector has fewer losses to average.
#[test]
fn loss_delays_sums_in_the_network() {
    agrees("switchml-loss", 0.15, 2);
}

/// Two simulations of the lab's protocol: without loss its two links, with loss the law of the
/// time-outs. 400 chunks at a loss of 1 % have a dozen time-outs, so only the large losses are
/// asked.
#[test]
fn loss_delays_chunks_of_the_lab() {
    for Point { series, x, published, ours } in figure("lab-loss") {
        let Some((published, _)) = published.filter(|_| x != "0.01") else { continue };
        let ours = ours.unwrap();
        let within = if x == "0" { 1e-3 } else { 0.15 };
        assert!((ours / published - 1.0).abs() < within, "{series}, {x}: published {published}, ours {ours}");
    }
}

/// Headers of ATP leave 75.15 Gbit/s of 100; a job has them whatever the number of its neighbours.
#[test]
fn jobs_with_aggregators_for_all_do_not_disturb_each_other() {
    let points = figure("atp-jobs");
    let atp = points.iter().filter(|point| point.series == "atp");
    let goodput: Vec<f64> = atp.map(|point| point.ours.unwrap()).collect();
    assert!(
        goodput.len() > 1 && goodput.iter().all(|rate| (0.97 * 75.15..75.15).contains(rate)),
        "{goodput:?}"
    );
}

/// The notes' dip: a message of one byte more than the eager limit is slower than one at it.
#[test]
fn exchange_dips_at_the_eager_limit() {
    let points = figure("usnic-exchange");
    for transport in ["usnic-4.1", "usnic-2013"] {
        let rate = |bytes: &str| {
            points.iter().find(|point| point.series == transport && point.x == bytes).unwrap().ours.unwrap()
        };
        assert!(rate("153545") < 0.97 * rate("153544"), "{transport}");
        assert!(rate("1048576") > rate("153545"), "{transport}: large messages make up for the answer");
    }
}

/// Few turns are found by all; many only by the method that does not split at mixtures.
#[test]
fn alternation_defeats_splitting_at_the_largest_difference() {
    let points = figure("a-b-a-b");
    let f1 = |method: &str| -> Vec<f64> {
        let of = points.iter().filter(|point| point.series == method);
        of.map(|point| point.ours.unwrap()).collect()
    };
    assert!(f1("rounds").iter().all(|f1| *f1 == 1.0), "{:?}", f1("rounds"));
    assert!(f1("jsd").first() == Some(&1.0), "{:?}", f1("jsd"));
}
