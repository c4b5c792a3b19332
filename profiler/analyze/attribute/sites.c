/* Attributes each sample context to one source line by itself, and to every line and function on
 * its stack inclusively. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/attribute/stack_tree.h"
#include "profiler/analyze/attribute/work.h"

/* The loops in which servers, consumers of jobs and programs with windows wait for what comes, and
 * libraries that sleep until others are done. */

struct loop {
    const char *file, *function; /* part of the path; NULL: any function */
};

/* "get", "Queue.get", but not "target". */
static int is_called(const char *function, const char *name)
{
    size_t n = strlen(function), k = strlen(name);
    return text_ends(function, name) && (n == k || function[n - k - 1] == '.');
}

static int is_loop(const struct resolved *f, int accepts)
{
    enum { ANYBODYS }; /* a server's only where the process accepts connections */
    static const struct loop loops[] = {
        [ANYBODYS] = {"/asyncio/base_events.py", "run_forever"},
        {"/socketserver.py", "serve_forever"}, /* http.server, wsgiref, werkzeug (Flask) */
        {"/uvicorn/server.py", NULL},
        {"/hypercorn/", "serve"},
        {"/gevent/baseserver.py", "serve_forever"},
        {"/gunicorn/arbiter.py", NULL},
        {"/gunicorn/workers/", NULL},
        {"/waitress/", "run"},
        {"/cheroot/server.py", "serve"},
        {"/tornado/platform/asyncio.py", "start"},
        {"/aiohttp/web.py", "run_app"},
        {"/grpc/_server.py", "wait_for_termination"},
        {"/celery/worker/", NULL},
        {"/rq/worker", "dequeue_job_and_maintain_ttl"},
        {"/queue.py", "get"},
        {"/tkinter/__init__.py", "mainloop"},
    };
    static const char *const native[] = {"g_main_loop_run",  "gtk_main",      "g_application_run",
                                         "QEventLoop::exec", "glutMainLoop",  "Tk_MainLoop",
                                         "SDL_WaitEvent",    "glfwWaitEvents"};
    for (size_t i = 0; f->python && f->file && f->function && i < sizeof loops / sizeof *loops; i++)
        if (strstr(f->file, loops[i].file) && (accepts || i != ANYBODYS) &&
            (!loops[i].function || is_called(f->function, loops[i].function)))
            return 1;
    for (size_t i = 0; !f->python && f->function && i < sizeof native / sizeof *native; i++)
        if (!strncmp(f->function, native[i], strlen(native[i])))
            return 1;
    return 0;
}

static int is_at(const struct resolved *f, const char *file, const char *function)
{
    return f->python && f->file && f->function && strstr(f->file, file) &&
           is_called(f->function, function);
}

/* Finds where an event loop of asyncio looks for events; below it are the coroutines that it waits
 * for. -1: it does not. */
static int serving_frame(const struct resolved *frames, int count)
{
    for (int i = 0; i + 1 < count; i++)
        if (is_at(&frames[i], "/selectors.py", "select"))
            return is_at(&frames[i + 1], "/asyncio/base_events.py", "_run_once") ? i : -1;
    return -1;
}

/* Takes frames from the innermost on. 1: the loop of a server, a consumer of jobs or a window
 * waits, and no own code below it does. `accepts`: the process takes connections of others; an
 * event loop that anybody may run is idle only then. */
static int serving_idle(const struct resolved *frames, int count, int accepts)
{
    int from = accepts ? serving_frame(frames, count) : 0;
    for (int i = from > 0 ? from : 0; i < count && frames[i].owner != OWNER_OWN; i++)
        if (is_loop(&frames[i], accepts))
            return 1;
    return 0;
}

/* Returns the kind of an event loop's wait by the coroutine that it waits for: a sleep, another
 * thread's work (WAITS_LOCK), or WAITS_EVENTS. */
static enum waits_for serving_awaits(const struct resolved *frames, int count)
{
    int first = 0, looks = serving_frame(frames, count), own;
    while (first < looks && !frames[first].python)
        first++;
    for (own = first; own < looks && frames[own].owner != OWNER_OWN; own++)
        if (is_at(&frames[own], "/asyncio/threads.py", "to_thread"))
            return WAITS_LOCK;
    if (first < looks && is_at(&frames[first], "/asyncio/tasks.py", "sleep"))
        return own == first + 1 ? WAITS_SLEEP : WAITS_POLL;
    return WAITS_EVENTS;
}

/* asyncio's subprocess.py too. */
static int is_of_child(const struct resolved *f)
{
    static const char *const files[] = {"/subprocess.py", "/multiprocessing/popen_fork.py"};
    for (size_t i = 0; f->python && f->file && i < sizeof files / sizeof *files; i++)
        if (strstr(f->file, files[i]))
            return 1;
    return 0;
}

