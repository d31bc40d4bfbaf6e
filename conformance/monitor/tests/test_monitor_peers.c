/* The monitor over Peers that cross, and ports that connect to themselves, under loss. */
int included_main(void);
#define main included_main
#include "../../../refimpl/tests/setup/test_peer_pair.c"
#undef main

#include "views.h"

int main(void)
{
    w_watch = watch;
    return included_main();
}
