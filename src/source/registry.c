/* Every source. A new one is its own files and a line here. */
#include "source_ops.h"

const struct mr_source_ops *const mr_sources[] = {
    &mr_source_kafka,
    &mr_source_file,
    NULL,
};
