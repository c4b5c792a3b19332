// Rust: two threads of known work, a HashMap and a sort with iterators inlined into their callers.
use std::collections::HashMap;
use std::ffi::CString;
use std::os::raw::c_char;

extern "C" {
    fn truth_begin(phase: *const c_char);
    fn truth_end(phase: *const c_char);
}

fn phase<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let name = CString::new(name).unwrap();
    unsafe { truth_begin(name.as_ptr()) };
    let result = work();
    unsafe { truth_end(name.as_ptr()) };
    result
}

fn spin(n: u64) -> f64 {
    let mut x = 1.0f64;
    for _ in 0..n {
        x = x * 1.0000001 + 1e-9;
    }
    x
}

fn count(n: u64) -> u64 {
    let mut map: HashMap<u64, u64> = HashMap::new();
    for i in 0..n {
        *map.entry(i.wrapping_mul(2654435761) % 4099).or_insert(0) += i;
    }
    map.values().fold(0, |a, b| a ^ b)
}

fn sorted(n: u64) -> u64 {
    let mut v: Vec<u64> = (0..n).map(|i| i.wrapping_mul(2654435761) % 1000003).collect();
    v.sort();
    v[v.len() / 2]
}

fn main() {
    let heavy = std::thread::spawn(|| phase("heavy", || spin(450_000_000))); // inclusive: heavy
    let light = std::thread::spawn(|| phase("light", || spin(150_000_000))); // inclusive: light
    let counted = phase("count", || count(30_000_000)); // inclusive: count
    let middle = phase("sort", || (0..6).map(|_| sorted(2_000_000)).sum::<u64>()); // inclusive: sort
    println!("{:.6} {:.6} {} {}", heavy.join().unwrap(), light.join().unwrap(), counted, middle);
}
