/* Runs a target over files, for compilers without libFuzzer: replay FILE... */
#include "fuzz.h"

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        CHECK(file && fseek(file, 0, SEEK_END) == 0);
        long size = ftell(file);
        CHECK(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
        uint8_t *data = malloc(size ? (size_t)size : 1);
        CHECK(data && fread(data, 1, (size_t)size, file) == (size_t)size);
        fclose(file);
        fprintf(stderr, "%s\n", names[i]);
        LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    return 0;
}
