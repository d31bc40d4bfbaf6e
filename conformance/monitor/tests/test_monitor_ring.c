/* The monitor over three ports under seeded faults of the simulated Fabric. */
int included_main(void);
#define main included_main
#include "../../../refimpl/tests/fabric/test_fabric_seeds.c"
#undef main

#include "views.h"

int main(void)
{
    w_watch = watch;
    return included_main();
}
