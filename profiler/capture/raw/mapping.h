/* Mappings of this process, by /proc/self/maps. Async-signal-safe. */
#ifndef TP_CAPTURE_RAW_MAPPING_H
#define TP_CAPTURE_RAW_MAPPING_H

#include <stdint.h>

#define RAW_MAPPING_ROOM 2048

/* Finds the bounds of the mapping that holds `address`; with a `name`, of a file whose path has it.
 * Leaves *low and *high where there is none. `buffer` has RAW_MAPPING_ROOM bytes. */
void raw_mapping_find(uintptr_t address, const char *name, char *buffer, uintptr_t *low,
                      uintptr_t *high);

#endif
