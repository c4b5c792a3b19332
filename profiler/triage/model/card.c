/* The table of FPGA cards, and the choice among them by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "profiler/triage/model/card.h"

/* RAM in KiB: BRAM36 4.5, URAM288 36, M20K 2.5. A LUT is one of 6 inputs; an ALM counts as 2 of
 * them. An Intel block holds two products of 18 bits, one of AMD's holds one (UG579, AM004). Links:
 * PCIe 3 x16 15.75, 4 x8 15.75, 4 x16 or 5 x8 31.5, 5 x16 63; a module without PCIe is fed by 10
 * Gbit Ethernet. Prices are classes. */
/* clang-format off */
#define PRICE "price recalled"
#define SHELL ". The card's shell leaves "
static const struct card cards[] = {
    {"u55c", "Alveo U55C", 9024, 1, 1303680, 2016 + 960, 2016 * 4.5 + 960 * 36, {460, 460}, 16, 32, 15.75, {250, 300}, 0, 150, {4e3, 7e3},
     "AMD UG1393 (HBM: 32 x 14.375 GB/s, 16 GB), UG1120 and synthesis reports for the card (DSP, LUT, URAM)" SHELL "8,496 DSP blocks and 1.16 million LUTs", "power recalled (DS978); " PRICE},
    {"u280", "Alveo U280", 9024, 1, 1303680, 2016 + 960, 2016 * 4.5 + 960 * 36, {460, 460}, 8, 32, 15.75, {200, 300}, 0, 225, {6e3, 10e3},
     "AMD UG1393 (HBM: 32 x 14.375 GB/s, 8 GB), UG1120 (DSP, LUT, URAM)" SHELL "8,496 DSP blocks and 1.16 million LUTs. 38 GB/s of DDR4 left out", "power recalled (DS963); " PRICE},
    {"u250", "Alveo U250", 12288, 1, 1728000, 2688 + 1280, 2688 * 4.5 + 1280 * 36, {77, 77}, 64, 4, 15.75, {250, 300}, 0, 225, {6e3, 10e3},
     "AMD UG1393 (DDR4: 77 GB/s, 4 x 16 GB), UG1120 (DSP, LUT, URAM)" SHELL "11,520 DSP blocks and 1.5 million LUTs", "power recalled (DS962); " PRICE},
    {"v80", "Alveo V80", 10848, 1, 2574208, 3741 + 1925, 3741 * 4.5 + 1925 * 36, {460, 819}, 32, 32, 31.5, {350, 550}, 0, 190, {8e3, 13e3},
     "AMD's announcement (DSP, 819 GB/s, 190 W, $9,495), board documents (32 GB of HBM, PCIe 5 x8); no AI engines", "memory: AMD's board documents say \"approaching 460 GB/s\"; LUT and RAM recalled"},
    {"vck5000", "Versal VCK5000 (VC1902)", 1968, 1, 899840, 967 + 463, 967 * 4.5 + 463 * 36, {102.4, 102.4}, 16, 4, 15.75, {300, 450}, 400, 225, {3e3, 14e3},
     "AMD UG1702 (DSP, 400 AI engines), DS957 (engines at 1 to 1.3 GHz), platform guide (PCIe 4 x8)", "LUT, RAM, DDR4 (4 x 25.6 GB/s) and power recalled; " PRICE},
    {"kv260", "Kria KV260 (K26 module)", 1248, 1, 117120, 144 + 64, 144 * 4.5 + 64 * 36, {19.2, 19.2}, 4, 1, 1.25, {200, 300}, 0, 15, {250, 400},
     "AMD DS987 (4 GB of 64 bits at 2400 Mb/s; DSP, RAM as ZU5EV); no PCIe: fed by 10 Gbit/s", "power recalled; " PRICE},
    {"zu7ev", "Zynq UltraScale+ ZU7EV (ZCU104)", 1728, 1, 230400, 312 + 96, 312 * 4.5 + 96 * 36, {19.2, 19.2}, 2, 1, 1.25, {200, 300}, 0, 30, {1.5e3, 3.5e3},
     "AMD DS891 table 5 (LUT, DSP, RAM); DDR4 of 64 bits at 2400 Mb/s; fed by 10 Gbit/s", "power recalled; " PRICE},
    {"agilex7m", "Agilex 7 M (AGM 039)", 12300, 2, 2 * 1305600, 18960, 18960 * 2.5, {820, 820}, 32, 32, 63, {350, 550}, 0, 250, {12e3, 25e3},
     "Altera 683458 (HBM2e: 2 x 410 GB/s, 32 GB; 1,305,600 ALMs); \"1 TB/s\" of the product page is DDR5 besides", "DSP, RAM and power (150 to 300 W by board) recalled; " PRICE},
};
/* clang-format on */
#define CARDS (int)(sizeof cards / sizeof *cards)
_Static_assert(CARDS <= CARDS_MOST, "room for the chosen ones");

static const struct card *card_find(const char *name, size_t n)
{
    for (int i = 0; i < CARDS; i++)
        if (strlen(cards[i].id) == n && !strncmp(cards[i].id, name, n))
            return &cards[i];
    return NULL;
}

static enum err card_unknown(const char *name, size_t n)
{
    char known[256] = "";
    for (int i = 0; i < CARDS; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, cards[i].id, sizeof known - strlen(known) - 1);
    }
    return FAIL(ERR_USAGE, "`device=%.*s`: not in the table; it has %s", (int)n, name, known);
}

enum err cards_choose(const char *names, const struct card *out[CARDS_MOST], int *count)
{
    *count = 0;
    for (int i = 0; !names && i < CARDS; i++)
        out[(*count)++] = &cards[i];
    for (const char *p = names; p && *count < CARDS_MOST;) {
        size_t n = strcspn(p, ",");
        const struct card *card = card_find(p, n);
        if (!card)
            return card_unknown(p, n);
        int seen = 0;
        for (int i = 0; i < *count; i++)
            seen |= out[i] == card;
        if (!seen)
            out[(*count)++] = card;
        p = p[n] ? p + n + 1 : NULL;
    }
    return ERR_OK;
}

struct bounds bounds_of(double low, double high)
{
    return (struct bounds){low, high};
}

struct bounds bounds_over(struct bounds a, struct bounds b)
{
    return bounds_of(a.low / b.high, a.high / b.low);
}

struct bounds bounds_times(struct bounds a, double k)
{
    return bounds_of(a.low * k, a.high * k);
}

double bounds_middle(struct bounds b)
{
    return sqrt(b.low * b.high);
}
