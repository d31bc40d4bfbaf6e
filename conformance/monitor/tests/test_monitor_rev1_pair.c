/* The monitor over two ports of Rev 1.0 that connect, also as Peers that cross, and go, under loss. */
int included_main(void);
#define main included_main
#include "../../../refimpl/tests/rev1/test_rev1_pair.c"
#undef main

#include "views.h"

int main(void)
{
    w_watch = watch;
    return included_main();
}
