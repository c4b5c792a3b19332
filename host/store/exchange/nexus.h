/* Arrays of an NXtomo scan. */
#ifndef TP_STORE_EXCHANGE_NEXUS_H
#define TP_STORE_EXCHANGE_NEXUS_H

#include "host/store/store.h"

/* Puts the path of another array of the group of `name` into `path`, and returns it. */
const char *nexus_sibling(const char *name, const char *other, char path[1024]);
/* Finds the views by the name that lies in an NXdetector, and their image_key. *key is NULL: none;
 * ERR_INPUT: it cannot be read. */
enum err nexus_detector(struct store *s, struct store_alias *out, struct store_array **key);
/* Finds the rotation_angle of an NXsample that shares most of its path with the detector; NULL:
 * none. ERR_INPUT: what may be it cannot be read. */
enum err nexus_rotation(struct store *store, const char *data, struct store_array **out);

#endif
