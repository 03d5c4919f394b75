/* The parts of `millrace dead-letters`: what they share. */
#ifndef MR_CLI_DEAD_LETTERS_H
#define MR_CLI_DEAD_LETTERS_H

#include "json_out.h"
#include "target.h"
#include "text_out.h"

#include "../engine/control.h"

struct mr_dead_cmd {
    struct mr_cli_context *cli;
    struct mr_cli_target target;
    struct mr_arena *ar;
    struct mr_buf out;
    struct mr_jo js;
    bool json;
    int64_t *ids; /* operands, in `ar` */
    struct mr_dead_filter filter; /* from the flags */
    bool has_filter;
};

/* dead_letters_show.c */
int mr_dead_list(struct mr_dead_cmd *cmd);
int mr_dead_show(struct mr_dead_cmd *cmd);
/* dead_letters_act.c */
int mr_dead_replay(struct mr_dead_cmd *cmd);
int mr_dead_purge(struct mr_dead_cmd *cmd);
/* Write out what has gathered if it is much; false: the output is closed. */
bool mr_dead_flush(struct mr_dead_cmd *cmd);
/* What can be done about a reason, "" if there is no advice. */
const char *mr_dead_advice(struct mr_str code);

#endif
