//! Chooses the thresholds of recognition and prints its precision, recall and F1 on hand-labeled
//! pairs (`test/identity/README.md`): the invented ones, and those of recorded sessions if
//! `TODO_WRITE_CORPUS` names their folder.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml --bin identity [-- --mistakes]
//! ```

use common::labels::{Failure, Score, cross_validated, invented, recorded, total, transitions};
use todo_write::list::identity::{THRESHOLDS, Thresholds};

fn main() -> Result<(), Failure> {
    let invented = transitions(invented())?;
    let recorded = recorded().map(transitions).transpose()?.unwrap_or_default();
    if std::env::args().any(|argument| argument == "--mistakes") {
        invented.iter().chain(&recorded).for_each(|transition| print!("{}", transition.mistakes()));
    }
    println!("{:<38} precision  recall     F1", "");
    print("invented pairs, thresholds in the code", total(&invented, THRESHOLDS));
    if recorded.is_empty() {
        println!("TODO_WRITE_CORPUS is not set: thresholds are not chosen from the invented pairs.");
        return Ok(());
    }
    let (left_out, best) = cross_validated(&recorded);
    print("cross-validated, sessions left out", left_out);
    print("with the thresholds in the code", total(&recorded, THRESHOLDS));
    let Thresholds { kept, replaced } = THRESHOLDS;
    println!("thresholds in the code: kept {kept:.2}, replaced {replaced:.2}");
    println!("best on all sessions:   kept {:.2}, replaced {:.2}", best.kept, best.replaced);
    Ok(())
}

fn print(name: &str, score: Score) {
    let [precision, recall, f1] = [score.precision(), score.recall(), score.f1()];
    println!("{name:<38} {precision:>9.3}  {recall:>6.3}  {f1:>5.3}  ({})", score.counts());
}
