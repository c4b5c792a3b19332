/* `mpirun -n N tomoprof record -- CMD`: the ranks of one job record into one run, which the first
 * of them analyses when the others are done. On several machines this needs a file system that all
 * of them see; without it each has a run of its own. */
#ifndef TP_CLI_RUNS_JOB_H
#define TP_CLI_RUNS_JOB_H

#include "base/err.h"
#include "profiler/record/record.h"

struct record_ranks {
    int rank, size;
};
/* Facts from a launcher's variables. Notes: OUT/.job-KEY, where a first rank says which run it
 * is. */
#define RECORD_NOTE 160
struct record_job {
    struct record_ranks among; /* who shares the run; size 0: of no job, or the only rank */
    struct record_ranks world; /* of the job; size 0: all are here */
    struct record_ranks here;  /* on this machine */
    char world_note[RECORD_NOTE], here_note[RECORD_NOTE];
};

void job_of_environment(struct record_job *out);
/* The first rank makes the run, the others find it. ERR_FAILED where it does not come within a
 * minute. What ranks tell each other lies in its folder `ranks` until the first one's end. */
enum err job_folder(struct record_job *j, const char *out, char folder[RUN_PATH]);
/* After its program: the others say how theirs ended; the first waits for them, adds their CPU time
 * to `end`, and returns how many did not come (within a minute, or 3 s where its own was killed).
 */
int job_end(const struct record_job *j, const char *out, const char *folder,
            struct record_end *end);

#endif
