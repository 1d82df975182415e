//! Names of graph files: `RUN-PHASE.graphml`, `RUN-JOB.PHASE.graphml`, `RUN-all.graphml`,
//! `RUN-snapshot-TIME.graphml`.

use crate::view::RunView;

/// A longer name of a phase could pass the 255 bytes of a file name; the phase's position stands
/// for it.
const LONGEST_PHASE: usize = 150;

/// The file of the phase at `position` among the job's.
pub(crate) fn of_phase(view: &RunView<'_>, job: u32, position: u32, phase: &str) -> String {
    let run = view.run.labels.run;
    let mut phase = safe(phase);
    if phase.len() > LONGEST_PHASE {
        phase = format!("phase-{position}");
    }
    if view.run.jobs.len() > 1 {
        format!("{run}-{job}.{phase}.graphml")
    } else {
        format!("{run}-{phase}.graphml")
    }
}

/// The file of all phases and jobs of the run.
pub(crate) fn of_run(view: &RunView<'_>) -> String {
    format!("{}-all.graphml", view.run.labels.run)
}

/// The file of a snapshot.
pub(crate) fn of_snapshot(view: &RunView<'_>, time_s: f64) -> String {
    format!("{}-snapshot-{time_s}.graphml", view.run.labels.run)
}

/// Letters, digits, `_`, `-` and `.` stay; every other byte becomes `%` and two hexadecimal digits,
/// so that no name leaves its folder and no two become one.
fn safe(name: &str) -> String {
    name.bytes().fold(String::new(), |mut safe, byte| {
        if byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) {
            safe.push(char::from(byte));
        } else {
            safe.push_str(&format!("%{byte:02X}"));
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_folder() {
        assert_eq!(safe("../a b%"), "..%2Fa%20b%25");
        assert_eq!(safe("phase_1-x.y"), "phase_1-x.y");
    }
}