/* Returns the kind of a wait below own code: a child where a library of Python's waits for its end or
 * its pipes, others where it sleeps in turns, WAITS_SLEEP where own code sleeps. */
static enum waits_for serving_waits(const struct resolved *frames, int count, enum waits_for waits)
{
    int first = 0, own, child = 0;
    if (waits != WAITS_SLEEP && waits != WAITS_EVENTS && waits != WAITS_IO)
        return waits;
    while (first < count && !frames[first].python)
        first++;
    for (own = first; own < count && frames[own].owner != OWNER_OWN; own++)
        child |= is_of_child(&frames[own]);
    if (child && own < count)
        return WAITS_CHILD;
    if (waits == WAITS_SLEEP)
        return own == first || own == count ? WAITS_SLEEP : WAITS_POLL;
    return waits == WAITS_EVENTS ? serving_awaits(frames, count) : waits;
}

/* Nodes of the tree of own lines, by parent and line (or function where a program has no lines). */

enum { CHAIN_MAX = 200 };

static int same_place(const struct resolved *a, const struct resolved *b)
{
    if (a->file && b->file)
        return a->file == b->file && a->line == b->line;
    return !a->file && !b->file && a->function == b->function && a->module == b->module;
}

/* 1: a frame of Python's import machinery. */
static int is_import(const struct resolved *f)
{
    static const char machinery[] = "<frozen importlib._bootstrap";
    return f->python && f->file && !strncmp(f->file, machinery, strlen(machinery));
}

static enum err own_child(struct run *r, uint32_t parent, uint64_t place, struct own_node like,
                          uint32_t *node)
{
    uint64_t key = table_mix(((uint64_t)parent << 1) + 1, table_mix(place, *like.kind));
    *node = table_get(&r->own_by_key, key);
    if (*node != TABLE_NONE)
        return ERR_OK;
    *node = (uint32_t)r->own.count;
    like.parent = parent;
    TRY(vector_add(&r->own, like));
    return table_put(&r->own_by_key, key, *node);
}

static enum err child_of_frame(struct run *r, uint32_t parent, const struct resolved *f,
                               uint32_t *node)
{
    int site = -1;
    uint64_t place = table_mix((uintptr_t)f->function, (uintptr_t)f->module);
    if (f->file) {
        TRY(site_of(r, f->file, f->line, NULL, 0, &site));
        place = (uint64_t)site + 1;
    }
    const struct own_node like = {.kind = "code",
                                  .site = site,
                                  .name = run_text(r, f->function),
                                  .module = f->module ? path_shown(r, f->module) : NULL};
    return own_child(r, parent, place, like, node);
}

enum err own_workers(struct run *r, uint32_t parent, int process, uint32_t *node)
{
    const struct own_node like = {.site = -1, .kind = "workers"};
    return own_child(r, parent, (uint64_t)process + 1, like, node);
}

/* 1: a thread beside the main one. */
static int thread_is_worker(const struct image *im, int row)
{
    for (size_t i = 0; i < im->threads.count; i++)
        if (im->threads.items[i].row == row)
            return !im->threads.items[i].main;
    return 0;
}

/* 1: the process runs its parent's program: a worker of a pool. */
static int image_is_worker(const struct image *im)
{
    const struct run *r = im->run;
    const struct model_process *p = &r->processes.items[im->index], *parent = NULL;
    for (size_t i = 0; i < r->processes.count && im->index; i++)
        if (r->processes.items[i].pid == p->parent || !i)
            parent = &r->processes.items[i];
    return parent && parent->program && p->program && !strcmp(parent->program, p->program);
}

/* 1: frames further out are those of the process that forked a worker of multiprocessing. */
static int is_worker_start(const struct resolved *f)
{
    return is_at(f, "/multiprocessing/process.py", "_bootstrap");
}

/* Adds the costs to the node of the own frames among `frames`, leaf first; its index in run.own.
 * A line that is on the stack several times is there once, at its innermost place. Node 0: no own
 * frame. */
static enum err own_tree_add(struct image *im, const struct resolved *frames, int count, int thread,
                             const struct costs *s, uint32_t *node)
{
    struct run *r = im->run;
    int chain[CHAIN_MAX], n = 0, importing = 0;
    for (int i = 0; i < count && n < CHAIN_MAX && !is_worker_start(&frames[i]); i++) {
        importing |= !n && is_import(&frames[i]);
        int k = n, is_own = frames[i].owner == OWNER_OWN;
        while (is_own && k > 0 && !same_place(&frames[chain[k - 1]], &frames[i]))
            k--;
        if (is_own && !k)
            chain[n++] = i;
    }
    if (!r->own.count)
        TRY(vector_add(&r->own, (struct own_node){TABLE_NONE, .site = -1, .kind = "run"}));
    *node = 0;
    for (int i = n - 1; i >= 0; i--)
        TRY(child_of_frame(r, *node, &frames[chain[i]], node));
    if (!n && (image_is_worker(im) || thread_is_worker(im, thread)))
        TRY(own_workers(r, 0, im->index, node));
    else if (importing)
        TRY(own_child(r, *node, 0, (struct own_node){.site = -1, .kind = "import"}, node));
    struct own_node *own = &r->own.items[*node];
    own->cpu += s->user + s->sys;
    own->samples += s->samples;
    own->wait += s->wait;
    return ERR_OK;
}

