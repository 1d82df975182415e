//! A command's documentation, made from its parser: the manual page (roff) and its page of
//! docs/commands (Markdown). What stands after the options in `--help` becomes the examples of
//! both.
//!
//! That text consists of blocks between blank lines. An indented line is of the shell; all else is
//! prose, and `Examples:` a heading.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::{Arg, ArgAction, Command};

/// Largest number of columns of a line of prose in Markdown.
const COLUMNS: usize = 100;
const COMMANDS: [&str; 5] = ["pf-profile", "pf-collect", "pf-segment", "pf-simulate", "pf-report"];

/// A part of the text after the options.
enum Part {
    Prose(String),
    Shell(Vec<String>),
}

fn parts(command: &Command) -> Vec<Part> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    let mut is_new = true;
    for line in text.lines() {
        match (line.strip_prefix("  "), parts.last_mut()) {
            _ if line.trim().is_empty() => {
                is_new = true;
                continue;
            }
            (Some(shell), Some(Part::Shell(lines))) if !is_new => lines.push(shell.to_owned()),
            (Some(shell), _) => parts.push(Part::Shell(vec![shell.to_owned()])),
            (None, Some(Part::Prose(prose))) if !is_new => *prose += &format!(" {line}"),
            (None, _) if line == "Examples:" => {}
            (None, _) => parts.push(Part::Prose(line.to_owned())),
        }
        is_new = false;
    }
    parts
}

/// Writes the manual page of a command.
///
/// # Errors
/// Those of `out`.
pub fn write_man(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    writeln!(out, ".SH EXAMPLES")?;
    for part in parts(command) {
        match part {
            Part::Prose(prose) => writeln!(out, ".PP\n{}", roff(&prose))?,
            Part::Shell(lines) => {
                writeln!(out, ".PP\n.RS 4\n.nf")?;
                lines.iter().try_for_each(|line| writeln!(out, "{}", roff(line)))?;
                writeln!(out, ".fi\n.RE")?;
            }
        }
    }
    writeln!(out, ".SH EXIT STATUS\n0 done, 1 a failure of the data or of the machine, 2 wrong usage.")?;
    let others = COMMANDS.iter().filter(|name| **name != command.get_name());
    let others: Vec<String> = others.map(|name| format!("\\fB{}\\fR(1)", roff(name))).collect();
    writeln!(out, ".SH SEE ALSO\n{}", others.join(", "))?;
    man.render_version_section(out)
}

/// A line of text in roff: no escapes, no request, and dashes that can be copied.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// The page of a command in docs/commands.
pub fn markdown(command: &Command) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let mut page = format!("# {}\n\n", command.get_name());
    page += "<!-- Made by --markdown of the command; tests/manual.rs compares them. -->\n\n";
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    paragraphs(&mut page, &about.unwrap_or_default(), "");
    let _ = writeln!(page, "```text\n{usage}\n```\n\n## Examples\n");
    for part in parts(&command) {
        match part {
            Part::Prose(prose) => paragraphs(&mut page, &prose, ""),
            Part::Shell(lines) => {
                let _ = writeln!(page, "```sh\n{}\n```\n", lines.join("\n"));
            }
        }
    }
    let shown: Vec<&Arg> = command.get_arguments().filter(|argument| !argument.is_hide_set()).collect();
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown.iter().map(|argument| heading(argument)) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for title in headings {
        let _ = writeln!(page, "## {title}\n");
        let of_title = shown.iter().filter(|argument| heading(argument) == title);
        of_title.for_each(|argument| item(&mut page, argument));
    }
    format!("{}\n", page.trim_end())
}

fn heading(argument: &Arg) -> &str {
    let usual = if argument.is_positional() { "Arguments" } else { "Options" };
    argument.get_help_heading().unwrap_or(usual)
}

