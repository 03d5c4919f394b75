/* The configuration under hostile input: a file, and behind NUL bytes the key and the value of one setting. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>
#include <millrace/config/config.h>

#include "config/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cut off what stands before the next NUL byte, as a text of its own. */
static char *next_part(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    size_t len = end ? (size_t)(end - *data) : *size;
    char *part = mr_xstrndup(len ? (const char *)*data : "", len);
    size_t used = end ? len + 1 : len;
    *data += used;
    *size -= used;
    return part;
}

static void use(const struct mr_config *cfg, struct mr_str name)
{
    struct mr_buf out = MR_BUF_INIT(64u << 20);
    struct mr_table_settings settings;
    struct mr_type type;
    enum mr_policy policy;
    mr_config_print(cfg, true, &out);
    if (out.overflow)
        abort();
    mr_config_table(cfg, MR_STR("shop"), name, &settings);
    mr_config_column(cfg, name, MR_STR("orders"), MR_STR("id"), &type, &policy);
    if (settings.policy == MR_POLICY_UNSET || settings.key_mode == MR_KEY_UNSET)
        abort();
    mr_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *yaml = next_part(&data, &size);
    char *key = next_part(&data, &size);
    char *value = next_part(&data, &size);
    struct mr_setting setting = {key, value, "--set"};
    struct mr_config *cfg = NULL;
    struct mr_error err = {0};

    enum mr_status status =
        mr_config_load_text("fuzz.yaml", mr_str_z(yaml), &setting, *key ? 1 : 0, &cfg, &err);
    if (status == MR_OK) {
        use(cfg, mr_str_z(key));
        mr_config_destroy(cfg);
    } else if (status != MR_E_CONFIG || cfg || !err.message[0]) {
        abort();
    }
    mr_xfree(yaml);
    mr_xfree(key);
    mr_xfree(value);
    return 0;
}
