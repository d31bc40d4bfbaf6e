/* Sanitizer settings that a fuzzer wants. Undefined behaviour ends the run also where the compiler was told
 * that it might go on. */
#include <stddef.h>

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* Of a target whose code allocates memory: what it frees is kept for a while, so that ASan sees who uses it
 * then, and what it gets is filled. Otherwise the only allocation is the engine's own copy of the input. */
extern const char fcvi_fuzz_allocates __attribute__((weak));

const char *__asan_default_options(void)
{
    if (&fcvi_fuzz_allocates != NULL)
        return "quarantine_size_mb=1:malloc_context_size=4";
    return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0:max_malloc_fill_size=0:malloc_context_"
           "size=4";
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}
