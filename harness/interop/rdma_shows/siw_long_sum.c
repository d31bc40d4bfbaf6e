/* siw, VERBS-8.1.3.2-03: the sum of a list of elements is kept in 32 bits: a Send of 2^32 + 8 bytes is a
 * success, and arrives as one of 8. */
#include "long_sum.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    return shown("VERBS-8.1.3.2-03", long_sum(argv[1]));
}
