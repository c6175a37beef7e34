//! Graphs: operations with their dependencies, recorded once and launched many times.
//!
//! | module | holds |
//! |---|---|
//! | [`work`] | what a node does |
//! | [`model`] | graphs as programs build them: nodes, dependencies, handles |
//! | [`capture`] | streams whose operations become nodes |
//! | [`exec`] | instantiated graphs: their order, launches, updates |
//! | `run` | one launch: which thread runs which node |
//! | `pool` | the threads that run branches |

pub mod capture;
pub mod exec;
pub mod model;
mod pool;
mod run;
pub mod work;
