/* Why something takes its time: rootcause.json and the same as rootcause.md. `load` and the
 * reports of recordings fill the model; here it is ranked, written and read. */
#ifndef TP_ROOTCAUSE_ROOTCAUSE_H
#define TP_ROOTCAUSE_ROOTCAUSE_H

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

#endif
