/* Runs every file of a folder through a fuzz target's function: the corpus as a test, without a fuzzer. Prints nothing unless something is
 * wrong; a crash is the finding. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool run_file(const char *path_z)
{
    FILE *file = fopen(path_z, "rb");
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 26);
    size_t got;

    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path_z, strerror(errno));
        return false;
    }
    do {
        char *room = mr_buf_reserve(&buf, 65536);
        got = room != NULL ? fread(room, 1, 65536, file) : 0;
        buf.len += got;
    } while (got > 0);
    fclose(file);

    /* In a block of its very size, so that a read beyond the end is seen. */
    unsigned char *exact = mr_xmalloc(buf.len > 0 ? buf.len : 1);
    if (buf.len > 0)
        memcpy(exact, buf.data, buf.len);
    LLVMFuzzerTestOneInput(exact, buf.len);
    mr_xfree(exact);
    mr_buf_free(&buf);
    return true;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    size_t files = 0;
    bool ok = true;

    if (dir == NULL) {
        fprintf(stderr, "usage: %s FOLDER (an existing one)\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        ok = run_file(path) && ok;
        files++;
    }
    closedir(dir);
    if (files == 0)
        fprintf(stderr, "%s: no file to run\n", argv[1]);
    return ok && files > 0 ? 0 : 1;
}
