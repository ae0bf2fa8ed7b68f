/* The words for errors, and the end of a program. */
#include "sockets.h"
#include <signal.h>

static void an_error_has_words(void)
{
    char text[200], *allocated = NULL;
    WCHAR wide[200];
    DWORD system = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    DWORD language = MAKELANGID(LANG_NEUTRAL, SUBLANG_DEFAULT), length;
    length = FormatMessageA(system, NULL, WSAEWOULDBLOCK, language, text, sizeof(text), NULL);
    CHECK(length > 10 && length == strlen(text) && strcmp(text + length - 2, "\r\n") == 0);
    CHECK_EQUAL(FormatMessageA(system | FORMAT_MESSAGE_MAX_WIDTH_MASK, NULL, WSAEWOULDBLOCK, 0, text, sizeof(text),
                               NULL),
                length - 2);
    CHECK(strchr(text, '\n') == NULL);
    CHECK_EQUAL(FormatMessageW(system, NULL, WSAEWOULDBLOCK, 0, wide, 200, NULL), length);
    CHECK(wcslen(wide) == length && wide[0] == (WCHAR)text[0]);
    CHECK_EQUAL(FormatMessageA(system | FORMAT_MESSAGE_ALLOCATE_BUFFER, NULL, WSAEWOULDBLOCK, language,
                               (LPSTR)(void *)&allocated, 0, NULL),
                length);
    CHECK(allocated != NULL && strncmp(allocated, text, length - 2) == 0);
    CHECK(LocalFree(allocated) == NULL && LocalFree(NULL) == NULL);
    allocated = text; /* nothing of ours is left there, or LocalFree would free it */
    CHECK_EQUAL(FormatMessageA(system | FORMAT_MESSAGE_ALLOCATE_BUFFER, NULL, 123456, 0, (LPSTR)(void *)&allocated, 0,
                               NULL),
                0);
    CHECK(GetLastError() == ERROR_MR_MID_NOT_FOUND && allocated == NULL);
    CHECK_EQUAL(FormatMessageA(system | FORMAT_MESSAGE_FROM_HMODULE | FORMAT_MESSAGE_ARGUMENT_ARRAY, NULL,
                               WSAEWOULDBLOCK, 0, text, sizeof(text), NULL),
                length);
    CHECK_EQUAL(FormatMessageA(system, NULL, WSAEWOULDBLOCK, 0, text, length, NULL), 0);
    CHECK_EQUAL(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    CHECK_EQUAL(FormatMessageA(system, NULL, 123456, 0, text, sizeof(text), NULL), 0);
    CHECK_EQUAL(GetLastError(), ERROR_MR_MID_NOT_FOUND);
    CHECK_EQUAL(FormatMessageA(FORMAT_MESSAGE_FROM_STRING, "of its own", 0, 0, text, sizeof(text), NULL), 0);
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_PARAMETER);
}

static HANDLE first_called, second_called;
static DWORD first_event = 99, second_event = 99;

static BOOL WINAPI first(DWORD event)
{
    first_event = event;
    SetEvent(first_called);
    return TRUE;
}

/* The newer one: asked first, and passes on what is no interrupt. */
static BOOL WINAPI second(DWORD event)
{
    second_event = event;
    SetEvent(second_called);
    return event == CTRL_C_EVENT;
}

static void handlers_are_asked_the_newest_first(void)
{
    /* a shell in the background ignores the one, nohup the other */
    signal(SIGINT, SIG_DFL), signal(SIGHUP, SIG_DFL);
    first_called = CreateEventA(NULL, FALSE, FALSE, NULL), second_called = CreateEventA(NULL, FALSE, FALSE, NULL);
    CHECK(SetConsoleCtrlHandler(first, TRUE));
    CHECK(SetConsoleCtrlHandler(second, TRUE));
    kill(getpid(), SIGINT);
    CHECK_EQUAL(WaitForSingleObject(second_called, 10000), WAIT_OBJECT_0);
    kill(getpid(), SIGTERM);
    CHECK_EQUAL(WaitForSingleObject(first_called, 10000), WAIT_OBJECT_0);
    CHECK(second_event == CTRL_CLOSE_EVENT && first_event == CTRL_CLOSE_EVENT); /* the interrupt was not passed on */
    CHECK_EQUAL(WaitForSingleObject(second_called, 10000), WAIT_OBJECT_0);
    CHECK(SetConsoleCtrlHandler(second, FALSE));
    CHECK(!SetConsoleCtrlHandler(second, FALSE) && GetLastError() == ERROR_INVALID_PARAMETER);
    kill(getpid(), SIGHUP);
    CHECK_EQUAL(WaitForSingleObject(first_called, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(first_event, CTRL_LOGOFF_EVENT);
    CHECK(SetConsoleCtrlHandler(NULL, TRUE)); /* Ctrl-C is ignored, the rest is not */
    kill(getpid(), SIGINT);
    CHECK_EQUAL(WaitForSingleObject(first_called, 100), WAIT_TIMEOUT);
    kill(getpid(), SIGTERM);
    CHECK_EQUAL(WaitForSingleObject(first_called, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(first_event, CTRL_CLOSE_EVENT);
}

static void what_nohup_ignores_stays_ignored(void)
{
    first_called = CreateEventA(NULL, FALSE, FALSE, NULL);
    signal(SIGINT, SIG_DFL), signal(SIGHUP, SIG_IGN);
    CHECK(SetConsoleCtrlHandler(first, TRUE));
    kill(getpid(), SIGHUP);
    CHECK_EQUAL(WaitForSingleObject(first_called, 100), WAIT_TIMEOUT);
    kill(getpid(), SIGINT);
    CHECK_EQUAL(WaitForSingleObject(first_called, 10000), WAIT_OBJECT_0);
}

/* How a child ends that passes the signal on. */
static void an_unhandled_signal_ends_the_program(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        first_called = CreateEventA(NULL, FALSE, FALSE, NULL), second_called = CreateEventA(NULL, FALSE, FALSE, NULL);
        SetConsoleCtrlHandler(second, TRUE);
        kill(getpid(), SIGTERM);
        Sleep(10000);
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(an_error_has_words),
    ROW(handlers_are_asked_the_newest_first),
    ROW(what_nohup_ignores_stays_ignored),
    ROW(an_unhandled_signal_ends_the_program),
};
RUN_TESTS(tests)
