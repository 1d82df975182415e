//! The error type of all stages: a problem, and the places that lead to it, outermost first.

use std::fmt;
use std::io;

/// The kind of an error, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The data, a file or the run failed: exit 1.
    Data,
    /// The data is valid, but truncated: exit 1.
    Truncated,
    /// The request is invalid: exit 2.
    Usage,
    /// The reader of the output has closed the pipe: exit 0, silently.
    ClosedPipe,
}

/// A failure with its place. Displays as `place: place: … : problem`, for example
/// `run.tar.gz: rank-17.json: line 3: tx_bytes has 127 entries, expected 128 (n_procs)`.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    places: Vec<String>,
    problem: String,
    /// No place goes in front.
    is_placed: bool,
}

/// Result of functions of stages.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self { kind, places: Vec::new(), problem: problem.into(), is_placed: false }
    }

    /// Damaged or contradictory data, or an error of the operating system.
    pub fn data(problem: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, problem)
    }

    /// Data that ends before its end.
    pub fn truncated(problem: impl Into<String>) -> Self {
        Self::new(ErrorKind::Truncated, problem)
    }

    /// A request that is invalid for any input: an unknown name, a parameter out of range.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, problem)
    }

    /// The same error with `place` in front of its places.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        if !self.is_placed {
            self.places.insert(0, place.to_string());
        }
        self
    }

    /// The same error with complete places: an error in writing an output is not attributed to the
    /// input.
    #[must_use]
    pub fn placed(self) -> Self {
        Self { is_placed: true, ..self }
    }

    /// The outermost place.
    pub fn place(&self) -> Option<&str> {
        self.places.first().map(String::as_str)
    }

    /// The same error with advice for the user.
    #[must_use]
    pub fn advise(mut self, advice: &str) -> Self {
        self.problem = format!("{}; {advice}", self.problem);
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in &self.places {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        // An error of ours inside an `io::Error` keeps its kind and places.
        if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Error>) {
            if let Some(Ok(own)) =
                error.into_inner().map(<dyn std::error::Error + Send + Sync>::downcast::<Error>)
            {
                return *own;
            }
            return Self::data("input or output failed");
        }
        match error.kind() {
            io::ErrorKind::BrokenPipe => {
                Self::new(ErrorKind::ClosedPipe, "the reader of the output went away")
            }
            io::ErrorKind::UnexpectedEof => Self::truncated("ends too early: the file is truncated"),
            _ => Self::data(error.to_string()),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::other(error)
    }
}

/// Adds a place to whatever fails.
pub trait At<T> {
    /// Puts `place()` in front of the error's places; not evaluated on success.
    fn at<P: fmt::Display>(self, place: impl FnOnce() -> P) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for std::result::Result<T, E> {
    fn at<P: fmt::Display>(self, place: impl FnOnce() -> P) -> Result<T> {
        self.map_err(|error| error.into().at(place()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_from_the_outside_in() {
        let error = Error::data("tx_bytes has 127 entries, expected 128 (n_procs)")
            .at("line 3")
            .at("rank-17.json")
            .at("run.tar.gz");
        assert_eq!(
            error.to_string(),
            "run.tar.gz: rank-17.json: line 3: tx_bytes has 127 entries, expected 128 (n_procs)"
        );
    }

    #[test]
    fn an_output_that_fails_is_no_fault_of_the_input() {
        let full: io::Error = Error::data("No space left on device").at("out.tar").placed().into();
        assert_eq!(Error::from(full).at("in.tar").to_string(), "out.tar: No space left on device");
    }

    #[test]
    fn an_error_survives_an_io_interface() {
        let io: io::Error = Error::usage("no such router").at("--router").into();
        let back = Error::from(io);
        assert_eq!(back.kind(), ErrorKind::Usage);
        assert_eq!(back.to_string(), "--router: no such router");
    }

    #[test]
    fn a_closed_pipe_is_no_failure_of_the_data() {
        assert_eq!(Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).kind(), ErrorKind::ClosedPipe);
    }
}
