/* Help texts, made of the table of commands. */
#include "cli.h"

#include <millrace/base/buf.h>

#define WIDTH 100

/* Text without its back quotes, broken at blanks; every line but the first is indented. Empty lines and lines of their own stay. */
static void append_wrapped(struct mr_buf *out, const char *text_z, size_t indent, size_t column)
{
    const char *p = text_z;
    while (*p) {
        if (*p == '\n') {
            mr_buf_append_char(out, '\n');
            p++;
            column = 0;
            continue;
        }
        size_t word = strcspn(p, " \n"), shown = 0;
        for (size_t i = 0; i < word; i++)
            shown += p[i] != '`' && ((unsigned char)p[i] & 0xC0) != 0x80; /* characters, not bytes */
        if (column > indent && column + 1 + shown > WIDTH) {
            mr_buf_append_char(out, '\n');
            column = 0;
        }
        if (column == 0) {
            for (; column < indent; column++)
                mr_buf_append_char(out, ' ');
        } else if (column > indent) {
            mr_buf_append_char(out, ' ');
            column++;
        }
        for (size_t i = 0; i < word; i++) {
            if (p[i] != '`')
                mr_buf_append_char(out, p[i]);
        }
        column += shown;
        p += word;
        while (*p == ' ')
            p++;
    }
    mr_buf_append_char(out, '\n');
}

/* A label and its explanation in two columns. */
static void append_row(struct mr_buf *out, const char *label_z, const char *text_z, size_t indent)
{
    struct mr_str label = mr_str_z(label_z);
    size_t column = 2;
    mr_buf_append_z(out, "  ");
    mr_buf_append_str(out, label);
    for (size_t i = 0; i < label.len; i++)
        column += ((unsigned char)label.ptr[i] & 0xC0) != 0x80;
    if (column + 2 > indent) {
        mr_buf_append_char(out, '\n');
        column = 0;
    }
    for (; column < indent; column++)
        mr_buf_append_char(out, ' ');
    append_wrapped(out, text_z, indent, column);
}

static void append_flag(struct mr_buf *out, const struct mr_cli_flag *flag)
{
    struct mr_buf label = MR_BUF_INIT(256);
    if (flag->letter)
        mr_buf_printf(&label, "-%c, ", flag->letter);
    mr_buf_append_z(&label, flag->name_z);
    if (flag->value_z)
        mr_buf_printf(&label, " %s", flag->value_z);
    struct mr_buf text = MR_BUF_INIT(2048);
    mr_buf_append_z(&text, flag->help_z);
    if (flag->only_z && strchr(flag->only_z, ' ') == NULL)
        mr_buf_printf(&text, " (%s)", flag->only_z);
    append_row(out, mr_buf_z(&label), mr_buf_z(&text), 26);
    mr_buf_free(&label);
    mr_buf_free(&text);
}

/* Lines of an example, indented. */
static void append_lines(struct mr_buf *out, const char *text_z)
{
    for (const char *p = text_z; *p;) {
        size_t len = strcspn(p, "\n");
        mr_buf_append_z(out, "  ");
        mr_buf_append(out, p, len);
        mr_buf_append_char(out, '\n');
        p += len + (p[len] == '\n');
    }
}

static void append_overview(struct mr_buf *out)
{
    mr_buf_append_z(
        out,
        "millrace loads change events from Kafka or files into PostgreSQL, MySQL, MariaDB or SQLite, each exactly once.\n"
        "\n"
        "Usage: millrace COMMAND [FLAGS] [FILE…|-]\n"
        "\n"
        "Commands:\n");
    for (const struct mr_command *command = mr_commands; command->name_z; command++)
        append_row(out, command->name_z, command->summary_z, 18);
    mr_buf_append_z(
        out, "\n"
             "Examples:\n"
             "  millrace backfill orders.jsonl                # into sqlite:millrace.db, format found out\n"
             "  millrace run --from kafka://broker:9092/shop.orders --to postgresql://loader@db/warehouse\n"
             "  millrace run -c millrace.yaml\n"
             "\n"
             "millrace COMMAND --help explains a command, millrace config lists the options.\n");
}

void mr_help_append(const struct mr_command *command, struct mr_buf *out)
{
    if (!command) {
        append_overview(out);
        return;
    }
    mr_buf_printf(out, "Usage: millrace %s [FLAGS]%s%s\n\n", command->name_z, *command->operands_z ? " " : "",
                  command->operands_z);
    append_wrapped(out, command->description_z, 0, 0);
    if (command->actions) {
        mr_buf_append_z(out, "\nActions:\n");
        for (const struct mr_cli_action *action = command->actions; action->name_z; action++) {
            struct mr_buf label = MR_BUF_INIT(256);
            mr_buf_printf(&label, "%s%s%s", action->name_z, *action->operands_z ? " " : "",
                          action->operands_z);
            append_row(out, mr_buf_z(&label), action->summary_z, 26);
            mr_buf_free(&label);
        }
    }
    mr_buf_append_z(out, "\nFlags:\n");
    for (size_t g = 0; command->flags[g]; g++) {
        for (const struct mr_cli_flag *flag = command->flags[g]; flag->name_z; flag++)
            append_flag(out, flag);
    }
    mr_buf_append_z(out, strchr(command->examples_z, '\n')[1] ? "\nExamples:\n" : "\nExample:\n");
    append_lines(out, command->examples_z);
}
