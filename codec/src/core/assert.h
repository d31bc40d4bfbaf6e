/* The public header, by the name that the port includes. */
#ifndef FCVI_CORE_ASSERT_H
#define FCVI_CORE_ASSERT_H

#include <fcvi/assert.h>

#endif
