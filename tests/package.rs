//! What is installed works by itself: a prefix, the Debian package in a fresh system, the static
//! build. The quickstart runs from the installed commands and gives the verdict that README quotes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]
#![cfg(target_os = "linux")]

#[path = "manual/page.rs"]
mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use page::Page;

const COMMANDS: [&str; 5] = ["pf-collect", "pf-profile", "pf-report", "pf-segment", "pf-simulate"];
/// PATH without cargo and without the commands of these tests.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the commands that were built for these tests.
fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_pf-collect")).parent().unwrap()
}

/// A command with nothing in its environment but PATH.
fn bare(program: impl AsRef<std::ffi::OsStr>, path: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path);
    command
}

fn done(mut command: Command) -> Output {
    let shown = format!("{command:?}");
    let output = command.output().unwrap_or_else(|error| panic!("{shown}: {error}"));
    assert!(output.status.success(), "{shown}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn said(command: Command) -> String {
    String::from_utf8(done(command).stdout).unwrap()
}

/// The quickstart says what README quotes.
fn is_quoted(text: &str) {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let quoted = readme.lines().filter_map(|line| line.strip_prefix("> "));
    let quoted: Vec<&str> = quoted.map(|line| line.trim_end_matches('\\')).collect();
    let verdict: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(quoted.join(" "), verdict.join(" "));
}

fn install(prefix: &Path, commands: &Path) {
    let mut script = Command::new(root().join("packaging/install"));
    script.arg(prefix).arg(commands);
    done(script);
}

#[test]
fn a_prefix_works_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    install(&prefix, built());
    let mut quickstart = bare(
        prefix.join("share/phaseflow/pipelines/quickstart.sh"),
        &format!("{}:{SYSTEM}", prefix.join("bin").display()),
    );
    quickstart.current_dir(folder.path());
    is_quoted(&said(quickstart));
    for command in COMMANDS {
        for file in [
            format!("share/man/man1/{command}.1"),
            format!("share/bash-completion/completions/{command}"),
            format!("share/zsh/site-functions/_{command}"),
            format!("share/fish/vendor_completions.d/{command}.fish"),
        ] {
            assert!(fs::metadata(prefix.join(&file)).unwrap().len() > 500, "{file}");
        }
    }
}

/// In a checkout, too, commands that are installed are taken; there is no cargo on this PATH.
#[test]
fn pipelines_take_installed_commands() {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("pipelines/quickstart.sh");
    let mut quickstart = bare(&script, &format!("{}:{SYSTEM}", built().display()));
    is_quoted(&said({
        quickstart.current_dir(folder.path());
        quickstart
    }));
    // One command is not enough, and outside of a checkout there is nothing to build.
    let alone = folder.path().join("alone");
    fs::create_dir(&alone).unwrap();
    for file in ["quickstart.sh", "build.sh"] {
        fs::copy(root().join("pipelines").join(file), alone.join(file)).unwrap();
    }
    let found = folder.path().join("found");
    fs::create_dir(&found).unwrap();
    std::os::unix::fs::symlink(built().join("pf-collect"), found.join("pf-collect")).unwrap();
    let output =
        bare(alone.join("quickstart.sh"), &format!("{}:{SYSTEM}", found.display())).output().unwrap();
    let expected =
        "quickstart.sh: the commands of PhaseFlow are not on PATH; name their directory in PHASEFLOW_BIN\n";
    assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), (expected, Some(1)));
}

/// The paths of the recipe for Spack are right; Spack itself is not at hand.
#[test]
fn recipe_for_spack_installs() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("target")).unwrap();
    std::os::unix::fs::symlink(built(), source.join("target/release")).unwrap();
    for part in ["packaging", "pipelines", "tests", "docs", "README.md", "CHANGELOG.md"] {
        std::os::unix::fs::symlink(root().join(part), source.join(part)).unwrap();
    }
    for part in ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"] {
        std::os::unix::fs::symlink(root().join(part), source.join(part)).unwrap();
    }
    let prefix = folder.path().join("prefix");
    let mut recipe = Command::new("/usr/bin/python3");
    recipe.arg(root().join("tests/manual/spack.py")).arg(root().join("packaging/spack/package.py"));
    recipe.arg(&source).arg(&prefix);
    done(recipe);
    assert!(prefix.join("bin/pf-simulate").is_file());
    assert!(prefix.join("stage/quickstart/index.html").is_file());
}

/// Runs a command inside of a fresh Debian system.
fn inside(system: &Path, words: &[&str]) -> Command {
    let mut command = bare("chroot", SYSTEM);
    command.arg(system).args(words);
    command
}

