/* How much memory a command takes: bench_memory COMMAND [WORD...]. Prints, after what the command prints, the
 * KiB that were resident at most. A small parent, since what it had counts for the child as well. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    if (argc < 2)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || !WIFEXITED(status))
        return 3;
    printf("%ld\n", used.ru_maxrss);
    return WEXITSTATUS(status);
}
