/* Named points at which a test can kill the process, to prove that a kill anywhere loses nothing. Built in only with MILLRACE_FAULTS (the
 * test builds); elsewhere the macro is empty. MILLRACE_FAULT=name:n kills with SIGKILL at the n-th passing of the point. */
#ifndef MILLRACE_BASE_FAULT_H
#define MILLRACE_BASE_FAULT_H

#ifdef MILLRACE_FAULTS
void mr_fault_point(const char *name_z);
#define MR_FAULT(name) mr_fault_point(name)
#else
#define MR_FAULT(name) ((void)0)
#endif

#endif
