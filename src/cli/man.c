/* Man pages, made of the same tables as the help texts: millrace(1) with the configuration, and one page a command. */
#include "cli.h"

#include "../config/man_text.h"

#include <millrace/base/buf.h>

struct exit_code {
    int code;
    const char *meaning_z;
};
static const struct exit_code exit_codes[] = {
    {MR_EXIT_OK, "Done."},
    {MR_EXIT_FAILURE, "Any other failure."},
    {MR_EXIT_USAGE, "The command line cannot be parsed."},
    {MR_EXIT_CONFIG, "A bad key or value in the configuration, `--set` included."},
    {MR_EXIT_SOURCE, "The source cannot be reached."},
    {MR_EXIT_TARGET, "The target cannot be reached."},
    {MR_EXIT_DATA,
     "Data was refused: under the policy `fail`, by `dead_letters.max_rate`, or by `target.evolve`."},
    {MR_EXIT_DIFFERENCE, "A difference was found (`plan --check`)."},
    {MR_EXIT_FENCED, "Another instance has taken over."},
    {MR_EXIT_BUG, "An internal error."},
};

static void append_head(const char *name_z, const char *summary_z, struct mr_buf *out)
{
    mr_buf_append_z(out, ".\\\" Made by `millrace help --man` from src/cli/commands.c; "
                         "tests/lint/reference.py --write renews it.\n");
    mr_buf_append_z(out, ".TH ");
    for (const char *p = name_z; *p; p++) {
        if (*p == '-')
            mr_buf_append_char(out, '\\');
        mr_buf_append_char(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    }
    mr_buf_append_z(out, " 1 \"\" \"millrace " MILLRACE_VERSION "\" \"Millrace\"\n.SH NAME\n");
    mr_man_append(out, name_z);
    mr_buf_append_z(out, " \\- ");
    mr_man_append(out, summary_z);
    mr_buf_append_char(out, '\n');
}

/* Empty lines begin paragraphs. */
static void append_paragraphs(const char *text_z, struct mr_buf *out)
{
    struct mr_buf one = MR_BUF_INIT(65536);
    for (const char *p = text_z; *p;) {
        const char *end = strstr(p, "\n\n");
        size_t len = end ? (size_t)(end - p) : strlen(p);
        mr_buf_clear(&one);
        mr_buf_append(&one, p, len);
        mr_buf_append_z(out, ".PP\n");
        mr_man_append(out, mr_buf_z(&one));
        mr_buf_append_char(out, '\n');
        p += len;
        while (*p == '\n')
            p++;
    }
    mr_buf_free(&one);
}

static void append_item(const char *label_z, const char *text_z, struct mr_buf *out)
{
    mr_buf_append_z(out, ".TP\n.B ");
    mr_man_append(out, label_z);
    mr_buf_append_char(out, '\n');
    mr_man_append(out, text_z);
    mr_buf_append_char(out, '\n');
}

static void append_flags(const struct mr_command *command, struct mr_buf *out)
{
    struct mr_buf label = MR_BUF_INIT(256);
    mr_buf_append_z(out, ".SH OPTIONS\n");
    for (size_t g = 0; command->flags[g]; g++) {
        for (const struct mr_cli_flag *flag = command->flags[g]; flag->name_z; flag++) {
            mr_buf_clear(&label);
            if (flag->letter)
                mr_buf_printf(&label, "-%c, ", flag->letter);
            mr_buf_printf(&label, "%s%s%s", flag->name_z, flag->value_z ? " " : "",
                          flag->value_z ? flag->value_z : "");
            append_item(mr_buf_z(&label), flag->help_z, out);
        }
    }
    mr_buf_free(&label);
}

static void append_examples(const char *text_z, struct mr_buf *out)
{
    mr_buf_append_z(out, ".SH EXAMPLES\n.nf\n");
    mr_man_append(out, text_z);
    mr_buf_append_z(out, ".fi\n");
}

static void append_exit_codes(struct mr_buf *out)
{
    char label[16];
    mr_buf_append_z(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++) {
        snprintf(label, sizeof label, "%d", exit_codes[i].code);
        append_item(label, exit_codes[i].meaning_z, out);
    }
}

static void append_program_page(struct mr_buf *out)
{
    append_head("millrace", "load change events into a database, exactly once", out);
    mr_buf_append_z(out, ".SH SYNOPSIS\n.B millrace\n.I COMMAND\n[flags] [files]\n.SH DESCRIPTION\n");
    append_paragraphs("Reads change events (of Debezium, or plain rows) from Kafka or from files of "
                      "JSON lines, and keeps tables in PostgreSQL, MySQL, MariaDB or SQLite up to date with them. "
                      "Tables are created and widened as the events ask for; each event is applied "
                      "exactly once; what cannot be applied is kept in the dead letters.",
                      out);
    mr_buf_append_z(out, ".SH COMMANDS\n");
    for (const struct mr_command *command = mr_commands; command->name_z; command++)
        append_item(command->name_z, command->summary_z, out);
    append_exit_codes(out);
    mr_config_reference_man(out);
    mr_buf_append_z(out, ".SH SEE ALSO\n");
    for (const struct mr_command *command = mr_commands; command->name_z; command++) {
        mr_buf_append_z(out, ".BR millrace\\-");
        mr_man_append(out, command->name_z);
        mr_buf_append_z(out, command[1].name_z ? " (1),\n" : " (1)\n");
    }
}

void mr_man_page_append(const struct mr_command *command, struct mr_buf *out)
{
    if (!command) {
        append_program_page(out);
        return;
    }
    struct mr_buf name = MR_BUF_INIT(256);
    mr_buf_printf(&name, "millrace-%s", command->name_z);
    append_head(mr_buf_z(&name), command->summary_z, out);
    mr_buf_append_z(out, ".SH SYNOPSIS\n.B millrace ");
    mr_man_append(out, command->name_z);
    mr_buf_append_z(out, "\n[flags] ");
    mr_man_append(out, command->operands_z);
    mr_buf_append_z(out, "\n.SH DESCRIPTION\n");
    append_paragraphs(command->description_z, out);
    if (command->actions) {
        mr_buf_append_z(out, ".SH ACTIONS\n");
        for (const struct mr_cli_action *action = command->actions; action->name_z; action++) {
            mr_buf_clear(&name);
            mr_buf_printf(&name, "%s%s%s", action->name_z, *action->operands_z ? " " : "",
                          action->operands_z);
            append_item(mr_buf_z(&name), action->summary_z, out);
        }
    }
    append_flags(command, out);
    append_examples(command->examples_z, out);
    mr_buf_append_z(
        out, ".SH SEE ALSO\n.BR millrace (1)\nlists the exit codes and every key of the configuration.\n");
    mr_buf_free(&name);
}