/// The package, of the commands of these tests: a release build takes too long for a test.
fn package() -> PathBuf {
    let mut script = Command::new(root().join("packaging/deb"));
    script.arg(built()).arg("--fast");
    PathBuf::from(said(script).trim())
}

#[test]
#[ignore = "needs root, debootstrap and cargo-deb"]
fn debian_package_in_a_fresh_system() {
    let package = package();
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("system");
    let mut fresh = Command::new("debootstrap");
    fresh.args(["--variant=minbase", "bookworm"]).arg(&system);
    done(fresh);
    fs::copy(&package, system.join("tmp/phaseflow.deb")).unwrap();
    // dpkg refuses a package whose dependencies are not there: all are.
    done(inside(&system, &["dpkg", "--install", "/tmp/phaseflow.deb"]));
    for command in COMMANDS {
        let version = said(inside(&system, &[command, "--version"]));
        assert_eq!(version, format!("{command} {}\n", env!("CARGO_PKG_VERSION")));
        let page = format!("usr/share/man/man1/{command}.1.gz");
        assert!(system.join(&page).is_file(), "{page}");
        let completions = format!("usr/share/bash-completion/completions/{command}");
        assert!(system.join(&completions).is_file(), "{completions}");
    }
    let copyright = fs::read_to_string(system.join("usr/share/doc/phaseflow/copyright")).unwrap();
    assert!(copyright.contains("MIT OR Apache-2.0"), "{copyright}");
    let quickstart = ["sh", "-c", "cd /tmp && /usr/share/phaseflow/pipelines/quickstart.sh report"];
    is_quoted(&said(inside(&system, &quickstart)));
    assert!(system.join("tmp/report/index.html").is_file());
    done(inside(&system, &["dpkg", "--purge", "phaseflow"]));
    assert!(!system.join("usr/bin/pf-report").exists() && !system.join("usr/share/phaseflow").exists());
}

/// The four stages after recording, without any shared library.
#[test]
#[ignore = "needs the Rust target x86_64-unknown-linux-musl"]
fn static_build_of_the_stages() {
    let mut script = Command::new(root().join("packaging/static"));
    script.args(["--profile", "dev"]);
    let archive = said(script);
    let folder = tempfile::tempdir().unwrap();
    let mut unpack = Command::new("tar");
    unpack.args(["-xzf", archive.trim(), "-C"]).arg(folder.path());
    done(unpack);
    let prefix = folder.path().join("phaseflow-static");
    for stage in ["pf-collect", "pf-segment", "pf-simulate", "pf-report"] {
        let bytes = fs::read(prefix.join("bin").join(stage)).unwrap();
        // A program with shared libraries names the loader that finds them.
        let has_loader = bytes.windows(3).take(4096).any(|window| window == b"ld-");
        assert!(bytes.starts_with(b"\x7fELF") && !has_loader, "{stage}");
    }
    // An empty system: no library, no shell.
    let recording = prefix.join("share/phaseflow/tests/data/quickstart.trace.tar.gz");
    fs::copy(recording, prefix.join("bin/run.tar.gz")).unwrap();
    let summary = said(inside(&prefix.join("bin"), &["/pf-collect", "/run.tar.gz", "--summary"]));
    assert!(summary.contains("\nmessages: 21364\n"), "{summary}");
}

/// The commands that README gives for a checkout and for Debian, with a release build.
#[test]
#[ignore = "takes a release build, and needs cargo-deb"]
fn release_commands_of_the_readme() {
    let home = tempfile::tempdir().unwrap();
    let blocks = Page::read("README.md").shell();
    let begins = |block: &&page::Block| {
        block
            .tag()
            .is_some_and(|tag| ["# In a checkout", "# On Debian"].iter().any(|begin| tag.starts_with(begin)))
    };
    let mut count = 0;
    for block in blocks.iter().filter(begins) {
        // The package is built, and only looked at: it is installed into a system of its own above.
        let lines = block.lines.replace("sudo dpkg --install", "dpkg --info");
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("set -euo pipefail\n{lines}")]).current_dir(root());
        bash.env("CARGO_INSTALL_ROOT", home.path().join("cargo"));
        // Cargo and rustup find their own folders by HOME.
        bash.env("CARGO_HOME", folder_of("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", folder_of("RUSTUP_HOME", ".rustup"));
        bash.env("HOME", home.path());
        done(bash);
        count += 1;
    }
    assert_eq!(count, 3);
    for folder in ["cargo/bin", "phaseflow/bin"] {
        for command in COMMANDS {
            assert!(home.path().join(folder).join(command).is_file(), "{folder}/{command}");
        }
    }
}

fn folder_of(variable: &str, usual: &str) -> PathBuf {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    std::env::var_os(variable).map_or_else(|| home.join(usual), PathBuf::from)
}
