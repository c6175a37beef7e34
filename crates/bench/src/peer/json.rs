//! The results as JSON: every sample, and what the table says.
use crate::plan::Target;
use crate::results::{Estimate, Measured, Results};
use serde_json::{Map, Value, json};

/// The whole document.
pub fn document(results: &Results) -> String {
    let programs: Vec<Value> = results
        .programs
        .iter()
        .map(|program| json!({"title": program.title, "version": program.version}))
        .collect();
    let failures: Vec<Value> = results
        .failures
        .iter()
        .map(|failure| {
            json!({"program": failure.title, "pair": failure.pair, "job": failure.job, "why": failure.why})
        })
        .collect();
    let machine = &results.machine;
    let document = json!({
        "date": results.date,
        "machine": {
            "cpu": machine.cpu,
            "cpus": machine.cpus,
            "memory_mib": machine.memory,
            "virtual_machine": machine.virtual_machine,
            "system": machine.system,
            "kernel": machine.kernel,
        },
        "load_average": {"start": results.load[0], "end": results.load[1]},
        "programs": programs,
        "pairs": results.pairs,
        "rows": results.rows.iter().map(|row| row_value(results, row)).collect::<Vec<_>>(),
        "failures": failures,
    });
    format!("{document:#}\n")
}

fn row_value(results: &Results, measured: &Measured) -> Value {
    let by_program = |of: &dyn Fn(usize) -> Value, from: usize| -> Value {
        let titles = results.programs.iter().enumerate().skip(from);
        Value::Object(titles.map(|(at, program)| (program.title.to_string(), of(at))).collect::<Map<_, _>>())
    };
    let row = &measured.row;
    json!({
        "operation": row.label,
        "section": row.section,
        "pes": row.pes,
        "bytes": row.bytes,
        "unit": measured.unit,
        "target": match results.target(measured) {
            Some(Target::Ratio(most)) => json!({"ratio_at_most": most}),
            Some(Target::Most(most)) => json!({"at_most": most}),
            None => Value::Null,
        },
        "verdict": results.verdict(measured).word(),
        "samples": by_program(&|at| json!(measured.samples[at]), 0),
        "median": by_program(&|at| measured.figure(at).map_or(Value::Null, |found| json!(found.median)), 0),
        "ratio": by_program(&|at| measured.ratio(at).map_or(Value::Null, estimate), 1),
    })
}

fn estimate(found: Estimate) -> Value {
    json!({
        "median": found.median,
        "low": found.interval.low,
        "high": found.interval.high,
        "coverage": found.interval.coverage,
        "pairs": found.count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{results, row, some};

    #[test]
    fn all_samples_are_there() {
        let ours = [1.0, 2.0, 3.0];
        let found =
            results(vec![row("p \"8\"", Some(Target::Ratio(0.5)), &some(&ours), &[None, Some(4.0), None])]);
        let value: Value = serde_json::from_str(&document(&found)).unwrap();
        let row = &value["rows"][0];
        assert_eq!(row["operation"], "p \"8\"");
        assert_eq!(row["samples"]["dushmem"], json!(ours));
        assert_eq!(row["samples"]["Open MPI"], json!([null, 4.0, null]));
        assert_eq!(row["ratio"]["Open MPI"]["median"], 0.5);
        assert_eq!(row["verdict"], "met");
        assert_eq!(value["load_average"]["end"], json!([0.75, 0.75, 0.75]));
        assert!(value["machine"]["cpus"].as_u64() >= Some(1));
    }
}
