// Rust: a HashMap whose code comes from the standard library, and a loop of its own.
use std::collections::HashMap;

extern "C" {
    fn truth_begin(phase: *const u8);
    fn truth_end(phase: *const u8);
}

fn words(n: u64) -> usize {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for i in 0..n {
        *counts.entry(i.wrapping_mul(2654435761) % 50021).or_insert(0) += 1; // truth: words
    }
    counts.len()
}

fn smooth(v: &mut Vec<f64>) {
    for _ in 0..60 {
        for i in 1..v.len() - 1 {
            v[i] = (v[i - 1] + v[i] + v[i + 1]) / 3.0; // truth: smooth
        }
    }
}

fn main() {
    unsafe { truth_begin(b"words\0".as_ptr()) };
    let n = words(30_000_000);
    unsafe { truth_end(b"words\0".as_ptr()) };
    let mut v = vec![1.0; 600_000];
    unsafe { truth_begin(b"smooth\0".as_ptr()) };
    smooth(&mut v);
    unsafe { truth_end(b"smooth\0".as_ptr()) };
    println!("{} {}", n, v[5]);
}