/* Makes the tree from the thread down to the leaf. */
static enum err sites_path(struct image *im, const struct thread *t, const struct resolved *frames,
                           int count, uint32_t *node)
{
    struct run *r = im->run;
    const char *name = t->name && *t->name ? t->name : t->main ? "main" : "thread";
    TRY(stack_tree_root(r, name, t->row, node));
    for (int i = count - 1; i >= 0; i--) {
        const struct resolved *f = &frames[i];
        const char *module = f->module ? path_shown(r, f->module) : NULL;
        struct tree_frame shown = {.function = run_text(r, f->function),
                                   .file = f->file ? path_shown(r, f->file) : NULL,
                                   .module = module,
                                   .line = f->line,
                                   .kind = f->python    ? "python"
                                           : f->inlined ? "inlined"
                                                        : "native"};
        TRY(stack_tree_child(r, *node, &shown, node));
    }
    return ERR_OK;
}

/* Threads that wait for a CPU have no stack: they may be anywhere in what they compute. */
static const char *sites_module(const struct resolved *frames, int count, const struct costs *s)
{
    const char *module = frames_module(frames, count);
    if (module)
        return module;
    if (count)
        return "[python without lines]";
    return s->wait > 0 && s->user + s->sys <= 0 ? "[waiting for a CPU]" : "[no stack]";
}

static enum err attribute_to_module(struct run *r, const char *module, const struct costs *s)
{
    struct counter *t = counter_of(&r->modules, NULL, path_shown(r, module), 0, 0, 0, 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the profile");
    TRY(vector_room(&r->module_costs, r->modules.count));
    r->module_costs.count = r->modules.count;
    costs_add(&r->module_costs.items[t - r->modules.items], s);
    return ERR_OK;
}

static enum err attribute_to_thread(struct run *r, int line, int thread, const struct costs *s,
                                    int is_self, int is_first)
{
    if (!is_self && !is_first)
        return ERR_OK;
    uint64_t key = table_mix((uint64_t)line, (uint64_t)thread);
    uint32_t at = table_get(&r->in_thread_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)r->in_threads.count;
        TRY(vector_add(&r->in_threads,
                       (struct in_thread){.site = (uint32_t)line, .thread = (uint32_t)thread}));
        TRY(table_put(&r->in_thread_by_key, key, at));
    }
    struct in_thread *t = &r->in_threads.items[at];
    t->incl += is_first ? s->user + s->sys : 0;
    t->cpu += is_self ? s->user + s->sys : 0;
    t->wait += is_self ? s->wait : 0;
    t->gpu += is_self ? costs_gpu(s) : 0;
    return ERR_OK;
}

/* A line and its function get the costs once per stack, however often they are on it. */
static enum err attribute_to_frame(struct run *r, const struct resolved *f, const struct costs *s,
                                   int thread, int is_self, struct attribution *to)
{
    int line, function;
    TRY(site_of(r, f->file, f->line, NULL, 0, &line));
    TRY(site_of(r, f->file, 0, f->function ? f->function : "[unknown]", f->begins, &function));
    if (r->sites.items[line].function < 0 || is_self)
        r->sites.items[line].function = function;
    r->sources.items[r->sites.items[line].file].user |= f->owner == OWNER_OWN;
    r->sources.items[r->sites.items[line].file].python |= f->python;
    TRY(attribute_to_thread(r, line, thread, s, is_self, r->sites.items[line].mark != r->marks));
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
        to->site = line;
        to->function = function;
    }
    return ERR_OK;
}

enum err attribute_stack(struct image *im, const struct resolved *frames, int count, int thread,
                         const struct costs *s, struct attribution *to)
{
    struct run *r = im->run;
    const struct resolved *chosen = frames_line(frames, count, OWNER_PACKAGE);
    *to = (struct attribution){.site = -1, .function = -1};
    r->marks++;
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
    TRY(own_tree_add(im, frames, count, thread, s, &to->own));
    if (!chosen)
        return attribute_to_module(r, sites_module(frames, count, s), s);
    for (int i = 0; i < count; i++)
        if (frames[i].file && frames[i].line > 0 &&
            (frames[i].owner != OWNER_RUNTIME || &frames[i] == chosen))
            TRY(attribute_to_frame(r, &frames[i], s, thread, &frames[i] == chosen, to));
    return ERR_OK;
}

