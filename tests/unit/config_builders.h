/* Builders and assertions of the configuration's tests. Each test program uses some of them. */
#ifndef MR_TEST_CONFIG_BUILDERS_H
#define MR_TEST_CONFIG_BUILDERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <millrace/base/buf.h>
#include <millrace/config/config.h>

#include "config/node.h"
#include "config/option.h"

static __attribute__((unused)) struct mr_config *from_yaml(const char *yaml_z)
{
    struct mr_config *cfg;
    struct mr_error err = {0};
    if (mr_config_load_text("m.yaml", mr_str_z(yaml_z), NULL, 0, &cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    return cfg;
}

/* "key=value" each. */
static __attribute__((unused)) enum mr_status load_settings(const char *yaml_z, const char *const *sets,
                                                            size_t count, struct mr_config **out,
                                                            struct mr_error *err)
{
    struct mr_setting settings[16];
    char keys[16][256];
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(sets[i], '=');
        snprintf(keys[i], sizeof keys[i], "%.*s", (int)(equals - sets[i]), sets[i]);
        settings[i] = (struct mr_setting){keys[i], equals + 1, "--set"};
    }
    return mr_config_load_text("m.yaml", mr_str_z(yaml_z), settings, count, out, err);
}

#define from_sets(...) from_sets_list((const char *const[]){__VA_ARGS__, NULL})
static __attribute__((unused)) struct mr_config *from_sets_list(const char *const *sets)
{
    struct mr_config *cfg;
    struct mr_error err = {0};
    size_t count = 0;
    while (sets[count])
        count++;
    if (load_settings("", sets, count, &cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    return cfg;
}

static __attribute__((unused)) void assert_refused(const char *yaml_z, const char *message_z)
{
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(mr_config_load_text("m.yaml", mr_str_z(yaml_z), NULL, 0, &cfg, &err), MR_E_CONFIG);
    assert_null(cfg);
    assert_string_equal(err.message, message_z);
}

static __attribute__((unused)) void assert_set_refused(const char *set_z, const char *message_z)
{
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(load_settings("", &set_z, 1, &cfg, &err), MR_E_CONFIG);
    assert_null(cfg);
    assert_string_equal(err.message, message_z);
}

static __attribute__((unused)) char *printed(const struct mr_config *cfg, bool json)
{
    struct mr_buf out = MR_BUF_INIT(1u << 20);
    mr_config_print(cfg, json, &out);
    (void)mr_buf_z(&out);
    return out.data;
}

static __attribute__((unused)) void assert_list(const struct mr_strings *list, const char *joined_z)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "|" : "", list->items[i]);
    assert_string_equal(text, joined_z);
}

static __attribute__((unused)) struct mr_table_settings settings_of(const struct mr_config *cfg,
                                                                    const char *db_z, const char *table_z)
{
    struct mr_table_settings out;
    mr_config_table(cfg, mr_str_z(db_z), mr_str_z(table_z), &out);
    return out;
}

static __attribute__((unused)) void assert_column(const struct mr_config *cfg, const char *db_z,
                                                  const char *table_z, const char *path_z, const char *type_z,
                                                  enum mr_policy policy)
{
    struct mr_type type;
    enum mr_policy got;
    char text[32];
    mr_config_column(cfg, mr_str_z(db_z), mr_str_z(table_z), mr_str_z(path_z), &type, &got);
    assert_string_equal(type.kind == MR_T_NONE ? "" : mr_type_text(type, text), type_z);
    assert_int_equal(got, policy);
}

#endif
