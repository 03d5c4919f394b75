/* See stop.h. */
#include <millrace/base/stop.h>

#include <signal.h>

static volatile sig_atomic_t requested;

void mr_stop_request(void)
{
    requested = 1;
}

bool mr_stop_requested(void)
{
    return requested != 0;
}
