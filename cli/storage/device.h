/* The place on a GPU that `load` fills: memory pinned by the back end, and a buffer on the device.
 */
#ifndef TP_CLI_STORAGE_DEVICE_H
#define TP_CLI_STORAGE_DEVICE_H

#include "host/load/load.h"

/* ERR_UNSUPPORTED: this machine or this build has no GPU that it can use. */
enum err device_open(struct load_device *out);
void device_close(struct load_device *d); /* all zero is fine */

#endif
