//! Runs an agent with a tool that is a Rust function, and a typed answer. A script takes the place of the model.

use ptc_workbench::model::{Reply, script};
use ptc_workbench::run;
use serde::Deserialize;

#[derive(Deserialize)]
struct City {
    name: String,
}

#[derive(Deserialize)]
struct Weather {
    celsius: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let call = Reply::calling([("temperature", r#"{"name": "Lyon"}"#)]);
    let step = run("How warm is it in Lyon?")
        .signature("{celsius :float}")
        .typed_tool("temperature", "(name :string) -> :float", "Returns the temperature in °C.", |city: City| {
            if city.name == "Lyon" { Ok(21.5) } else { Err(format!("unknown city {}", city.name)) }
        })
        .model(script([call, Reply::from(r#"{"celsius": 21.5}"#)]))
        .await;
    assert_eq!(step.calls[0].name, "temperature");
    assert!((step.into_typed::<Weather>()?.celsius - 21.5).abs() < 0.01);
    Ok(())
}
