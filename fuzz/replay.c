/* A target without a fuzzer: each file, and each file in each directory, once. For regressions, corpora and
 * debuggers. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LONGEST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static int replay_file(const char *path)
{
    static uint8_t buffer[LONGEST];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    uint8_t *data =
        malloc(size + (size == 0)); /* of the very size, so that ASan sees what is read beyond it */
    if (data == NULL)
        return 1;
    for (size_t i = 0; i < size; i++)
        data[i] = buffer[i];
    if (getenv("FCVI_REPLAY_VERBOSE") != NULL)
        fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
    return 0;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(path);
    struct dirent **entries;
    int failed = 0, count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            failed |= replay(inside);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 2) {
        fprintf(stderr,
                "usage: %s FILE_OR_DIRECTORY...\nFCVI_REPLAY_VERBOSE=1 names each input before it runs\n",
                argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    fprintf(stderr, "%lu inputs\n", inputs);
    return failed;
}
