/* Exit codes, as scripts see them. They are part of the interface: none changes its meaning. */
#ifndef MR_CLI_EXIT_CODES_H
#define MR_CLI_EXIT_CODES_H

enum mr_exit {
    MR_EXIT_OK = 0,         /* done */
    MR_EXIT_FAILURE = 1,    /* any other failure */
    MR_EXIT_USAGE = 2,      /* the command line cannot be parsed */
    MR_EXIT_CONFIG = 3,     /* a bad key or value, --set included */
    MR_EXIT_SOURCE = 4,     /* the source cannot be reached */
    MR_EXIT_TARGET = 5,     /* the target cannot be reached */
    MR_EXIT_DATA = 6,       /* data refused: policy fail, the breaker, evolve */
    MR_EXIT_DIFFERENCE = 7, /* a difference was found (plan --check) */
    MR_EXIT_FENCED = 8,     /* another instance owns what this one should do */
    MR_EXIT_BUG = 70,       /* an internal error */
};

#endif
