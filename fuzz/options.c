/* Sanitizer settings that a fuzzer wants: a small quarantine is twice as fast, and inputs are short-lived. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:malloc_context_size=4";
}
