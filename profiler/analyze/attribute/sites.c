/* Attributes each sample context to one source line by itself, and to every line and function on
 * its stack inclusively. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/sites.h"

static enum err source_of(struct run *r, const char *recorded, uint32_t *index)
{
    const char *kept = run_text(r, recorded), *path = rules_path(r, recorded);
    FAIL_IF(!kept || !path, ERR_MEMORY, "no memory for the profile");
    *index = table_get(&r->source_by_path, (uintptr_t)path);
    if (*index != TABLE_NONE)
        return ERR_OK;
    size_t n = strlen(path);
    *index = (uint32_t)r->sources.count;
    TRY(vector_add(&r->sources,
                   (struct source){kept, path, 0, n > 3 && !strcmp(path + n - 3, ".py")}));
    return table_put(&r->source_by_path, (uintptr_t)path, *index);
}

/* The site of a line, or (line 0) of a function. */
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out)
{
    uint32_t file = 0, index;
    const char *name = run_text(r, function);
    TRY(source_of(r, recorded, &file));
    uint64_t key = table_mix(((uint64_t)file << 32) | (uint32_t)line, line ? 0 : (uintptr_t)name);
    index = table_get(&r->site_by_key, key);
    if (index == TABLE_NONE) {
        index = (uint32_t)r->sites.count;
        TRY(vector_add(&r->sites, (struct site){.file = file,
                                                .line = line,
                                                .begins = begins,
                                                .function = -1,
                                                .name = line ? NULL : name}));
        TRY(table_put(&r->site_by_key, key, index));
    }
    *out = (int)index;
    return ERR_OK;
}

static enum err frame_of(struct run *r, const struct tree_frame *f, uint32_t *index)
{
    uint64_t key = table_mix((uintptr_t)f->function, (uintptr_t)f->file);
    key = table_mix(table_mix(key, (uintptr_t)f->module), (uintptr_t)f->kind);
    key = table_mix(key, (uint32_t)f->line);
    *index = table_get(&r->frame_by_key, key);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->frames.count;
    TRY(vector_add(&r->frames, *f));
    return table_put(&r->frame_by_key, key, *index);
}

static enum err child_of(struct run *r, uint32_t parent, const struct tree_frame *f, uint32_t *node)
{
    uint32_t frame;
    TRY(frame_of(r, f, &frame));
    uint64_t key = table_mix(((uint64_t)parent << 32) | frame, 3);
    *node = table_get(&r->node_by_key, key);
    if (*node != TABLE_NONE)
        return ERR_OK;
    *node = (uint32_t)r->nodes.count;
    TRY(vector_add(&r->nodes, (struct tree_node){.parent = parent, .frame = frame}));
    return table_put(&r->node_by_key, key, *node);
}

/* The tree from the thread down to the leaf. */
static enum err path_of(struct image *im, const struct thread *t, const struct resolved *frames,
                        int count, uint32_t *node)
{
    struct run *r = im->run;
    const char *name = t->name && *t->name ? t->name : t->main ? "main" : "thread";
    TRY(child_of(r, TABLE_NONE,
                 &(struct tree_frame){.function = run_text(r, name), .kind = "thread"}, node));
    for (int i = count - 1; i >= 0; i--) {
        const struct resolved *f = &frames[i];
        const char *module = f->module ? rules_path(r, f->module) : NULL;
        struct tree_frame shown = {.function = run_text(r, f->function),
                                   .file = f->file ? rules_path(r, f->file) : NULL,
                                   .module = module,
                                   .line = f->line,
                                   .kind = f->python    ? "python"
                                           : f->inlined ? "inlined"
                                                        : "native"};
        TRY(child_of(r, *node, &shown, node));
    }
    return ERR_OK;
}

/* The frame that costs are attributed to: the first user line from the leaf, else the first line of
 * a library. -1 none. */
static int attributed_frame(const struct resolved *frames, int count)
{
    int library = -1;
    for (int i = 0; i < count; i++) {
        if (!frames[i].file || frames[i].line <= 0 || frames[i].class == FRAME_RUNTIME)
            continue;
        if (frames[i].class == FRAME_USER)
            return i;
        library = library < 0 ? i : library;
    }
    return library;
}

/* Threads that wait for a CPU have no stack: they may be anywhere in what they compute. */
static const char *module_of(const struct resolved *frames, int count, const struct costs *s)
{
    for (int i = 0; i < count; i++)
        if (frames[i].module && frames[i].class != FRAME_RUNTIME)
            return frames[i].module;
    for (int i = 0; i < count; i++)
        if (frames[i].module)
            return frames[i].module;
    if (count)
        return "[python without lines]";
    return s->wait > 0 && s->user + s->sys <= 0 ? "[waiting for a CPU]" : "[no stack]";
}

