/* Words and facts that several probes share. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/doctor/probes.h"

void found_add(struct found *f, const char *format, ...)
{
    size_t n = strlen(f->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text + n, sizeof f->text - n, format, arguments);
    va_end(arguments);
}

char *probe_line(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "re");
    *out = 0;
    if (f && !fgets(out, (int)n, f))
        *out = 0;
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = 0;
    return out;
}

int probe_in_wsl(void)
{
    struct utsname u;
    return !uname(&u) && (strstr(u.release, "microsoft") || strstr(u.release, "Microsoft"));
}
