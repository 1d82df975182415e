//! How near each method comes to the truth of labelled runs: a table of methods and families, the
//! means, and the worst family.
//!
//! `-- --list` lists the families; an unknown option prints all options. A quick look takes
//! seconds: `cargo bench -p phaseflow-segment --bench segment -- --ranks 16,64 --seeds 1 --methods
//! kmeans`.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod losses;
mod run;
mod speed;
mod table;

use std::process::ExitCode;

use arguments::Arguments;
use phaseflow_collect::pattern::{FAMILIES, PROGRAM_FAMILIES};
use run::Sample;
use table::Table;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    if arguments.list {
        let families = FAMILIES.iter().chain(&PROGRAM_FAMILIES);
        families.for_each(|family| println!("{:<14}{}", family.name, family.about));
    } else if let Some(messages) = &arguments.speed {
        speed::print(messages, &arguments.ranks, &arguments.methods);
    } else {
        quality(&arguments);
    }
    ExitCode::SUCCESS
}

fn quality(arguments: &Arguments) {
    let mut table = Table::new();
    for family in &arguments.families {
        for ranks in &arguments.ranks {
            for seed in &arguments.seeds {
                let mut run = family.run(*ranks, arguments.messages(*ranks), *seed).unwrap();
                run.disturbance = arguments.disturbance(run.disturbance);
                let sample = Sample::new(&run);
                if arguments.runs {
                    println!("{} {ranks} ranks, seed {seed}: {}", family.name, sample.program);
                }
                for method in &arguments.methods {
                    for level in arguments.levels_of(family) {
                        let result = sample.measure(method, level);
                        if arguments.runs {
                            println!("  {:<24}{result}", format!("{} {}", method.name(), level.name()));
                            print!("{}", result.losses);
                        }
                        let row = format!("{}{}", family.name, level.suffix());
                        table.add(method.name(), &row, *ranks, &result);
                    }
                }
            }
        }
    }
    print!("{table}");
}