static enum err attribute_to_module(struct run *r, const char *module, const struct costs *s)
{
    struct counter *t = counter_of(&r->modules, NULL, rules_path(r, module), 0, 0, 0, 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the profile");
    TRY(vector_room(&r->module_costs, r->modules.count));
    r->module_costs.count = r->modules.count;
    costs_add(&r->module_costs.items[t - r->modules.items], s);
    return ERR_OK;
}

/* A line and its function get the costs once per stack, however often they are on it. */
static enum err attribute_to_frame(struct run *r, const struct resolved *f, const struct costs *s,
                                   int is_self, struct sample_context *context)
{
    int line, function;
    TRY(site_of(r, f->file, f->line, NULL, 0, &line));
    TRY(site_of(r, f->file, 0, f->function ? f->function : "[unknown]", f->begins, &function));
    if (r->sites.items[line].function < 0 || is_self)
        r->sites.items[line].function = function;
    r->sources.items[r->sites.items[line].file].user |=
        f->class == FRAME_USER && rules_own(f->file);
    r->sources.items[r->sites.items[line].file].python |= f->python;
    int both[] = {line, function};
    for (int i = 0; i < 2; i++) {
        struct site *site = &r->sites.items[both[i]];
        if (is_self)
            costs_add(&site->self, s);
        if (site->mark != r->marks)
            costs_add(&site->incl, s);
        site->mark = r->marks;
    }
    if (is_self) {
        context->site = line;
        context->function = function;
    }
    return ERR_OK;
}

static enum err attribute_context(struct image *im, struct sample_context *context,
                                  struct resolved *frames)
{
    struct run *r = im->run;
    struct costs *s = &context->costs;
    int interpreter, count = frames_of(im, context->stack, frames, RESOLVED_MAX, &interpreter);
    int chosen = attributed_frame(frames, count), python_below = 0;
    for (int i = 0; i < count; i++)
        python_below |= frames[i].python;
    *(interpreter && python_below ? &s->python : &s->native) = s->user;
    TRY(path_of(im, &im->threads.items[context->thread], frames, count, &context->node));
    struct tree_node *n = &r->nodes.items[context->node];
    n->cpu += s->user + s->sys;
    n->wait += s->wait;
    n->alloc += s->alloc;
    r->marks++;
    if (context->borrow && (chosen < 0 || !python_below)) {
        struct resolved *main_frames = frames + RESOLVED_MAX;
        int main_count =
            frames_of(im, context->borrow - 1, main_frames, RESOLVED_MAX, &interpreter);
        int main_chosen = attributed_frame(main_frames, main_count);
        if (main_chosen >= 0 && main_frames[main_chosen].python &&
            (chosen < 0 || frames[chosen].class != FRAME_USER)) {
            s->borrowed = s->user + s->sys;
            r->total.borrowed += s->borrowed;
            r->borrowed_alloc += s->alloc;
            memcpy(frames, main_frames, (size_t)main_count * sizeof *frames);
            count = main_count;
            chosen = main_chosen;
        }
    }
    costs_add(&r->total, &(struct costs){.user = s->user,
                                         .sys = s->sys,
                                         .wait = s->wait,
                                         .python = s->python,
                                         .native = s->native,
                                         .samples = s->samples,
                                         .cpu_square = s->cpu_square,
                                         .alloc = s->alloc,
                                         .allocs = s->allocs,
                                         .copied = s->copied});
    if (chosen < 0)
        return attribute_to_module(r, module_of(frames, count, s), s);
    for (int i = 0; i < count; i++)
        if (frames[i].file && frames[i].line > 0 &&
            (frames[i].class != FRAME_RUNTIME || i == chosen))
            TRY(attribute_to_frame(r, &frames[i], s, i == chosen, context));
    return ERR_OK;
}

static int costs_nothing(const struct costs *s)
{
    static const struct costs none;
    return !memcmp(s, &none, sizeof none);
}

enum err attribute_samples(struct image *im)
{
    struct resolved *frames = calloc(2 * RESOLVED_MAX, sizeof *frames);
    FAIL_IF(!frames, ERR_MEMORY, "no memory for the analysis");
    enum err e = ERR_OK;
    for (size_t i = 0; i < im->contexts.count && e == ERR_OK; i++)
        if (!costs_nothing(&im->contexts.items[i].costs))
            e = attribute_context(im, &im->contexts.items[i], frames);
    free(frames);
    return e;
}

/* A leaf below the launching stack, for what ran on the device. */
enum err attribute_device_leaf(struct image *im, uint32_t context, const char *name,
                               const char *kind, double ns)
{
    uint32_t node;
    if (ns <= 0)
        return ERR_OK;
    TRY(child_of(im->run, im->contexts.items[context].node,
                 &(struct tree_frame){.function = run_text(im->run, name), .kind = kind}, &node));
    im->run->nodes.items[node].gpu += ns;
    return ERR_OK;
}
