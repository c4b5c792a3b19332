/* A rule about root causes as a row of a table: profiler/findings has one of recordings, host/load
 * one of loading. A row that ends with more members begins with this struct. */
#ifndef TP_ROOTCAUSE_RULE_H
#define TP_ROOTCAUSE_RULE_H

#include <stdio.h>

/* Rough days of work that an advice takes. */
#define EFFORT_SETTING 0.1
#define EFFORT_CODE    1.0
#define EFFORT_FORMAT  5.0 /* or another machine */

/* Thresholds are numbers in percent or units, which decide and stand in `fires`. */
#define SHARE(percent)   ((percent) / 100.0)
#define AS_TEXT(number)  AS_TEXT_(number)
#define AS_TEXT_(number) #number
#define PERCENT(number)  AS_TEXT(number) " %"

struct rule_advice {
    const char *text;
    double effort_days;
};

struct cause_rule {
    const char *id, *code; /* code: name of the rule in the docs; NULL none */
    const char *severity;  /* info, warning; NULL: not judged */
    const char *title;
    struct rule_advice advice[2];  /* text NULL: none */
    const char *refuted_by, *test; /* NULL: no test is known: not a root cause */
    const char *fires;             /* when, for the docs */
};

/* Finds the rule of an id in `count` rows of `size` bytes; NULL: there is none. */
const struct cause_rule *rule_find(const void *rows, size_t size, size_t count, const char *id);

/* Writes the rows as a table of Markdown. */
void rule_table(const void *rows, size_t size, size_t count, FILE *out);

#endif
