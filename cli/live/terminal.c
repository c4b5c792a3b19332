/* A terminal in which keys come one by one: entered, left, its size, its keys. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/live/live.h"

#define TERMINAL_ENTER "\033[?1049h\033[?25l" /* the other screen, without a cursor */
#define TERMINAL_LEAVE "\033[?25h\033[?1049l"

static struct termios terminal_before;
static volatile sig_atomic_t terminal_is_taken;

void terminal_show(const char *text, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(STDOUT_FILENO, text, bytes);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

/* Keys are not echoed and come at once. */
static void terminal_take(void)
{
    struct termios raw = terminal_before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    terminal_show(TERMINAL_ENTER, strlen(TERMINAL_ENTER));
    terminal_is_taken = 1;
}

void terminal_leave(void)
{
    if (!terminal_is_taken)
        return;
    terminal_is_taken = 0;
    terminal_show(TERMINAL_LEAVE, strlen(TERMINAL_LEAVE));
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

/* Ends a poll(), after which the screen is drawn in the new size. */
static void terminal_on_size(int number)
{
    (void)number;
}

/* Ctrl-Z: the shell gets the terminal as it was. */
static void terminal_on_stop(int number)
{
    const int why = errno;
    (void)number;
    terminal_leave();
    raise(SIGSTOP);
    terminal_take();
    errno = why;
}

enum err terminal_enter(void)
{
    struct sigaction size = {.sa_handler = terminal_on_size},
                     stop = {.sa_handler = terminal_on_stop};
    FAIL_IF(tcgetattr(STDIN_FILENO, &terminal_before), ERR_IO, "the terminal cannot be set: %s",
            strerror(errno));
    atexit(terminal_leave);
    sigaction(SIGWINCH, &size, NULL);
    sigaction(SIGTSTP, &stop, NULL);
    terminal_take();
    return ERR_OK;
}

void terminal_size(int *columns, int *rows)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *columns = size.ws_col ? size.ws_col : 80;
    *rows = size.ws_row ? size.ws_row : 24;
}

int terminal_key(void)
{
    static const struct {
        const char *bytes;
        int key;
    } keys[] = {{"\033[A", KEY_UP},   {"\033OA", KEY_UP},       {"\033[B", KEY_DOWN},
                {"\033OB", KEY_DOWN}, {"\033[5~", KEY_PAGE_UP}, {"\033[6~", KEY_PAGE_DOWN},
                {"\033[H", KEY_HOME}, {"\033[1~", KEY_HOME},    {"\033OP", KEY_F1},
                {"\033[11~", KEY_F1}, {"\033[17~", KEY_F6},     {"\033[21~", KEY_F10}};
    static char waiting[64];
    static size_t used;
    const ssize_t n = read(STDIN_FILENO, waiting + used, sizeof waiting - used);
    used += n > 0 ? (size_t)n : 0;
    if (!used)
        return 0;
    size_t length = 1;
    int key = (unsigned char)waiting[0];
    if (key == '\033') {
        length = used; /* what is not known is dropped as a whole */
        key = 0;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            const size_t k = strlen(keys[i].bytes);
            if (k <= used && !memcmp(waiting, keys[i].bytes, k))
                key = keys[i].key, length = k;
        }
    }
    used -= length;
    memmove(waiting, waiting + length, used);
    return key;
}
