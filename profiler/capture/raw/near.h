/* Variables that a process needs at its start lie together: each page of them is a page fault. */
#ifndef TP_CAPTURE_RAW_NEAR_H
#define TP_CAPTURE_RAW_NEAR_H

/* Puts a variable of 64 bytes or more among the small ones (CMakeLists.txt), not among the tables. */
#define CAPTURE_NEAR __attribute__((aligned(16)))

/* Puts a variable of a few bytes among those that each short call looks at: after a system call,
 * each line of the cache is a wait of 4 ns, and so many calls have nothing else to wait for. */
#define CAPTURE_HOT __attribute__((section("capture_hot")))

/* For the declaration of such a one: without it the compiler takes its address from a table, for the
 * library may be another's, and reads it then. */
#define CAPTURE_OWN __attribute__((visibility("hidden")))

/* Puts a function among those that each short call runs: in pages of their own, for a program that
 * runs much else between two calls has lost the address of each page. */
#define CAPTURE_HOT_CODE __attribute__((hot))

#endif
