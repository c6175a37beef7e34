//! Random programs, each made of the bytes of one input, with a shadow model that says what memory has to
//! hold afterwards: what the fuzz targets run, and the tests that replay what they found.
//!
//! | module | holds |
//! |---|---|
//! | [`api`] | what a program calls: the engine ([`suites::Pe`](crate::suites::Pe)), or the C names in a test of theirs |
//! | [`input`] | bytes read as numbers |
//! | [`alloc`] | memory management, section 9.3 of the OpenSHMEM text |
//! | [`strided`] | strided put and get, section 9.6 |
//! | [`teams`] | teams and collectives on them, sections 9.4 and 9.10 |
//! | [`corpus`] | the inputs that are kept |
pub mod alloc;
pub mod api;
pub mod corpus;
mod engine;
pub mod input;
pub mod strided;
pub mod teams;
