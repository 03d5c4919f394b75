/* What facts.c knows of values beyond the public contract. */
#ifndef MILLRACE_SCHEMA_FACTS_H
#define MILLRACE_SCHEMA_FACTS_H

#include <millrace/schema/lattice.h>

/* Does a 32-bit float hold this double: exactly, or as the float whose shortest text is the double's (0.1 stays 0.1)? */
bool mr_float32_holds(double f);

#endif
