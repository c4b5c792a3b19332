/* Core cycles of this process, from the processor's own counter: user mode, all threads started
 * after cycles_open. Virtual machines mostly have none; a nominal frequency would be a guess. */
#ifndef TP_SUITE_RUN_CYCLES_H
#define TP_SUITE_RUN_CYCLES_H

struct cycles {
    int fd;           /* -1: no counter */
    char reason[128]; /* why there is none, else "" */
};

void cycles_open(struct cycles *c);
double cycles_now(const struct cycles *c); /* NAN without a counter, or when it did not run */
void cycles_close(struct cycles *c);

#endif
