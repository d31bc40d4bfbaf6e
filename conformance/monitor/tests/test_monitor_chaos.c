/* The monitor over ports that connect, talk and leave while links come and go. */
#include <fcvi/fabric.h>

static void forget_all(void);
#define fcvi_port_link(port, now, event) (forget_all(), fcvi_port_link(port, now, event))
#define fcvi_port_lip(port, now, id) (forget_all(), fcvi_port_lip(port, now, id))
int included_main(void);
#define main included_main
#include "../../../refimpl/tests/fabric/test_fabric_chaos.c"
#undef main

#include "views.h"

/* A link event that ends logins without a frame is told to those who see everything, as a harness would. */
static void forget_all(void)
{
    for (unsigned i = 0; i < VIEWS; i++)
        if (views[i].monitor != NULL && views[i].trust != 0)
            fcvi_monitor_forget(views[i].monitor);
}

int main(void)
{
    w_watch = watch;
    return included_main();
}
