/* Opens a library by its name for the loader, then where the build found it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/jail/jail.h"
#include "base/jail/late.h"

static void late_try(struct late_library *l)
{
    void *object = dlopen(l->name, RTLD_NOW | RTLD_LOCAL);
    const char *text = object ? NULL : dlerror();
    if (!object) {
        /* The loader names the file first: this one, or another that this one needs. */
        const int absent = text && !strncmp(text, l->name, strlen(l->name)) &&
                           strstr(text, "No such file or directory");
        snprintf(l->why, sizeof l->why, "%s %s (%.500s): install %s", l->title,
                 absent ? "is not installed" : "cannot be opened", text ? text : "no reason given",
                 l->packages);
        object = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
    }
    for (int i = 0; object && i < l->count; i++) {
        void *symbol = dlsym(object, l->symbols[i].name);
        if (!symbol) {
            snprintf(l->why, sizeof l->why, "%s cannot be opened (%s has no %s): install %s",
                     l->title, l->name, l->symbols[i].name, l->packages);
            return;
        }
        memcpy(l->symbols[i].to, &symbol, sizeof symbol);
    }
    if (object)
        l->why[0] = 0;
}

int late_open(struct late_library *l)
{
    if (jail_entered())
        return 1;
    pthread_mutex_lock(&l->lock);
    if (!l->tried)
        late_try(l);
    l->tried = 1;
    const int good = !l->why[0];
    pthread_mutex_unlock(&l->lock);
    return good;
}

const char *late_why(const struct late_library *l)
{
    return l->why;
}
