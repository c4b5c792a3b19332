/* A run of one process on the stage, for the tests of its analysis: begun, analysed, removed. */
#ifndef TP_TESTS_TRACE_RUN_CASE_H
#define TP_TESTS_TRACE_RUN_CASE_H

#include "tests/unit/check.h"
#include "tests/trace/stage.h"

#define APP_C "/src/app.c"

static struct stage st;
static struct model *m;

static inline int before(void **state)
{
    (void)state;
    stage_start();
    stage_open(&st, 100, T0);
    m = NULL;
    return 0;
}

static inline int after(void **state)
{
    (void)state;
    model_destroy(m);
    stage_end();
    return 0;
}

static inline void analyse(void)
{
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    assert_true(stage_lawful(m));
}

#endif
