/* A process that keeps arrays and threads warm, so that run.py can time tomoprof's operators in
 * turn with those of other projects. Reads one command a line, answers with one line of JSON:
 *   calibrate                        the machine's peak
 *   prepare OPERATION GEOMETRY INPUT arrays in memory; INPUT is a .npy file or -
 *   run                              the operation once: seconds of computing alone, CPU seconds of all threads
 *   save FILE                        the latest result as .npy
 * The argument `malloc` places inputs where NumPy places its arrays: python.py compares like memory.
 * {"ok": false, "reason": ...} says what went wrong; the process goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "host/backend/registry.h"
#include "base/clock.h"
#include "base/json/jsonw.h"
#include "base/memory.h"
#include "host/cpu/cpu.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"
#include "host/suite/catalogue/catalogue.h"

enum { WORDS = 4, WORD = 1024 };

static float *placed; /* an input that malloc placed, 16 bytes behind a line of memory */
static int by_malloc;

/* Moves the input to memory of malloc, with huge pages as NumPy asks for them: from 4 MiB on, whole
 * ones. */
static enum err move_input(struct run_state *s)
{
    struct buffer *in = &s->in.buffer;
    const uintptr_t huge = (uintptr_t)2 << 20;
    free(placed);
    placed = malloc(in->bytes);
    FAIL_IF(!placed, ERR_MEMORY, "no memory left for the input");
    const uintptr_t begin = ((uintptr_t)placed + 4095) / 4096 * 4096;
    if (in->bytes >= 2 * huge)
        madvise((void *)begin, in->bytes - (begin - (uintptr_t)placed), MADV_HUGEPAGE);
    memcpy(placed, in->ptr, in->bytes);
    in->ptr = placed;
    in->owned = 0;
    return ERR_OK;
}

static enum err read_input(struct run_state *s, const char *path)
{
    static const char *const names[] = {"axis 0", "axis 1", "axis 2"};
    int64_t shape[3];
    ct_model_shape(&s->model, s->op->input, shape);
    TRY(npy_read(path, 3, shape, names, 1, &s->in.host));
    TRY(state_upload(s, &s->in, shape));
    return by_malloc ? move_input(s) : ERR_OK;
}

static enum err prepare(struct run_state *s, char word[WORDS][WORD], struct jsonw *answer)
{
    struct backend *be = s->be;
    (void)answer;
    state_free(s);
    s->be = be;
    s->op = operation_named(word[1]);
    FAIL_IF(!s->op, ERR_USAGE, "no operation is called %s", word[1]);
    s->mbir = (struct mbir_options){.max_iterations = 1};
    TRY(ct_model_read(word[2], &s->model));
    if (s->op->input != ARRAY_NONE)
        TRY(read_input(s, word[3]));
    if (s->op->scratch == SCRATCH_SINOGRAM) /* or the input would not survive the first run */
        TRY(be->ops->alloc(be, "filtered sinogram", s->in.buffer.bytes, &s->scratch.buffer));
    return state_allocate_output(s);
}

/* CPU time of all threads. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum err run(struct run_state *s, char word[WORDS][WORD], struct jsonw *answer)
{
    (void)word;
    FAIL_IF(!s->op, ERR_USAGE, "prepare comes first");
    TRY(s->be->ops->sync(s->be));
    const double cpu = cpu_seconds();
    int64_t start = clock_ns();
    TRY(s->op->run(s));
    TRY(s->be->ops->sync(s->be));
    jsonw_knumber(answer, "seconds", clock_seconds_since(start));
    jsonw_knumber(answer, "cpu", cpu_seconds() - cpu);
    return ERR_OK;
}

static enum err save(struct run_state *s, char word[WORDS][WORD], struct jsonw *answer)
{
    int64_t shape[3];
    const float *data;
    float *copy;
    (void)answer;
    FAIL_IF(!s->op, ERR_USAGE, "prepare comes first");
    ct_model_shape(&s->model, s->op->output, shape);
    TRY(state_result(s, &data, &copy));
    enum err e = npy_write(word[1], 3, shape, data);
    mem_free(copy);
    return e;
}

static enum err calibrate(struct run_state *s, char word[WORDS][WORD], struct jsonw *answer)
{
    struct peak peak;
    (void)word;
    TRY(s->be->ops->measure_peak(s->be, &peak));
    jsonw_knumber(answer, "flops_per_s", peak.flops_per_s);
    jsonw_knumber(answer, "bytes_per_s", peak.bytes_per_s);
    jsonw_kstring(answer, "device", s->be->device);
    return ERR_OK;
}

static const struct {
    const char *name;
    int words;
    enum err (*act)(struct run_state *s, char word[WORDS][WORD], struct jsonw *answer);
} commands[] = {
    {"calibrate", 1, calibrate}, {"prepare", 4, prepare}, {"run", 1, run}, {"save", 2, save}};

static enum err act(struct run_state *s, const char *line, struct jsonw *answer)
{
    char word[WORDS][WORD] = {""};
    int words = sscanf(line, "%1023s %1023s %1023s %1023s", word[0], word[1], word[2], word[3]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, word[0]) && commands[i].words == words)
            return commands[i].act(s, word, answer);
    return FAIL(ERR_USAGE, "not a command: %s", word[0]);
}

static void answer_line(struct run_state *s, const char *line)
{
    struct jsonw answer;
    jsonw_init(&answer, stdout, 0);
    jsonw_object(&answer);
    enum err e = act(s, line, &answer);
    jsonw_kbool(&answer, "ok", e == ERR_OK);
    if (e)
        jsonw_kstring(&answer, "reason", err_text());
    jsonw_end(&answer);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct run_state s = {0};
    struct backend_options o = {0};
    char line[WORDS * WORD];
    backend_register(&cpu_backend);
    if (backend_open("cpu", &o, &s.be)) {
        fprintf(stderr, "%s\n", err_text());
        return 1;
    }
    struct backend *be = s.be;
    by_malloc = argc > 1 && !strcmp(argv[1], "malloc");
    while (fgets(line, sizeof line, stdin))
        answer_line(&s, line);
    s.be = be;
    state_free(&s);
    free(placed);
    backend_close(be);
    return 0;
}
