/* Numbers, texts and bytes between this process and a child that reads a file for it. One function
 * passes a thing both ways: it writes into a wire, or fills the thing from it. What comes from a child
 * is checked by who takes it. */
#ifndef TP_BASE_JAIL_WIRE_H
#define TP_BASE_JAIL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define WIRE_ROOM 65536
#define WIRE_TEXT 8192 /* bytes of a text at most; longer ones are cut where they are written */

struct store_wire {
    int fd, writes;
    int jailed; /* in the child, whose jail passes write(2) alone */
    int broken; /* nobody is at the other end, or what came is not a text: all that is read is 0 */
    struct arena *arena; /* of texts that are read */
    size_t used, at;     /* bytes in `data`; of those, how many were read */
    unsigned char data[WIRE_ROOM];
};

void wire_bytes(struct store_wire *w, void *bytes, size_t n);
void wire_number(struct store_wire *w, int64_t *v);
void wire_real(struct store_wire *w, double *v);
void wire_int(struct store_wire *w, int *v);
void wire_text(struct store_wire *w, const char **text); /* NULL stays NULL */
/* Sends what was written. 0: nobody takes it. */
int wire_flush(struct store_wire *w);

#endif
