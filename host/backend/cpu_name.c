/* Reads the processor's model from /proc/cpuinfo. */
#include <stdio.h>
#include <string.h>

#include "host/backend/cpu_name.h"

/* Returns the value of a line "key : value"; NULL for another line. */
static char *cpuinfo_value(char *line, const char *key)
{
    size_t n = strlen(key);
    char *value = strchr(line, ':');
    if (strncmp(line, key, n) || !value || strspn(line + n, " \t") != (size_t)(value - line) - n)
        return NULL;
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, "\n")] = 0;
    return value;
}

void cpu_name(char out[CPU_NAME])
{
    char line[512], *value, maker[24] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    *out = 0;
    while (f && !*out && fgets(line, sizeof line, f)) {
        if ((value = cpuinfo_value(line, "model name")))
            snprintf(out, CPU_NAME, "%s", value);
        else if ((value = cpuinfo_value(line, "CPU implementer")))
            snprintf(maker, sizeof maker, "%s", value);
        else if (*maker && (value = cpuinfo_value(line, "CPU part")))
            snprintf(out, CPU_NAME, "implementer %s, part %.40s", maker, value);
    }
    if (f)
        fclose(f);
}
