//! Ways to split a run into phases.
//!
//! A method gets what the first pass found and returns a plan. To add one: write a file with a type
//! that implements [`Split`], add it to [`Method`], and to the matches below.

mod clustered;
mod dbscan;
mod gmm;
mod idle;
mod jsd;
mod kmeans;
mod marks;
mod none;
mod optics;
pub(crate) mod rounds;
mod silhouette;
pub(crate) mod split;
mod windows;

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use crate::first_pass::survey::{Cuts, Run};
use split::{Answer, Limits, Split};

/// Names of all methods, the default first.
pub const NAMES: [&str; 9] =
    ["rounds", "kmeans", "dbscan", "optics", "gmm", "jsd", "marks", "windows", "none"];

/// A method and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// One cost over windows of whole rounds: the evidence that stretches differ against the price
    /// of a boundary.
    #[default]
    Rounds,
    /// k-means over windows; `k` fixed, or chosen by silhouette.
    KMeans(kmeans::KMeansMethod),
    /// DBSCAN over windows; the radius is fixed, or chosen from the distances.
    Dbscan(dbscan::DbscanMethod),
    /// OPTICS over windows.
    Optics(optics::OpticsMethod),
    /// Gaussian mixture over windows; `k` fixed, or chosen by BIC.
    Gmm(gmm::GmmMethod),
    /// Recursive splitting by Jensen-Shannon divergence.
    Jsd(jsd::JsdMethod),
    /// The user's marks (MPI_Pcontrol).
    Marks,
    /// Equal windows, each a phase of its own.
    Windows,
    /// One phase.
    None,
}

impl Method {
    /// The method that the user named.
    ///
    /// # Errors
    /// An unknown name, or a parameter that the method does not have or whose value is out of
    /// range.
    pub fn parse(choice: &Choice) -> Result<Self> {
        let method = match choice.name() {
            "rounds" => Self::Rounds,
            "kmeans" => Self::KMeans(kmeans::KMeansMethod::parse(choice)?),
            "dbscan" => Self::Dbscan(dbscan::DbscanMethod::parse(choice)?),
            "optics" => Self::Optics(optics::OpticsMethod::parse(choice)?),
            "gmm" => Self::Gmm(gmm::GmmMethod::parse(choice)?),
            "jsd" => Self::Jsd(jsd::JsdMethod::parse(choice)?),
            "marks" => Self::Marks,
            "windows" => Self::Windows,
            "none" => Self::None,
            other => return Err(unknown_name("method", other, &NAMES)),
        };
        if matches!(method, Self::Rounds | Self::Marks | Self::Windows | Self::None) {
            choice.only(&[])?;
        }
        Ok(method)
    }

    /// The name that [`parse`](Self::parse) takes.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::KMeans(_) => "kmeans",
            Self::Dbscan(_) => "dbscan",
            Self::Optics(_) => "optics",
            Self::Gmm(_) => "gmm",
            Self::Jsd(_) => "jsd",
            Self::Marks => "marks",
            Self::Windows => "windows",
            Self::None => "none",
        }
    }

    /// What the first pass has to cut: equal windows, at most `windows`, or others, or none.
    pub(crate) fn cuts(&self, windows: usize) -> Cuts {
        match self {
            Self::Rounds => Cuts::Rounds,
            Self::KMeans(_) | Self::Dbscan(_) | Self::Optics(_) | Self::Gmm(_) | Self::Jsd(_) => {
                Cuts::Equal(windows)
            }
            Self::Marks | Self::Windows | Self::None => Cuts::Nothing,
        }
    }

    pub(crate) fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        match self {
            Self::Rounds => rounds::RoundsMethod.split(run, limits),
            Self::KMeans(method) => method.split(run, limits),
            Self::Dbscan(method) => method.split(run, limits),
            Self::Optics(method) => method.split(run, limits),
            Self::Gmm(method) => method.split(run, limits),
            Self::Jsd(method) => method.split(run, limits),
            Self::Marks => marks::Marks.split(run, limits),
            Self::Windows => windows::EqualWindows.split(run, limits),
            Self::None => none::Whole.split(run, limits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_methods_and_back() {
        for name in NAMES {
            assert_eq!(Method::parse(&Choice::plain(name)).unwrap().name(), name);
        }
    }

    #[test]
    fn what_is_not_there_is_a_usage_error() {
        let error = |text| Method::parse(&Choice::parse(text).unwrap()).unwrap_err().to_string();
        assert_eq!(error("rounds[k=1]"), "unknown parameter of `rounds` `k` (there is none)");
        assert_eq!(
            error("kmean"),
            "unknown method `kmean`; did you mean kmeans? (known: rounds, kmeans, dbscan, optics, gmm, jsd, marks, windows, none)"
        );
        assert_eq!(error("kmeans[kk=3]"), "unknown parameter of `kmeans` `kk`; did you mean k? (known: k)");
        assert_eq!(error("kmeans[k=0]"), "`kmeans[k=0]`: k is 0, expected at least 1");
        assert_eq!(error("none[k=1]"), "unknown parameter of `none` `k` (there is none)");
    }
}
