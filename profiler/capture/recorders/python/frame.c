/* Reads one frame of CPython, as it lies in memory. */
#include "profiler/capture/recorders/python/read.h"

int python_read_frame(struct python_unwind *w, uintptr_t address, int plainly,
                      struct python_frame *f)
{
    const struct python_layout *l = w->l;
    uint8_t copy[112];
    size_t bytes = l->frame_object ? l->instruction + 4u : l->owner + 2u;
    if (bytes > sizeof copy || address % sizeof address)
        return 0;
    const uint8_t *head = python_see(w, address, bytes, plainly, copy);
    if (!head)
        return 0;
    memcpy(&f->previous, head + l->previous, sizeof f->previous);
    memcpy(&f->code, head + l->code, sizeof f->code);
    f->code &= ~(uintptr_t)l->tag;
    f->shim = l->shim_owner && head[l->owner] >= l->shim_owner;
    f->entry = l->frame_object || (l->entry && head[l->entry]);
    if (l->frame_object) {
        int32_t at;
        uintptr_t type;
        memcpy(&at, head + l->instruction, sizeof at);
        memcpy(&type, head + sizeof type, sizeof type);
        f->at = l->lines == PYTHON_LINES && at > 0 ? at * 2 : at;
        return type == python_runtime.frame_type;
    }
    uintptr_t instruction;
    memcpy(&instruction, head + l->instruction, sizeof instruction);
    f->at = (intptr_t)(instruction - f->code - l->instructions);
    return 1;
}
