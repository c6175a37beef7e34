//! The rewriter against texts written by hand, against generated ones, and through a real compiler.
mod compiled;
mod golden;
mod unchanged;

use super::rewrite::{Source, apply};

fn rewritten(text: &str) -> String {
    let edits = Source::new(text.as_bytes()).edits();
    let edits = edits.unwrap_or_else(|failure| panic!("{text}\n{failure:?}"));
    String::from_utf8(apply(text.as_bytes(), edits)).expect("edits keep the encoding")
}
