/* Chance (SplitMix64): what a seed makes of losses and times. */
#include "internal.h"

uint64_t fcvi_fabric_random(struct fcvi_fabric *f, uint64_t below)
{
    f->random += 0x9E3779B97F4A7C15u;
    uint64_t z = f->random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % below;
}
