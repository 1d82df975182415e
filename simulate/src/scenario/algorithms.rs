//! Names of algorithms, PFSim's and ours.
//!
//! PFSim names Python classes by their module path (`pfsim.router.DmodKRouter`, `picosim.…` in the
//! paper's listing); only the last component counts. A class has the plain label of its algorithm,
//! so tables of both dialects agree. It behaves as PFSim's where ours differs; those rows of
//! [`CLASSES`] name the variant.

use std::path::Path;

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use super::axis::Axis;
use super::node::Node;

/// Axis, PFSim's class, our algorithm, the label it gets.
const CLASSES: &[(Axis, &str, &str, &str)] = &[
    (Axis::Scheduler, "FCFSScheduler", "fcfs[variant=pfsim]", "fcfs"),
    (Axis::HostSelector, "LinearHostSelector", "linear", "linear"),
    (Axis::HostSelector, "RandomHostSelector", "random", "random"),
    (Axis::ProcessMapper, "LinearProcessMapper", "block", "block"),
    (Axis::ProcessMapper, "CyclicProcessMapper", "cyclic", "cyclic"),
    (Axis::ProcessMapper, "RandomProcessMapper", "random", "random"),
    (Axis::Router, "DmodKRouter", "dmodk[variant=pfsim]", "dmodk"),
    (Axis::Router, "RandomRouter", "random", "random"),
    (Axis::Router, "GreedyRouter", "greedy", "greedy"),
    (Axis::Router, "GreedyRouter2", "greedy-max", "greedy-max"),
];

/// The alternatives that a scenario gives for an axis: a name, a comma-separated list of names,
/// `exec`, or a list of these.
pub(super) fn alternatives(axis: Axis, node: &Node, folder: &Path) -> Result<Vec<Choice>> {
    let mut choices = Vec::new();
    for item in node.list() {
        choices.extend(item_choices(axis, item, folder)?);
    }
    if choices.is_empty() {
        return Err(node.error(format!("{axis} is an empty list, expected one algorithm or more")));
    }
    Ok(choices)
}

fn item_choices(axis: Axis, node: &Node, folder: &Path) -> Result<Vec<Choice>> {
    if node.is_map() {
        let program = node.map(axis.key(), &["exec"])?.required(axis.key(), "exec")?;
        return Ok(vec![exec(program, folder)?]);
    }
    let text = node.text(axis.key(), "a name, name[key=value] or {exec: [program, …]}")?;
    match class_name(text) {
        Some(class) => Ok(vec![node.locate(class_choice(axis, class))?]),
        None => {
            let choices = node.locate(Choice::parse_list(text))?;
            Ok(choices.into_iter().map(|choice| with_file_beside(choice, folder)).collect())
        }
    }
}

/// The class of a dotted path, or of a bare name in CamelCase, which no algorithm of ours has.
pub(super) fn class_name(text: &str) -> Option<&str> {
    let is_path = text.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c));
    let class = text.rsplit('.').next()?;
    (is_path && class.starts_with(|c: char| c.is_ascii_uppercase())).then_some(class)
}

fn class_choice(axis: Axis, class: &str) -> Result<Choice> {
    match CLASSES.iter().find(|(of, name, ..)| (*of, *name) == (axis, class)) {
        Some((_, _, spelling, label)) => Ok(Choice::parse(spelling)?.labelled(label)),
        None => {
            let known: Vec<&str> = CLASSES.iter().filter(|row| row.0 == axis).map(|row| row.1).collect();
            Err(unknown_name(&format!("PFSim {axis}"), class, &known))
        }
    }
}

/// `exec: program` or `exec: [program, argument, …]`. A word that names a file beside the scenario
/// stands for that file.
fn exec(node: &Node, folder: &Path) -> Result<Choice> {
    let mut words = Vec::new();
    for word in node.list() {
        words.push(word.text("exec", "a program and its arguments")?);
    }
    if words.is_empty() {
        return Err(node.error("exec is an empty list, expected a program and its arguments"));
    }
    let found: Vec<String> = words.iter().map(|word| beside(folder, word)).collect();
    // Blanks separate words unless the words are a JSON list.
    let is_plain = !found.iter().any(|word| word.contains(char::is_whitespace));
    let program = if is_plain { found.join(" ") } else { serde_json::json!(found).to_string() };
    Ok(Choice::exec(&program).labelled(&format!("exec:{}", words.join(" "))))
}

/// A choice whose file, if it has one, is that beside the scenario.
fn with_file_beside(choice: Choice, folder: &Path) -> Choice {
    match choice.get("file").map(|file| beside(folder, file)) {
        Some(file) => choice.without("file").or_with("file", &file),
        None => choice,
    }
}

/// The file of that name beside the scenario if there is one, else the word itself.
fn beside(folder: &Path, word: &str) -> String {
    // The system searches PATH for a name without a folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = folder.join(word);
    if path.is_file() { path.to_string_lossy().into_owned() } else { word.into() }
}
