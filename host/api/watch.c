/* Events of a call, for the function that tomoprof_set_watch names. */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "host/api/call.h"

void watch_begin(tomoprof_context *c)
{
    c->watch.caller = pthread_self();
    if (c->watch.interval)
        c->watch.next = clock_ns() + c->watch.interval;
}

void watch_send(tomoprof_context *c, tomoprof_event event)
{
    struct api_watch *w = &c->watch;
    if (!w->tell)
        return;
    event.size = sizeof event;
    event.user = w->user;
    pthread_mutex_lock(&w->lock);
    if (!c->stop && w->tell(&event))
        c->stop = 1;
    pthread_mutex_unlock(&w->lock);
}

void watch_step(tomoprof_context *c, double done, double total)
{
    if (c->watch.steps)
        watch_send(c, (tomoprof_event){.kind = TOMOPROF_STEP, .done = done, .total = total});
}

void watch_running(tomoprof_context *c)
{
    struct api_watch *w = &c->watch;
    if (!w->interval || clock_ns() < w->next)
        return;
    watch_send(c, (tomoprof_event){.kind = TOMOPROF_RUNNING});
    w->next = clock_ns() + w->interval;
}

void watch_poll(void *context)
{
    tomoprof_context *c = context;
    if (c->watch.interval && pthread_equal(c->watch.caller, pthread_self()))
        watch_running(c);
}

void watch_join(tomoprof_context *c, pthread_t helper)
{
    struct timespec until;
    int ended = !c->watch.interval && !pthread_join(helper, NULL);
    while (!ended) {
        clock_gettime(CLOCK_REALTIME, &until);
        const int64_t ns = until.tv_nsec + c->watch.interval;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        ended = pthread_timedjoin_np(helper, NULL, &until) != ETIMEDOUT;
        if (!ended)
            watch_running(c);
    }
}
