/* Findings of a probe of `doctor`, in words, and questions that several probes ask. */
#ifndef TP_CLI_DOCTOR_FOUND_H
#define TP_CLI_DOCTOR_FOUND_H

#include <stddef.h>
#include <stdio.h>

#define FOUND_BYTES 600

enum state { OK, LIMITED, MISSING };

struct found {
    char text[FOUND_BYTES];
    const char *consequence, *fix; /* in the place of the table's where this case has its own */
};
#define SAY(f, ...) snprintf((f)->text, sizeof(f)->text, __VA_ARGS__)
void found_add(struct found *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first line of a file, "" when it cannot be read. */
char *probe_line(const char *path, char *out, size_t n);
int probe_in_wsl(void);

#endif
