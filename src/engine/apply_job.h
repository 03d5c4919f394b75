/* One job as one transaction on one connection: the data, the dead letters, the positions. */
#ifndef MILLRACE_ENGINE_APPLY_JOB_H
#define MILLRACE_ENGINE_APPLY_JOB_H

#include "batch.h"

/* Run the job's transaction once, begin to commit; rolled back on any failure. `isolate`: a table whose rows were refused (DATA) is split until
 * the refused rows stand alone; they become dead letters in the same transaction. *in_doubt: the connection broke during commit. */
enum mr_status mr_apply_job(struct mr_sink *sink, const struct mr_config *cfg, struct mr_job *job, bool isolate,
                            bool *in_doubt, struct mr_error *err) MR_MUST_CHECK;
/* Has an error that nobody knows come so often that the job's rows are isolated for it? The caller counts in unknown_tries. */
bool mr_apply_job_isolates_unknown(const struct mr_job *job);
/* After a commit in doubt: did it happen? (Are the job's positions stored under our epoch?) */
enum mr_status mr_apply_was_committed(struct mr_sink *sink, const struct mr_config *cfg, const struct mr_job *job,
                                      bool *committed, struct mr_error *err) MR_MUST_CHECK;

#endif
