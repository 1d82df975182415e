//! Means over runs, in the order in which they came.

use std::fmt;

use crate::run::Found;

/// Sums of one row.
#[derive(Clone, Debug, Default)]
struct Sums {
    runs: f64,
    scores: [f64; 4],
    seconds: f64,
    messages: u64,
}

impl Sums {
    fn add(&mut self, found: &Found) {
        let own = [found.boundary_f1, found.exact_f1, found.covering, found.label_ari];
        self.scores.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        self.runs += 1.0;
        self.seconds += found.seconds;
        self.messages += found.messages;
    }

    fn f1(&self) -> f64 {
        self.scores[0] / self.runs
    }
}

/// Rows by method and family, and by method and ranks.
pub(crate) struct Table {
    families: Vec<(String, String, Sums)>,
    ranks: Vec<(String, String, Sums)>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { families: Vec::new(), ranks: Vec::new() }
    }

    pub(crate) fn add(&mut self, method: &str, family: &str, ranks: u32, found: &Found) {
        add(&mut self.families, method, family, found);
        add(&mut self.ranks, method, &format!("{ranks} ranks"), found);
    }
}

fn add(rows: &mut Vec<(String, String, Sums)>, method: &str, name: &str, found: &Found) {
    match rows.iter_mut().find(|row| row.0 == method && row.1 == name) {
        Some(row) => row.2.add(found),
        None => {
            let mut sums = Sums::default();
            sums.add(found);
            rows.push((method.into(), name.into(), sums));
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| method | family | F1 | exact F1 | covering | label ARI | s a run | M messages/s |")?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        let mut methods: Vec<&str> = Vec::new();
        for (method, ..) in &self.families {
            if !methods.contains(&method.as_str()) {
                methods.push(method);
            }
        }
        for method in &methods {
            let of = |row: &&(String, String, Sums)| row.0 == *method;
            for (_, name, sums) in self.families.iter().filter(of).chain(self.ranks.iter().filter(of)) {
                line(f, method, name, sums)?;
            }
        }
        for method in &methods {
            let rows: Vec<_> = self.families.iter().filter(|row| row.0 == *method).collect();
            // The mean over families: each counts alike.
            let mut mean = Sums { runs: rows.len() as f64, ..Sums::default() };
            for (_, _, sums) in &rows {
                let scores = mean.scores.iter_mut().zip(sums.scores);
                scores.for_each(|(mean, sum)| *mean += sum / sums.runs);
                mean.seconds += sums.seconds / sums.runs;
                mean.messages += (sums.messages as f64 / sums.runs) as u64;
            }
            line(f, method, "mean", &mean)?;
            if let Some(worst) = rows.iter().min_by(|a, b| a.2.f1().total_cmp(&b.2.f1())) {
                line(f, method, &format!("worst: {}", worst.1), &worst.2)?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, method: &str, name: &str, sums: &Sums) -> fmt::Result {
    let [f1, exact, covering, ari] = sums.scores.map(|score| score / sums.runs);
    let (seconds, speed) = (sums.seconds / sums.runs, sums.messages as f64 / sums.seconds / 1e6);
    writeln!(
        f,
        "| {method} | {name} | {f1:.3} | {exact:.3} | {covering:.3} | {ari:.3} | {seconds:.3} | {speed:.1} |"
    )
}
