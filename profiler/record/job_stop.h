/* Stops this process while another one is stopped, as job control of a shell needs it. */
#ifndef TP_RECORD_JOB_STOP_H
#define TP_RECORD_JOB_STOP_H

#include <sys/types.h>

/* Returns when somebody continued this process, which then continues `program`, or when `program`
 * was continued, killed or has ended. Where no process can be added it returns at once: nothing
 * would wake this one. */
void job_stop_with(pid_t program);

#endif
