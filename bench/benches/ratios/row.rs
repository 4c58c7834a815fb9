//! A row of the table and its measurement.

use std::hint::black_box;
use std::time::Instant;

/// The number of samples of each side.
pub fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(15)
}

/// A row of the table, without its figures.
pub struct Row {
    pub work: String,
    pub unit: &'static str,
    pub yardstick: &'static str,
    pub budget: Option<f64>,
}

impl Row {
    /// Measures both sides in turn and prints the row.
    pub fn measure(&self, mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) {
        let samples: Vec<(f64, f64)> = (0..=rounds()).map(|_| (ours(), theirs())).collect();
        // The first sample is a warm-up.
        self.print(&samples[1..]);
    }

    pub fn print(&self, samples: &[(f64, f64)]) {
        let mut ours: Vec<f64> = samples.iter().map(|(ours, _)| *ours).collect();
        let mut theirs: Vec<f64> = samples.iter().map(|(_, theirs)| *theirs).collect();
        let mut ratios: Vec<f64> = samples.iter().map(|(ours, theirs)| ours / theirs).collect();
        println!(
            "{}\tRust\t{}\t{:e}\t{}\t{:e}\t{:e}\t{:e}\t{:e}\t{}",
            self.work,
            self.unit,
            quantile(&mut ours, 0.5),
            self.yardstick,
            quantile(&mut theirs, 0.5),
            quantile(&mut ratios, 0.5),
            quantile(&mut ratios, 0.25),
            quantile(&mut ratios, 0.75),
            self.budget.map(|budget| budget.to_string()).unwrap_or_default(),
        );
    }
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

/// The seconds of one call, averaged over `times` calls.
pub fn seconds<T>(times: usize, mut work: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        black_box(work());
    }
    start.elapsed().as_secs_f64() / times as f64
}

/// The number of calls on `size` items for a sample of some milliseconds.
pub fn times(size: usize) -> usize {
    (20_000 / size).max(1)
}
