//! The manual: its pages are linked and complete, their commands run, and those of the commands are
//! what the parsers say. README counts as a page of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]
#![cfg(unix)]

#[path = "slurm/mod.rs"]
mod cluster;
#[path = "manual/page.rs"]
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use page::{Page, pages};
use phaseflow_simulate::scenario::Axis;
use phaseflow_simulate::sweep;
use tempfile::TempDir;

const COMMANDS: [(&str, &str); 5] = [
    ("pf-collect", env!("CARGO_BIN_EXE_pf-collect")),
    ("pf-profile", env!("CARGO_BIN_EXE_pf-profile")),
    ("pf-report", env!("CARGO_BIN_EXE_pf-report")),
    ("pf-segment", env!("CARGO_BIN_EXE_pf-segment")),
    ("pf-simulate", env!("CARGO_BIN_EXE_pf-simulate")),
];
/// First lines of blocks that need more than the commands, and who runs them; `None`: nobody.
const APART: [(&str, Option<&str>); 4] = [
    ("# With Slurm", Some("tests/manual.rs, slurm")),
    ("# In a checkout", Some("tests/package.rs")),
    ("# On Debian", Some("tests/package.rs")),
    ("# With a container", None),
];
/// Columns of a line, and words of a sentence.
const COLUMNS: usize = 100;
const WORDS: usize = 25;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn pages_of_commands_are_what_the_parsers_say() {
    for (name, binary) in COMMANDS {
        let said = Command::new(binary).arg("--markdown").output().unwrap().stdout;
        let path = root().join(format!("docs/commands/{name}.md"));
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == String::from_utf8(said).unwrap(),
            "{} is stale: {name} --markdown > {}",
            path.display(),
            path.display()
        );
    }
}

#[test]
fn the_summary_names_each_page_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut named: Vec<String> = summary.links().into_iter().map(|link| format!("docs/{link}")).collect();
    named.sort();
    let there: Vec<String> = pages().into_iter().filter(|name| name.starts_with("docs/")).collect();
    assert_eq!(named, there);
}

