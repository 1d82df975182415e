//! `pf-report --plots` on results worked out by hand (tests/example).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use quick_xml::events::Event;
use serde_json::json;

fn report(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.args(arguments).current_dir(directory).output().unwrap()
}

fn with_result(archive: Vec<u8>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("r.tar.gz"), archive).unwrap();
    directory
}

/// Pictures by name.
fn plots(archive: Vec<u8>, format: &str) -> BTreeMap<String, Vec<u8>> {
    let directory = with_result(archive);
    let output = report(directory.path(), &["r.tar.gz", "-o", "out", "--plots", format]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries =
        fs::read_dir(directory.path().join("out/plots")).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// The words of a picture, in order; it has to be well-formed.
fn words(svg: &[u8]) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_reader(svg);
    let (mut words, mut in_text, mut buffer) = (Vec::new(), false, Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).unwrap() {
            Event::Start(start) => in_text = start.name().as_ref() == "text",
            Event::End(_) => in_text = false,
            Event::Text(text) if in_text => words.push(text.to_string()),
            Event::Eof => return words,
            _ => {}
        }
        buffer.clear();
    }
}

/// A flow-like pair of runs of 2 s and 4 s.
fn timed() -> Vec<u8> {
    let [mut slow, mut fast] = example::runs();
    for (run, seconds) in [(&mut slow, 4.0), (&mut fast, 2.0)] {
        run.labels.model = "flow".into();
        run.statistics.makespan_s = Some(seconds);
    }
    example::archive(json!({}), &[slow, fast])
}

#[test]
fn pictures_say_what_the_result_says() {
    let plots = plots(timed(), "svg");
    let names: Vec<&str> = plots.keys().map(String::as_str).collect();
    let expected = [
        "links-a_2a.svg",
        "links-halo.svg",
        "matrix-a_2a.svg",
        "matrix-halo.svg",
        "runs.svg",
        "speed-up.svg",
        "timeline.svg",
    ];
    assert_eq!(names, expected);
    assert_eq!(words(&plots["runs.svg"]), ["Time of each run", "greedy", "2 s", "dmodk", "4 s"]);
    assert_eq!(
        words(&plots["speed-up.svg"]),
        ["Speed-up against the first run", "greedy", "2", "dmodk", "1"]
    );
    let links = words(&plots["links-a_2a.svg"]);
    assert!(links.ends_with(&["dmodk".into(), "greedy".into()]), "{links:?}");
    assert!(links.contains(&"200 %".into()), "{links:?}");
}

/// Without simulated times runs are compared by their highest utilization, and have no speed-up.
#[test]
fn recorded_times_are_no_speed_up() {
    let plots = plots(example::example(), "svg");
    let expected = ["Highest utilization of a link in each run", "greedy", "100 %", "dmodk", "200 %"];
    assert_eq!(words(&plots["runs.svg"]), expected);
    assert!(!plots.contains_key("speed-up.svg"));
}

/// PNG has the same at two pixels a unit; the halo's one pair is the brightest cell of its matrix.
#[test]
fn pixels() {
    let (vectors, pixels) = (plots(timed(), "svg"), plots(timed(), "png"));
    assert_eq!(vectors.len(), pixels.len());
    for (name, bytes) in &pixels {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut image = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut image).unwrap();
        let svg = String::from_utf8(vectors[&name.replace("png", "svg")].clone()).unwrap();
        let size = |key: &str| {
            let value = svg.split_once(&format!(" {key}=\"")).unwrap().1.split_once('"').unwrap().0;
            value.parse::<f64>().unwrap()
        };
        let expected = (2.0 * size("width"), 2.0 * size("height"));
        assert_eq!((f64::from(info.width), f64::from(info.height)), expected, "{name}");
        if name == "matrix-halo.png" {
            // The panel begins 46 units from the left; above it are two lines of title and a gap.
            let above = size("height") - 290.0 + 8.0;
            let at = |rank: f64| 2.0 * (240.0 * (rank + 0.5) / 4.0);
            let colour = |src: f64, dst: f64| {
                let (x, y) = (92.0 + at(dst), 2.0 * above + at(src));
                let at = 4 * (y as usize * info.width as usize + x as usize);
                [image[at], image[at + 1], image[at + 2]]
            };
            assert!(colour(0.0, 1.0)[0] > 240, "{:?}", colour(0.0, 1.0));
            assert!(colour(1.0, 0.0)[0] < 20, "{:?}", colour(1.0, 0.0));
        }
    }
}

#[test]
fn hostile_names_are_text() {
    let mut load = example::workload();
    load.name = "<script>alert(1)</script>".into();
    load.segmentation.phases[0].title = "\"><script>\u{1b}]0;x\u{7}".into();
    let archive = example::archive_of(json!({}), &example::network(), &load, &example::runs());
    for (name, svg) in plots(archive, "svg") {
        words(&svg);
        let svg = String::from_utf8(svg).unwrap();
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{name}: {svg}");
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let directory = with_result(example::example());
    for (arguments, expected) in [
        (&["r.tar.gz", "--plots", "svg"][..], "pf-report: --plots writes files: add -o DIR\n"),
        (
            &["r.tar.gz", "-o", "out", "--plots", "pgn"],
            "pf-report: unknown picture format `pgn`; did you mean png? (known: svg, png)\n",
        ),
    ] {
        let output = report(directory.path(), arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
        assert_eq!(output.status.code(), Some(2));
        assert!(!directory.path().join("out").exists());
    }
}
