/* The version of the library; the Makefile reads it here. */
#ifndef FCVI_CODEC_VERSION_H
#define FCVI_CODEC_VERSION_H

#define FCVI_VERSION "0.2.0"

#endif
