//! `cargo chess schema`: JSON schemas of Chess.toml and of the JSON output, for editors and
//! scripts.

mod config;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::list;
use crate::cli::{SchemaArgs, SchemaOf};
use crate::error::Result;
use crate::events::Event;
use crate::stdout;

/// Prints the schema that `args` select to standard output.
pub(crate) fn run(args: &SchemaArgs) -> Result<()> {
    let schema = schema(args.of);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    stdout::print(&(text + "\n"))
}

fn schema(of: SchemaOf) -> Value {
    match of {
        SchemaOf::Config => config::schema(),
        SchemaOf::Events => printed::<Event>(
            "Events of cargo chess",
            "One line of `cargo chess test --message-format json`, and of `gate`, `replay` and `merge`.",
        ),
        SchemaOf::List => printed::<list::Line<'_>>(
            "The list of cargo chess",
            "One line of `cargo chess list --message-format json`.",
        ),
    }
}

/// The schema of a `T` as serde prints it: every field is present, and fields may be added later.
fn printed<T: JsonSchema>(title: &str, description: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.insert("description".to_owned(), description.into());
    schema.to_value()
}
