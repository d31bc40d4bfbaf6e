/* Watching an interface, on the loopback of a network namespace of its own: what passes comes out whole, in
 * order, and into a ring that stays as small as it should. */
#define _GNU_SOURCE
#include "../tap.h"

#include "../../../codec/tests/quiet_check.h"

#include <dirent.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 60, MARK = 0x88B5, LONGEST = 20000, FILES = 3, FILE_BYTES = 10000, ERROR = 256 };
enum { BLOCK_MOST = 70000, SECTION = 0x0A0D0D0A, INTERFACE = 1, PACKET = 6 };

/* False: this user may not. */
static bool enter_namespace(void)
{
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    struct ifreq up = {.ifr_flags = IFF_UP | IFF_RUNNING};
    strcpy(up.ifr_name, "lo");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &up), 0);
    close(fd);
    return true;
}

/* Frame i: of a length that is its own, and of bytes that say which it is. */
static size_t frame_of(unsigned i, uint8_t *out)
{
    const size_t length = i == 0 ? LONGEST : 14 + i * 37;
    memset(out, (int)i, length);
    memset(out, 0, 12);
    out[12] = MARK >> 8;
    out[13] = MARK & 0xFF;
    return length;
}

static void send_frame(int fd, unsigned i)
{
    static uint8_t bytes[LONGEST];
    const size_t length = frame_of(i, bytes);
    if (send(fd, bytes, length, 0) != (ssize_t)length)
        _exit(10);
}

static int sender(void)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("lo")};
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0)
        _exit(11);
    return fd;
}

static void take(int fd, uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = read(fd, bytes, length);
        if (n <= 0)
            _exit(12);
        bytes += n;
        length -= (size_t)n;
    }
}

/* The next block; its body begins at the third word. */
static uint32_t take_block(int fd, uint8_t *bytes)
{
    uint32_t head[2], again;
    take(fd, (uint8_t *)head, sizeof head);
    if (head[1] < 12 || head[1] > BLOCK_MOST || head[1] % 4 != 0)
        _exit(13);
    take(fd, bytes, head[1] - sizeof head);
    memcpy(&again, bytes + head[1] - 12, sizeof again);
    if (again != head[1])
        _exit(14);
    return head[0];
}

static bool is_frame(const uint8_t *block, unsigned i)
{
    static uint8_t expected[LONGEST];
    uint32_t caught, whole;
    memcpy(&caught, block + 12, sizeof caught);
    memcpy(&whole, block + 16, sizeof whole);
    return caught == frame_of(i, expected) && whole == caught && memcmp(block + 20, expected, caught) == 0;
}

/* The far end: sends frames, and reads them out of the pipe. A last frame finds nobody who reads. */
static void far_end(int pipe)
{
    static uint8_t block[BLOCK_MOST];
    int fd = sender();
    if (take_block(pipe, block) != SECTION || take_block(pipe, block) != INTERFACE)
        _exit(15);
    for (unsigned i = 0; i < FRAMES; i++) {
        send_frame(fd, i);
        do {
            if (take_block(pipe, block) != PACKET)
                _exit(16);
        } while (block[32] != MARK >> 8 || block[33] != (MARK & 0xFF)); /* of the kernel */
        if (!is_frame(block, i))
            _exit(17);
    }
    close(pipe);
    send_frame(fd, 1);
    _exit(0);
}

static unsigned empty(const char *directory)
{
    char name[512];
    unsigned count = 0;
    DIR *d = opendir(directory);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        count++;
        snprintf(name, sizeof name, "%s/%s", directory, e->d_name);
        unlink(name);
    }
    closedir(d);
    return count;
}

START_TEST(test_what_passes_comes_out)
{
    char error[ERROR] = "", directory[] = "/tmp/fcvi-tap-XXXXXX";
    int ends[2], status;
    if (!enter_namespace()) {
        puts("not allowed to make a network namespace: nothing was watched");
        return;
    }
    signal(SIGPIPE, SIG_IGN);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    struct tap *tap = fcvi_tap_open("lo", error, sizeof error);
    ck_assert_msg(tap != NULL, "%s", error);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        far_end(ends[0]);
    }
    close(ends[0]);
    status = fcvi_tap_pump(tap, ends[1], &(struct tap_ring){directory, FILES, FILE_BYTES});
    ck_assert_msg(status == 0, "%s", fcvi_tap_why(tap));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(ends[1]);
    ck_assert_uint_eq(empty(directory), FILES); /* of eight */
    rmdir(directory);
    fcvi_tap_close(tap);
}
END_TEST

/* One line each. */
START_TEST(test_what_cannot_be_watched)
{
    char error[ERROR] = "";
    ck_assert_ptr_null(fcvi_tap_open("there-is-none", error, sizeof error));
    ck_assert(error[0] != '\0' && strchr(error, '\n') == NULL);
    if (!enter_namespace())
        return;
    struct tap *tap = fcvi_tap_open("lo", error, sizeof error);
    ck_assert_msg(tap != NULL, "%s", error);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcvi_tap_pump(tap, ends[1], &(struct tap_ring){"/nowhere/at/all", 2, 1}), -1);
    ck_assert(strstr(fcvi_tap_why(tap), "/nowhere/at/all") != NULL &&
              strchr(fcvi_tap_why(tap), '\n') == NULL);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    ck_assert_int_eq(fcvi_tap_pump(tap, ends[1], NULL), 0);
    close(ends[1]);
    fcvi_tap_close(tap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tap");
    TCase *tests = tcase_create("tap");
    tcase_add_test(tests, test_what_passes_comes_out);
    tcase_add_test(tests, test_what_cannot_be_watched);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
