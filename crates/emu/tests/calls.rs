//! The calls that the device headers say they wait in are known to the library, so that hang reports name them.
use dushmem_core::error::Call;
use std::path::Path;

#[test]
fn every_call_that_waits_has_a_name() {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/dushmem/impl");
    let mut calls = 0;
    for header in ["coll_move.h", "coll_reduce.h", "coll_sync.h", "../../../kernels/move.cu"] {
        let text = std::fs::read_to_string(headers.join(header)).expect("the header");
        // Names of calls are the last argument; names of arguments are too, elsewhere.
        for (before, _) in text.match_indices("\")").map(|(at, end)| (&text[..at], end)) {
            let (_, name) = before.rsplit_once('"').expect("a string begins");
            if !["dest", "source"].contains(&name) && !name.contains(' ') {
                assert!(Call::named(name) != Call::None, "{header}: {name}");
                calls += 1;
            }
        }
    }
    assert!(calls >= 10, "{calls} calls found");
}
