/* A target for a parser of your own: this is all of it. Replace your_parser by what you ship. */
#include <fcvi_mutator.h>

int your_parser(const uint8_t *frame, size_t length); /* from R_CTL on, without SOF, CRC and EOF */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct fcvi_mutator_format fcvi_fuzz_format = {.trailer = 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    your_parser(data, size);
    return 0;
}

/* Stands for yours: trusts FCVI_TOT_LEN, and DISCRIM_LEN of an address. */
int your_parser(const uint8_t *frame, size_t length)
{
    static volatile uint8_t discriminator[16];
    if (length < 396 || frame[8] != 0x58 || frame[28] != 0x10)
        return -1;
    for (unsigned i = 0; i < frame[56 + 12 + 3]; i++) /* the defect: 16 is what it has room for */
        discriminator[i] = frame[56 + 12 + 20 + i];
    return 0;
}
