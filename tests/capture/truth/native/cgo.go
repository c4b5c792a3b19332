// Go with cgo: work in C, in Go, and in goroutines that the runtime moves between threads.
package main

/*
#cgo CFLAGS: -O2 -g
#include "spin.h"
#include "truth.h"
static double in_c(long n)
{
	double x = 1;
	SPIN(x, n); // truth: c
	return x;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sort"
)

func inGo(n int) float64 {
	x := 1.0
	for i := 0; i < n; i++ { // truth: go
		x = x*1.0000001 + 1e-9 // truth: go
	}
	return x
}

func sorted(n uint64) uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(i) * 2654435761 % 1000003
	}
	sort.Slice(v, func(a, b int) bool { return v[a] < v[b] }) // inclusive: sort
	return v[n/2]
}

func phase(name string, work func()) {
	text := C.CString(name)
	C.truth_begin(text)
	work()
	C.truth_end(text)
}

func main() {
	runtime.LockOSThread() // a phase begins and ends on one thread
	var x, y float64
	var z uint64
	phase("c", func() { x = float64(C.in_c(400000000)) })
	phase("go", func() { y = inGo(300000000) })
	phase("sort", func() {
		for i := 0; i < 3; i++ {
			z += sorted(1000000)
		}
	})
	done := make(chan float64)
	phase("goroutines", func() {
		for i := 0; i < 8; i++ {
			go func() {
				s := 1.0
				for i := 0; i < 40000000; i++ { // truth: goroutines
					s = s*1.0000001 + 1e-9 // truth: goroutines
				}
				done <- s
			}()
		}
		for i := 0; i < 8; i++ {
			<-done
		}
	})
	fmt.Printf("%.6f %.6f %d\n", x, y, z)
	C.truth_write() // Go's end does not run C's
}
