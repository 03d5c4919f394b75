/* Fault points for the kill tests: see fault.h. */
#include <millrace/base/fault.h>

#ifdef MILLRACE_FAULTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <millrace/base/str.h>

void mr_fault_point(const char *name_z)
{
    static atomic_long passed;
    const char *want_z = getenv("MILLRACE_FAULT");
    if (want_z == NULL)
        return;
    const char *colon = strchr(want_z, ':');
    size_t len = colon != NULL ? (size_t)(colon - want_z) : strlen(want_z);
    if (strlen(name_z) != len || memcmp(name_z, want_z, len) != 0)
        return;
    int64_t n = 1;
    if (colon != NULL && !mr_parse_int64(mr_str_z(colon + 1), &n))
        return;
    if (atomic_fetch_add(&passed, 1) + 1 == n)
        raise(SIGKILL);
}

#else
typedef int mr_fault_not_built_in;
#endif
