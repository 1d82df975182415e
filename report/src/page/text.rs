//! Text inside the page and its drawings.

use std::borrow::Cow;

/// `text` without what would act instead of being shown: control characters, and those that turn
/// the direction of what follows. Names of phases, hosts and files come from whoever made them.
/// Markup is text already for who writes the page.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || turns(c);
    if text.chars().any(acts) {
        Cow::Owned(text.chars().map(|c| if acts(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9, section 2).
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most `longest` characters, the rest an ellipsis.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    let text = shown(text);
    if text.chars().count() <= longest {
        return text.into_owned();
    }
    text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

/// `1 run`, `2 runs`.
pub(super) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_not_shown_as_it_is() {
        assert_eq!(shown("a\u{1b}[1m\u{202e}b\u{2067}"), "a\u{fffd}[1m\u{fffd}b\u{fffd}");
        assert_eq!(shown("<b> &\n\u{5d0}"), "<b> &\n\u{5d0}");
        assert_eq!(shortened("abcd", 3), "ab…");
    }
}
