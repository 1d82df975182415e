//! The input of a command.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use phaseflow_collect::{At, Error, Result};

/// The name of standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Bytes read at once.
const BUFFER: usize = 256 << 10;

/// A file, a directory or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// `-` or nothing.
    Standard,
    /// Anything else.
    Path(PathBuf),
}

impl Input {
    /// The inputs of a command line; none named means standard input.
    ///
    /// # Errors
    /// Standard input that is a terminal is a mistake: an archive cannot be typed.
    pub fn all(arguments: &[PathBuf]) -> Result<Vec<Self>> {
        let named = arguments.iter().map(|path| Self::of(path)).collect::<Vec<_>>();
        let inputs = if named.is_empty() { vec![Self::Standard] } else { named };
        if inputs.contains(&Self::Standard) && io::stdin().is_terminal() {
            return Err(Error::usage("no input: name a file, or pipe one in (see --help)"));
        }
        Ok(inputs)
    }

    /// The input that one argument names.
    pub fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Standard } else { Self::Path(path.into()) }
    }

    /// Opens a file or standard input.
    ///
    /// # Errors
    /// An error of the operating system, with the path.
    pub fn open(&self) -> Result<Box<dyn BufRead + Send>> {
        match self {
            Self::Standard => Ok(Box::new(BufReader::with_capacity(BUFFER, io::stdin()))),
            Self::Path(path) => {
                let file = File::open(path).at(|| path.display())?;
                Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
            }
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str(STANDARD_INPUT),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}
