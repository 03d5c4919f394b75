/* Somebody has asked the program to stop: a flag that whatever waits for long looks at. Any thread, and signal handlers. */
#ifndef MILLRACE_BASE_STOP_H
#define MILLRACE_BASE_STOP_H

#include <stdbool.h>

void mr_stop_request(void);
bool mr_stop_requested(void);

#endif