/* Counts the missing parts of the stack. */
static enum err count_losses(struct run *r, const struct stack *stack,
                             const struct resolved *frames, int count, double cpu)
{
    if (!stack->known || cpu <= 0)
        return ERR_OK;
    r->q.no_line_ns += stack->no_line ? cpu : 0;
    r->q.python_cut_ns += stack->flags & TRACE_STACK_PYTHON_CUT && stack->python ? cpu : 0;
    r->q.deep_ns += stack->flags & TRACE_STACK_DEEP ? cpu : 0;
    if (!(stack->flags & TRACE_STACK_CUT) || stack->python)
        return ERR_OK; /* Python's own frames reach the root, or are counted as lost */
    r->q.cut_ns += cpu;
    const char *module = NULL;
    for (int i = count - 1; i >= 0 && !module; i--)
        module = frames[i].module;
    struct counter *c =
        counter_of(&r->cut_at, NULL, path_shown(r, module ? module : "[unknown]"), 0, 0, 0, 0);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the profile");
    c->value += cpu;
    return ERR_OK;
}

static int is_recorder(const char *module)
{
    return module && text_begins(base_name(module), "libtomoprof_capture");
}

static enum err attribute_context(struct image *im, struct sample_context *context,
                                  struct resolved *frames)
{
    struct run *r = im->run;
    struct costs *s = &context->costs;
    int interpreter, count = frames_of(im, context->stack, frames, RESOLVED_MAX, &interpreter);
    const struct resolved *chosen = frames_line(frames, count, OWNER_PACKAGE);
    int python_below = 0;
    if (count && is_recorder(frames[0].module)) {
        r->q.recorder_samples += s->samples;
        r->q.recorder_sampled_ns += s->user + s->sys;
    }
    TRY(count_losses(r, &im->stacks.items[context->stack], frames, count, s->user + s->sys));
    for (int i = 0; i < count; i++)
        python_below |= frames[i].python;
    *(interpreter && python_below ? &s->python : &s->native) = s->user;
    TRY(sites_path(im, &im->threads.items[context->thread], frames, count, &context->node));
    struct stack_work works[WORK_MODES];
    if (s->user + s->sys > 0) {
        struct resolved *inner = frames + RESOLVED_MAX;
        int inner_count = frames_inner(im, context->stack, inner, RESOLVED_MAX);
        TRY(work_find(im, inner, inner_count, frames, count, works));
    }
    struct tree_node *n = &r->nodes.items[context->node];
    n->cpu += s->user + s->sys;
    n->wait += s->wait;
    n->alloc += s->alloc;
    if (context->borrow && (!chosen || !python_below)) {
        struct resolved *main_frames = frames + RESOLVED_MAX;
        int main_count =
            frames_of(im, context->borrow - 1, main_frames, RESOLVED_MAX, &interpreter);
        const struct resolved *main_chosen = frames_line(main_frames, main_count, OWNER_PACKAGE);
        if (main_chosen && main_chosen->python && (!chosen || chosen->owner > OWNER_PACKAGE)) {
            s->borrowed = s->user + s->sys;
            r->total.borrowed += s->borrowed;
            r->heap.borrowed_alloc += s->alloc;
            memcpy(frames, main_frames, (size_t)main_count * sizeof *frames);
            count = main_count;
        }
    }
    struct attribution to;
    TRY(attribute_stack(im, frames, count, im->threads.items[context->thread].row, s, &to));
    TRY(work_add(r, to.own, works, s));
    context->own = to.own;
    context->site = to.site;
    context->function = to.function;
    context->idle |= s->wait > 0 && serving_idle(frames, count, im->accepts);
    if (s->wait > 0)
        context->waits = (int)serving_waits(frames, count, (enum waits_for)context->waits);
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
    TRY(stack_tree_child(im->run, im->contexts.items[context].node,
                         &(struct tree_frame){.function = run_text(im->run, name), .kind = kind},
                         &node));
    im->run->nodes.items[node].gpu += ns;
    if (im->run->own.count)
        im->run->own.items[im->contexts.items[context].own].gpu += ns;
    return ERR_OK;
}

enum err attribute_account(struct run *r, const char *name, int thread, const char *module,
                           double user, double sys)
{
    uint32_t node;
    const char *row = run_text(r, module);
    const struct costs s = {.user = user, .sys = sys, .native = user};
    TRY(stack_tree_root(r, name, thread, &node));
    TRY(stack_tree_child(
        r, node, &(struct tree_frame){.function = row, .module = row, .kind = "native"}, &node));
    r->nodes.items[node].cpu += user + sys;
    costs_add(&r->total, &s);
    return attribute_to_module(r, row, &s);
}
