// Rust: an inner hot loop behind functions that only pass on.
extern "C" {
    fn truth_begin(phase: *const u8);
    fn truth_end(phase: *const u8);
}

struct Grid {
    cells: Vec<f64>,
    next: Vec<f64>,
}

impl Grid {
    fn diffuse(&mut self) {
        for i in 1..self.cells.len() - 1 {
            self.next[i] = 0.25 * (self.cells[i - 1] + 2.0 * self.cells[i] + self.cells[i + 1]).sqrt(); // truth: diffuse
        }
        std::mem::swap(&mut self.cells, &mut self.next);
    }

    fn step(&mut self, _k: usize) {
        unsafe { truth_begin(b"diffuse\0".as_ptr()) };
        self.diffuse();
        unsafe { truth_end(b"diffuse\0".as_ptr()) };
    }
}

fn run(grid: &mut Grid, steps: usize) {
    for k in 0..steps {
        grid.step(k);
    }
}

fn main() {
    let mut grid = Grid { cells: vec![1.5; 500_000], next: vec![0.0; 500_000] };
    run(&mut grid, 2000);
    println!("{}", grid.cells[5]);
}
