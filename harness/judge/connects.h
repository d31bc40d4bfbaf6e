/* Connect IUs that come in several frames (E44), put together over the captures of a stream. */
#ifndef FCVI_JUDGE_CONNECTS_H
#define FCVI_JUDGE_CONNECTS_H

#include <capture.h>

#ifdef __cplusplus
extern "C" {
#endif

struct connects;

/** NULL when there is no memory. */
struct connects *fcvi_connects_open(void);
void fcvi_connects_close(struct connects *connects);

/** A connect IU (decoded by the edition of 2007) whose payload goes on in another frame, or goes on from one.
 */
bool fcvi_connects_is_part(const struct fcvi_frame *frame);

/** Take such a part. findings: of the whole, when it ends with this part and none is missing. */
void fcvi_connects_take(struct connects *connects, const struct capture_record *record,
                        const struct fcvi_frame *frame, struct fcvi_findings *findings);

#ifdef __cplusplus
}
#endif

#endif
