#include <stdio.h>
#include <string.h>

#include "profiler/triage/device.h"

/* RAM in KiB: BRAM36 4.5, URAM288 36, M20K 2.5. A LUT is one of 6 inputs; an ALM counts as 2 of
 * them. Links: PCIe 3 x16 15.75, 4 x16 31.5, 5 x16 63; a module without PCIe is fed by 10 Gbit
 * Ethernet. */
/* clang-format off */
static const struct device devices[] = {
    {"u55c", "Alveo U55C", 9024, 5, 1304e3, 2016 + 960, 2016 * 4.5 + 960 * 36, {460, 460}, 16, 32, 15.75, {250, 300}, 150, {4e3, 7e3},
     "bandwidth: AMD UG1393 (32 x 14.375 GB/s); resources: AMD data sheet of the card", "resources, power and price recalled, not read again"},
    {"u280", "Alveo U280", 9024, 5, 1304e3, 2016 + 960, 2016 * 4.5 + 960 * 36, {460, 460}, 8, 32, 15.75, {200, 300}, 225, {6e3, 10e3},
     "bandwidth: AMD UG1393; resources: AMD data sheet of the card", "resources, power and price recalled; 38 GB/s of DDR4 left out"},
    {"u250", "Alveo U250", 12288, 5, 1728e3, 2688 + 1280, 2688 * 4.5 + 1280 * 36, {77, 77}, 64, 4, 15.75, {250, 300}, 225, {6e3, 10e3},
     "bandwidth: AMD UG1393; resources: AMD data sheet of the card", "resources, power and price recalled"},
    {"v80", "Alveo V80", 10848, 1, 2574e3, 3741 + 1925, 3741 * 4.5 + 1925 * 36, {460, 819}, 32, 32, 31.5, {350, 550}, 190, {8e3, 13e3},
     "AMD product brief and board documents", "memory: the brief says 819 GB/s, board documents say \"approaching 460 GB/s\"; resources and price recalled"},
    {"vck5000", "Versal VCK5000 (VC1902)", 1968, 1, 900e3, 967 + 463, 967 * 4.5 + 463 * 36, {102.4, 102.4}, 16, 4, 15.75, {300, 450}, 225, {3e3, 14e3},
     "AMD data sheet of VC1902", "all recalled; its 400 AI engines are not modelled"},
    {"kv260", "Kria KV260 (K26 module)", 1248, 5, 117e3, 144 + 64, 144 * 4.5 + 64 * 36, {19.2, 19.2}, 4, 1, 1.25, {200, 300}, 15, {250, 400},
     "AMD data sheet of K26", "all recalled; no PCIe: fed by 10 Gbit/s"},
    {"zu7ev", "Zynq UltraScale+ ZU7EV (ZCU104 class)", 1728, 5, 230e3, 312 + 96, 312 * 4.5 + 96 * 36, {19.2, 38.4}, 2, 2, 1.25, {200, 300}, 30, {1.5e3, 3.5e3},
     "AMD data sheet of ZU7EV", "all recalled; memory depends on the board; fed by 10 Gbit/s"},
    {"agilex7m", "Agilex 7 M (AGM 039)", 12300, 1, 2 * 1.3e6, 18960, 18960 * 2.5, {819, 1000}, 32, 32, 63, {350, 550}, 250, {12e3, 25e3},
     "bandwidth: Intel AN 1020 (up to 1 TB/s); resources: Intel product table", "resources, power (150 to 300 W by board) and price recalled"},
};
/* clang-format on */
#define DEVICES (int)(sizeof devices / sizeof *devices)
_Static_assert(DEVICES <= DEVICES_MOST, "room for the chosen ones");

const struct device *device_at(int i)
{
    return i >= 0 && i < DEVICES ? &devices[i] : NULL;
}

static const struct device *find(const char *name, size_t n)
{
    for (int i = 0; i < DEVICES; i++)
        if (strlen(devices[i].id) == n && !strncmp(devices[i].id, name, n))
            return &devices[i];
    return NULL;
}

static enum err unknown(const char *name, size_t n)
{
    char known[256] = "";
    for (int i = 0; i < DEVICES; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, devices[i].id, sizeof known - strlen(known) - 1);
    }
    return FAIL(ERR_USAGE, "--device %.*s: not in the table; it has %s", (int)n, name, known);
}

enum err devices_choose(const char *names, const struct device *out[DEVICES_MOST], int *count)
{
    *count = 0;
    for (int i = 0; !names && i < DEVICES; i++)
        out[(*count)++] = &devices[i];
    for (const char *p = names; p && *count < DEVICES_MOST;) {
        size_t n = strcspn(p, ",");
        const struct device *d = find(p, n);
        if (!d)
            return unknown(p, n);
        int seen = 0;
        for (int i = 0; i < *count; i++)
            seen |= out[i] == d;
        if (!seen)
            out[(*count)++] = d;
        p = p[n] ? p + n + 1 : NULL;
    }
    return ERR_OK;
}
