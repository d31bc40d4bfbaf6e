/* What holds at the border of a room. On with -DFCVI_ASSERTS and under AddressSanitizer: in tests, coverage
 * and fuzzing. No code in a release. */
#ifndef FCVI_BLOCK_ASSERT_H
#define FCVI_BLOCK_ASSERT_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FCVI_SANITIZED
#endif
#endif
#if defined(FCVI_ASSERTS) || defined(__SANITIZE_ADDRESS__) || defined(FCVI_SANITIZED)
#define FCVI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define FCVI_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
