/* Why something takes its time: rootcause.json and the same as rootcause.md. `load` and the
 * reports of recordings fill the model; here it is ranked, written and read. */
#ifndef TP_ROOTCAUSE_ROOTCAUSE_H
#define TP_ROOTCAUSE_ROOTCAUSE_H

#include <stdio.h>

#include "base/json/json.h"
#include "base/rootcause/rootcause_fields.h"

#define ROOTCAUSE_SCHEMA "tomoprof-rootcause/1"

/* clang-format off */
ROOTCAUSE_STRUCTS(JSON_DEFINE)

struct rootcause {
    ROOTCAUSE_FIELDS(JSON_MEMBER)
    struct arena *arena;
};

ROOTCAUSE_STRUCTS(JSON_DECLARE)
extern const struct json_record record_rootcause;
/* clang-format on */

enum { ROOTCAUSE_MOST = 40 }; /* rows of each list that the functions below add to */

enum err rootcause_create(struct rootcause **out); /* all unknown, lists empty with room */
void rootcause_free(struct rootcause *r);          /* NULL is fine */

/* Rows beyond ROOTCAUSE_MOST are dropped. Texts are kept as they are: of the caller's arena, or
 * literals. `note`: NULL none. */
void rootcause_number(struct rootcause *r, const char *name, double value, const char *unit,
                      const char *note);
struct rootcause_cause *rootcause_cause(struct rootcause *r); /* NULL: no room */
void rootcause_action(struct rootcause *r, const struct rootcause_cause *of, const char *text,
                      double effort_days);
void rootcause_check(struct rootcause *r, const char *what, const char *state, const char *text);
void rootcause_question(struct rootcause *r, const char *text);

/* Puts causes and actions in order. */
void rootcause_rank(struct rootcause *r);

/* folder/rootcause.json and folder/rootcause.md. */
enum err rootcause_write(const struct rootcause *r, const char *folder);
/* *out: NULL where the folder has none. */
enum err rootcause_read(const char *folder, struct rootcause **out);
enum err rootcause_schema_write(const char *path);

/* A rule about root causes as a row of a table: profiler/findings has one of recordings, host/load
 * one of loading. A row that ends with more members begins with this struct. */

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
