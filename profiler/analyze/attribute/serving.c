/* The loops in which servers, consumers of jobs and programs with windows wait for what comes, and
 * libraries that sleep until others are done. */
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/serving.h"

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

int serving_idle(const struct resolved *frames, int count, int accepts)
{
    int from = accepts ? serving_frame(frames, count) : 0;
    for (int i = from > 0 ? from : 0; i < count && frames[i].owner != OWNER_OWN; i++)
        if (is_loop(&frames[i], accepts))
            return 1;
    return 0;
}

enum waits_for serving_awaits(const struct resolved *frames, int count)
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

/* subprocess and multiprocessing sleep in turns where they wait for a child with a time limit. */
static int is_of_child(const struct resolved *f)
{
    static const char *const files[] = {"/subprocess.py", "/multiprocessing/popen_fork.py"};
    for (size_t i = 0; f->file && i < sizeof files / sizeof *files; i++)
        if (strstr(f->file, files[i]))
            return 1;
    return 0;
}

enum waits_for serving_polls(const struct resolved *frames, int count)
{
    int first = 0, own;
    while (first < count && !frames[first].python)
        first++;
    for (own = first; own < count && frames[own].owner != OWNER_OWN;)
        own++;
    if (own == first || own == count)
        return WAITS_SLEEP;
    return is_of_child(&frames[first]) ? WAITS_CHILD : WAITS_POLL;
}
