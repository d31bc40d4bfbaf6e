/* Sanitizer settings that a fuzzer wants: a small quarantine is twice as fast, and inputs are short-lived.
 * Undefined behaviour ends the run also where the compiler was told that it might go on. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:malloc_context_size=4";
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}
