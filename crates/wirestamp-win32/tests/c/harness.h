/* Runs the cases of a C test program, each in a process of its own, with the environment that it names. Where a program
 * defines ROWS_ON_SIM0, the cases that name none (NULL) run once more with their sockets on a simulated interface. On Windows
 * (Wine with the model) only cases with a simulation run.
 *
 * usage of every test program: PROGRAM [CASE...]      default: all cases */
#ifndef HARNESS_H
#define HARNESS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <process.h>
#else
#include <sys/wait.h>
#include <unistd.h>
#endif

/* Where the scenarios of the tests are, seen from the top of the repository, where the tests run. */
#ifndef TESTS
#define TESTS "crates/wirestamp-win32/tests/c"
#endif

#ifdef ROWS_ON_SIM0
#undef ROWS_ON_SIM0
#define ROWS_ON_SIM0 1
#else
#define ROWS_ON_SIM0 0
#endif
#define ON_SIM0 "WIRESTAMP_SIM=windows-modern OPEN_ON_SIM0=1"

/* A row of what is promised, and what shows it. */
struct test {
    const char *name;
    void (*run)(void);
    const char *environment; /* "NAME=value NAME=value", or NULL: no simulation */
};

/* The environment of a case about what is the system's own on Windows: no simulation, nor ever one. */
#define OF_LINUX ""

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            printf("  %s:%d: not so: %s\n", __FILE__, __LINE__, #condition);        \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

/* Ends the case where this machine lacks something. Where WIRESTAMP_NO_SKIP is set, that is a failure. .ci/outcome.py looks for
 * lines that begin as this one. */
#define SKIPPED 77
static const char *case_name = "";
#define SKIP(reason)                                                                \
    do {                                                                            \
        printf("skipped: c-api: %s: %s\n", case_name, reason);                      \
        CHECK(getenv("WIRESTAMP_NO_SKIP") == NULL);                                 \
        exit(SKIPPED);                                                              \
    } while (0)

/* Two integers; both are shown if they differ. */
#define CHECK_EQUAL(left, right)                                                    \
    do {                                                                            \
        long long left_ = (long long)(left), right_ = (long long)(right);           \
        if (left_ != right_) {                                                      \
            printf("  %s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, \
                   #left, left_, #right, right_);                                   \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

#ifdef _WIN32
static inline void set_environment(const char *settings, int wanted)
{
    char *copy = strdup(settings), *setting;
    for (setting = strtok(copy, " "); setting != NULL; setting = strtok(NULL, " ")) {
        if (!wanted) strchr(setting, '=')[1] = 0;
        _putenv(setting);
    }
    free(copy);
}

/* 0 if the case passed, SKIPPED, or another number: a process of its own is this program again. */
static inline int run_case(const struct test *test, const char *environment)
{
    int result;
    fflush(stdout);
    set_environment(environment, 1);
    result = (int)_spawnl(_P_WAIT, _pgmptr, "test", "--alone", test->name, (char *)NULL);
    set_environment(environment, 0);
    return result;
}
/* What is not simulated is another system's there: facts.c compares that. */
#define IS_OF_THIS_SYSTEM(test) ((test)->environment != NULL && *(test)->environment != 0)
#else
static inline void set_environment(const char *settings)
{
    char *copy = strdup(settings), *rest = copy, *setting;
    while ((setting = strsep(&rest, " ")) != NULL) {
        char *value = strchr(setting, '=');
        *value = 0;
        setenv(setting, value + 1, 1);
    }
    free(copy);
}

/* 0 if the case passed, SKIPPED, or another number. */
static inline int run_case(const struct test *test, const char *environment)
{
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(100); /* a hang is a failure */
        unsetenv("WIRESTAMP_SIM");
        if (environment != NULL && *environment != 0) set_environment(environment);
        case_name = test->name;
        test->run();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    if (WIFSIGNALED(status)) printf("  ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define IS_OF_THIS_SYSTEM(test) ((test) != NULL)
#endif

/* How many cases ended so. */
struct results { int passed, failed, skipped; };

static inline void count_case(struct results *results, const struct test *test, const char *environment, const char *where)
{
    int result = run_case(test, environment);
    if (result == 0) {
        results->passed++;
    } else if (result == SKIPPED) {
        results->skipped++;
    } else {
        results->failed++;
        printf("FAILED %s%s\n", test->name, where);
    }
}

static inline int run_tests(const struct test *tests, int count, int wanted, char **names)
{
    struct results results = { 0, 0, 0 };
    int i, j;
    for (i = 0; i < count && wanted == 2 && strcmp(names[0], "--alone") == 0; i++) {
        if (strcmp(names[1], tests[i].name) != 0) continue;
        case_name = tests[i].name;
        tests[i].run();
        exit(0);
    }
    for (i = 0; i < count; i++) {
        int chosen = wanted == 0;
        for (j = 0; j < wanted; j++) chosen |= strcmp(names[j], tests[i].name) == 0;
        if (chosen && IS_OF_THIS_SYSTEM(&tests[i])) count_case(&results, &tests[i], tests[i].environment, "");
        if (chosen && ROWS_ON_SIM0 && tests[i].environment == NULL) count_case(&results, &tests[i], ON_SIM0, " on sim0");
    }
    if (results.skipped > 0) printf("%d skipped, ", results.skipped);
    printf("%d passed, %d failed\n", results.passed, results.failed);
    return results.failed > 0 || results.passed + results.skipped == 0;
}

#define RUN_TESTS(tests)                                                                               \
    int main(int argc, char **argv)                                                                    \
    {                                                                                                  \
        return run_tests(tests, (int)(sizeof(tests) / sizeof(*(tests))), argc - 1, argv + 1);          \
    }

#endif
