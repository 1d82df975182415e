//! Values of options that are free text, of which a shell can offer the usual ones.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};

/// Any text, for which completions offer names: a list with parameters begins with one of them.
#[derive(Clone)]
pub struct Offered(Vec<&'static str>);

impl Offered {
    /// Text for which these names are offered.
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self(names.into_iter().collect())
    }
}

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_free() {
        let router = Arg::new("router").long("router").value_parser(Offered::new(["dmodk", "greedy"]));
        let matches = Command::new("x").arg(router).get_matches_from(["x", "--router", "dmodk,exec:a b"]);
        assert_eq!(matches.get_one::<String>("router").unwrap(), "dmodk,exec:a b");
    }
}
