/* `mpirun -n N tomoprof record -- CMD`: the ranks of one job on one machine record into one run,
 * which the first of them analyses when the others are done. */
#ifndef TP_CLI_RUNS_JOB_H
#define TP_CLI_RUNS_JOB_H

#include "host/base/err.h"
#include "profiler/record/record.h"

/* What a launcher's variables say; size 0: this process is of no job, or the only rank. */
struct record_job {
    char key[128];  /* of the job and the machine */
    int rank, size; /* on this machine */
    char note[96];  /* OUT/.job-KEY, where the first rank says which run it is */
};

void job_of_environment(struct record_job *out);
/* The first rank makes the run, the others find it. ERR_FAILED where it does not come within a
 * minute. */
enum err job_folder(const struct record_job *j, const char *out, char folder[RUN_PATH]);
/* After its program: the others say how theirs ended; the first waits for them, adds their CPU time
 * to `end`, and returns how many did not come (within a minute, or 3 s where its own was killed).
 */
int job_end(const struct record_job *j, const char *out, const char *folder,
            struct record_end *end);

#endif