/// Links of the book stay in the book: elsewhere, mdbook makes none that lead anywhere.
#[test]
fn links_lead_to_pages_and_headings() {
    let mut problems = Vec::new();
    for name in pages() {
        for link in Page::read(&name).links() {
            if link.starts_with("https://") || link.starts_with("http://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(&name).parent().unwrap();
            let target = if file.is_empty() { PathBuf::from(&name) } else { normal(&folder.join(file)) };
            let target = target.to_str().unwrap();
            if !root().join(target).exists() {
                problems.push(format!("{name}: {link}: there is no {target}"));
            } else if name.starts_with("docs/") && !target.starts_with("docs/") {
                problems.push(format!("{name}: {link} leaves the book"));
            } else if !heading.is_empty() && !Page::read(target).anchors().contains(&heading.to_owned()) {
                problems.push(format!("{name}: {link}: {target} has no such heading"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            normal.pop()
        } else {
            normal.push(part);
            true
        };
    }
    normal
}

#[test]
fn lines_and_sentences_are_short() {
    let mut problems = Vec::new();
    for name in pages() {
        let page = Page::read(&name);
        let wide = page.prose().filter(|(_, line)| line.chars().count() > COLUMNS);
        problems.extend(wide.map(|(number, _)| format!("{name}:{number}: more than {COLUMNS} columns")));
        for (number, sentence) in page.sentences() {
            let words = sentence.split_whitespace().count();
            if words > WORDS {
                problems.push(format!("{name}:{number}: {words} words: {sentence}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn comments_of_sources_are_narrow() {
    let mut folders: Vec<PathBuf> =
        ["collect", "segment", "simulate", "report", "profiler", "src", "tests", "fuzz/src"]
            .map(|name| root().join(name))
            .into();
    let mut problems = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().zip(1..);
            let wide = lines
                .filter(|(line, _)| line.trim_start().starts_with("//") && line.chars().count() > COLUMNS);
            problems.extend(wide.map(|(_, number)| format!("{}:{number}", path.display())));
        }
    }
    assert!(problems.is_empty(), "more than {COLUMNS} columns:\n{}", problems.join("\n"));
}

/// Runs a block of shell lines in a folder with the commands on PATH. Standard output and error in
/// one.
fn shell(folder: &Path, lines: &str, settings: &[(String, String)]) -> Output {
    let built = Path::new(COMMANDS[0].1).parent().unwrap();
    let path = format!("{}/bin:{}:{}", folder.display(), built.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("exec 2>&1\nset -euo pipefail\n{lines}")]).current_dir(folder);
    bash.env("PATH", path)
        .env("PHASEFLOW_BIN", built)
        .env("SCRATCH", folder)
        .env("PHASEFLOW", root())
        .stdin(Stdio::null());
    // Open MPI as root, and with more processes than cores.
    bash.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    bash.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
    bash.envs(settings.iter().map(|(name, value)| (name, value))).output().unwrap()
}

/// A folder with the files that examples name.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("tests/manual/inputs.sh");
    let done = shell(folder.path(), &format!("bash {} {}", script.display(), root().display()), &[]);
    assert!(done.status.success(), "inputs.sh: {}", String::from_utf8_lossy(&done.stdout));
    folder
}

/// Runs the blocks of a page one after the other in one folder, and compares what they print with
/// the block of text that follows.
fn run_page(name: &str) {
    let folder = prepared();
    for block in Page::read(name).shell() {
        if block.tag().is_some() {
            continue;
        }
        let done = shell(folder.path(), &block.lines, &[]);
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{name}:{}: {}\n{}\n{said}", block.number, done.status, block.lines);
        if let Some(missing) = block.missing_in(&said) {
            panic!("{name}:{}: `{missing}` does not come out of\n{}\n{said}", block.number, block.lines);
        }
    }
}

/// A test for each page with commands.
macro_rules! run {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            run_page($page);
        })*

        const RUN: &[&str] = &[$($page),*];
    };
}

run! {
    commands_of_the_readme_run: "README.md",
    examples_of_pf_collect_run: "docs/commands/pf-collect.md",
    examples_of_pf_profile_run: "docs/commands/pf-profile.md",
    examples_of_pf_report_run: "docs/commands/pf-report.md",
    examples_of_pf_segment_run: "docs/commands/pf-segment.md",
    examples_of_pf_simulate_run: "docs/commands/pf-simulate.md",
    commands_about_choices_run: "docs/choices.md",
    commands_about_clusters_run: "docs/clusters.md",
    commands_about_errors_run: "docs/errors.md",
    commands_about_extending_run: "docs/extending.md",
    commands_about_averages_run: "docs/per-phase.md",
    commands_about_flows_run: "docs/models-flow.md",
    commands_about_the_gallery_run: "docs/gallery.md",
    commands_about_packets_run: "docs/models-packet.md",
    commands_about_other_tools_run: "docs/importing.md",
    commands_about_plugins_run: "docs/plugins.md",
    commands_about_profiling_run: "docs/profiling.md",
    commands_about_routing_run: "docs/routing.md",
    commands_about_scenarios_run: "docs/scenarios.md",
    commands_about_segmentation_run: "docs/segmentation.md",
    commands_about_tcp_run: "docs/models-tcp.md",
    commands_about_topologies_run: "docs/topologies.md",
    commands_of_the_tutorial_run: "docs/tutorial.md",
}

#[test]
fn each_page_with_commands_is_run() {
    let with_commands = pages().into_iter().filter(|name| !Page::read(name).shell().is_empty());
    let with_commands: BTreeSet<String> = with_commands.collect();
    assert_eq!(with_commands, RUN.iter().map(|name| (*name).to_owned()).collect());
    for name in &with_commands {
        for block in Page::read(name).shell() {
            let known = |tag: &str| APART.iter().any(|(known, _)| tag.starts_with(known));
            assert!(block.tag().is_none_or(known), "{name}:{}: {:?}", block.number, block.tag());
        }
    }
}

/// README's table has the choices of each axis.
#[test]
fn readme_names_all_choices() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for axis in Axis::ALL {
        let begin = format!("| `--{}` | ", axis.key().replace('_', "-"));
        let row = readme.lines().find_map(|line| line.strip_prefix(&begin)).unwrap();
        let named: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let known = sweep::names(axis).into_iter().filter(|name| *name != "exec");
        assert_eq!(named, known.collect::<Vec<_>>(), "{axis}");
    }
}

/// Of lists, completions offer the first name; all text is allowed all the same.
#[test]
fn completions_offer_names() {
    let folder = TempDir::new().unwrap();
    for (command, option, begun, expected) in [
        ("pf-simulate", "--router", "gr", "greedy greedy-max"),
        ("pf-simulate", "--model", "", "traffic flow packet auto"),
        ("pf-simulate", "--host-selector", "e", "exec:"),
        ("pf-simulate", "--collective", "sw", "switchml switchml-lab"),
        ("pf-simulate", "--order", "a", "adapter"),
        ("pf-report", "--table", "p", "phases path"),
        ("pf-report", "--plots", "s", "svg"),
        ("pf-segment", "--method", "ro", "rounds"),
        ("pf-collect", "--from", "p", "phaseflow pfprof paraver"),
    ] {
        let function = format!("_{}", command.replace('-', "__"));
        let lines = format!(
            "source <({command} --completions bash)\nset +eu\nCOMP_WORDS=({command} {option} '{begun}')\n\
             COMP_CWORD=2\n{function} {command} '{begun}' {option}\necho \"${{COMPREPLY[@]}}\""
        );
        let done = shell(folder.path(), &lines, &[]);
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), expected, "{command} {option} {begun}");
    }
}

mod slurm {
    use super::{Page, cluster::Cluster, pages, prepared, shell};

    /// Blocks for clusters, on one of a single node.
    #[test]
    fn blocks_run() {
        let mut cluster = Cluster::up();
        let settings: Vec<(String, String)> = cluster
            .command("srun")
            .get_envs()
            .map(|(name, value)| (name.to_str().unwrap().into(), value.unwrap().to_str().unwrap().into()))
            .chain([("SLURM_MPI_TYPE".into(), "pmix".into()), ("SLURM_NTASKS".into(), "2".into())])
            .collect();
        let mut count = 0;
        for name in pages() {
            let mut blocks = Page::read(&name).shell();
            blocks.retain(|block| block.tag().is_some_and(|tag| tag.starts_with("# With Slurm")));
            if blocks.is_empty() {
                continue;
            }
            let folder = prepared();
            for block in blocks {
                let done = shell(folder.path(), &block.lines, &settings);
                cluster.drain();
                let said = String::from_utf8_lossy(&done.stdout);
                assert!(done.status.success(), "{name}:{}: {}\n{said}", block.number, block.lines);
                if let Some(missing) = block.missing_in(&said) {
                    panic!(
                        "{name}:{}: `{missing}` does not come out of\n{}\n{said}",
                        block.number, block.lines
                    );
                }
                count += 1;
            }
        }
        assert!(count > 0);
    }
}
