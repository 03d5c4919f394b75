/* The one place that calls malloc. Running out of memory ends the process: the positions in the target are
 * as good as after a kill, and nothing sensible can be done without memory. */
#include <millrace/base/mem.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_OUT_OF_MEMORY 70

/* Says it with write(2) alone: stdio may want memory. _exit: exit handlers may want it too. */
static _Noreturn void out_of_memory(void)
{
    static const char text[] = "millrace: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)ignored;
    _exit(EXIT_OUT_OF_MEMORY);
}

void *mr_xmalloc(size_t size)
{
    void *ptr = size <= PTRDIFF_MAX ? malloc(size ? size : 1) : NULL;
    if (!ptr)
        out_of_memory();
    return ptr;
}

void *mr_xcalloc(size_t count, size_t size)
{
    void *ptr = calloc(count ? count : 1, size ? size : 1);
    if (!ptr)
        out_of_memory();
    return ptr;
}

void *mr_xrealloc(void *ptr, size_t size)
{
    void *grown = size <= PTRDIFF_MAX ? realloc(ptr, size ? size : 1) : NULL;
    if (!grown)
        out_of_memory();
    return grown;
}

void *mr_xgrow(void *ptr, size_t *cap, size_t need, size_t elem)
{
    if (need <= *cap)
        return ptr;
    size_t want = *cap < SIZE_MAX / 2 ? *cap * 2 : need;
    if (want < 8)
        want = 8;
    if (want < need)
        want = need;
    size_t bytes;
    if (__builtin_mul_overflow(want, elem, &bytes))
        out_of_memory();
    ptr = mr_xrealloc(ptr, bytes);
    *cap = want;
    return ptr;
}

char *mr_xstrdup(const char *text_z)
{
    return mr_xstrndup(text_z, strlen(text_z));
}

char *mr_xstrndup(const char *ptr, size_t len)
{
    if (len > PTRDIFF_MAX - 1)
        out_of_memory();
    char *copy = mr_xmalloc(len + 1);
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = 0;
    return copy;
}

void mr_xfree(void *ptr)
{
    free(ptr);
}