/// An option or argument as an item of a list.
fn item(page: &mut String, argument: &Arg) {
    let names = argument.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ");
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let dashed = [
        argument.get_short().map(|short| format!("-{short}")),
        argument.get_long().map(|long| format!("--{long}")),
    ];
    let mut name = dashed.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if takes_value {
        name = format!("{name} {value}").trim().to_owned();
    }
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
    let mut help = help.unwrap_or_default();
    let defaults = argument.get_default_values();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        help += &format!(" [default: `{}`]", defaults.join(","));
    }
    let _ = writeln!(page, "- `{name}`\n");
    paragraphs(page, &help, "  ");
    let values = argument.get_possible_values();
    if takes_value && !argument.is_hide_possible_values_set() && !values.is_empty() {
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let text = match value.get_help() {
                Some(help) => format!("- `{}`: {}", value.get_name(), escaped(&help.to_string())),
                None => format!("- `{}`", value.get_name()),
            };
            fill(page, &text, "  ", "    ");
        }
        page.push('\n');
    }
}

/// Appends paragraphs of a help text, each wrapped and indented, with a blank line after it.
fn paragraphs(page: &mut String, text: &str, indent: &str) {
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        fill(page, &escaped(paragraph), indent, indent);
        page.push('\n');
    }
}

/// Appends words in lines of at most [`COLUMNS`], the first with an indent of its own.
fn fill(page: &mut String, text: &str, first: &str, others: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(page, "{line}");
            line = others.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(page, "{line}");
}

/// Text in which nothing is markup but what stands between backticks.
fn escaped(text: &str) -> String {
    let mut is_code = false;
    let mut escaped = String::new();
    for letter in text.chars() {
        is_code ^= letter == '`';
        if !is_code && matches!(letter, '*' | '<' | '>' | '\\' | '[' | ']' | '_') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let file = Arg::new("file").value_name("FILE").help("What to *read*, `a*b`");
        let size =
            Arg::new("size").long("size").short('s').value_name("N").default_value("3").help("How many");
        Command::new("pf-try")
            .version("1")
            .disable_help_flag(true)
            .disable_version_flag(true)
            .about("Tries <things>")
            .args([file, size])
            .after_help("Examples:\n  pf-try a-b\n  .x 'y'\n\nIn a script:\n  pf-try \\n")
    }

    #[test]
    fn a_page_has_usage_examples_and_options() {
        let expected = "# pf-try\n\n\
            <!-- Made by --markdown of the command; tests/manual.rs compares them. -->\n\n\
            Tries \\<things\\>\n\n\
            ```text\nUsage: pf-try [OPTIONS] [FILE]\n```\n\n\
            ## Examples\n\n```sh\npf-try a-b\n.x 'y'\n```\n\nIn a script:\n\n```sh\npf-try \\n\n```\n\n\
            ## Arguments\n\n- `<FILE>`\n\n  What to \\*read\\*, `a*b`\n\n\
            ## Options\n\n- `-s, --size <N>`\n\n  How many \\[default: `3`\\]\n";
        assert_eq!(markdown(&command()), expected);
    }

    /// A line that begins with a point is no request, and a backslash no escape.
    #[test]
    fn examples_of_a_manual_page_keep_their_lines() {
        let mut page = Vec::new();
        write_man(&command(), &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let expected = ".SH EXAMPLES\n.PP\n.RS 4\n.nf\npf\\-try a\\-b\n\\&.x 'y'\n.fi\n.RE\n.PP\nIn a script:\n\
            .PP\n.RS 4\n.nf\npf\\-try \\en\n.fi\n.RE\n.SH EXIT STATUS\n";
        assert!(page.contains(expected), "{page}");
    }

    #[test]
    fn words_fill_lines() {
        let mut page = String::new();
        fill(&mut page, &"word ".repeat(30), "- ", "  ");
        let lines: Vec<usize> = page.lines().map(str::len).collect();
        assert_eq!(lines, [96, 56]);
    }
}
