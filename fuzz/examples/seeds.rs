//! Writes the seeds of each fuzz target into a folder of its name.
//!
//! ```text
//! cargo run --manifest-path fuzz/Cargo.toml --example seeds -- FOLDER
//! ```

use std::fs;
use std::path::PathBuf;

use todo_write::text::fnv1a;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("no folder named")?);
    for law in common::laws::LAWS.map(|(name, _)| name).into_iter().chain(["transcript"]) {
        let folder = folder.join(law);
        fs::create_dir_all(&folder)?;
        for seed in common::laws::seeds::seeds(law) {
            fs::write(folder.join(format!("seed-{:016x}", fnv1a(&seed))), seed)?;
        }
    }
    Ok(())
}
