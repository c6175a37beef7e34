//! The rewriter against texts written by hand, against generated ones, and through a real compiler.
mod compiled;
mod golden;
mod os_threads;
mod unchanged;

use super::rewrite::{Source, apply};

fn rewritten(text: &str) -> String {
    let edits = Source::new(text.as_bytes()).edits();
    let edits = edits.unwrap_or_else(|failure| panic!("{text}\n{failure:?}"));
    String::from_utf8(apply(text.as_bytes(), edits)).expect("edits keep the encoding")
}

/// The same where GPU threads are OS threads.
fn rewritten_for_os_threads(text: &str) -> String {
    let edits = Source::new(text.as_bytes()).os_threads(true).edits();
    let edits = edits.unwrap_or_else(|failure| panic!("{text}\n{failure:?}"));
    String::from_utf8(apply(text.as_bytes(), edits)).expect("edits keep the encoding")
}
