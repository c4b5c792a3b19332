/* Formatted text in buffers. Escapes what a terminal would obey, in a text and in all of stdout. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void path_folder(const char *path, char *out, size_t room)
{
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + (slash == path) : 1;
    snprintf(out, room, "%.*s", length, slash ? path : ".");
}

static int text_print_at(size_t used, char *out, size_t room, const char *format, va_list args)
{
    const int n = vsnprintf(out + used, room - used, format, args);
    return n >= 0 && (size_t)n < room - used;
}

int text_append(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int fits = text_print_at(strlen(out), out, room, format, args);
    va_end(args);
    return fits;
}

int text_print(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int fits = text_print_at(0, out, room, format, args);
    va_end(args);
    return fits;
}

/* Copies a name without what stands between < and >; 0: they do not match. */
static int name_without_templates(const char *name, char *out, size_t room)
{
    size_t n = 0;
    int depth = 0;
    *out = 0;
    for (size_t i = 0; name[i]; i++) {
        const int of_operator =
            !depth && (text_ends(out, "operator") || text_ends(out, "operator<") ||
                       text_ends(out, "operator>") || text_ends(out, "operator-"));
        const int arrow = i && name[i - 1] == '-';
        const char *piece = "";
        char letter[2] = {name[i], 0};
        if (name[i] == '<' && !of_operator)
            piece = depth++ ? "" : "<...>";
        else if (name[i] == '>' && depth && !arrow)
            depth--;
        else if (!depth)
            piece = letter;
        if (n + strlen(piece) >= room)
            return 0;
        n += (size_t)snprintf(out + n, room - n, "%s", piece);
    }
    return !depth;
}

/* Finds the ( that belongs to the ) at the end, before "const"; NULL: there is none. */
static char *name_parameters(char *name)
{
    size_t n = strlen(name);
    int depth = 0;
    if (text_ends(name, " const"))
        n -= strlen(" const");
    if (!n || name[n - 1] != ')')
        return NULL;
    while (n--) {
        depth += (name[n] == ')') - (name[n] == '(');
        if (!depth)
            return name + n;
    }
    return NULL;
}

/* Writes std::string as programs do. */
static void name_plain_strings(char *name)
{
    static const char full[] = "std::__cxx11::basic_string<...>", plain[] = "std::string";
    for (char *at = name; (at = strstr(at, full)); at += sizeof plain - 1) {
        memcpy(at, plain, sizeof plain - 1);
        memmove(at + sizeof plain - 1, at + sizeof full - 1, strlen(at + sizeof full - 1) + 1);
    }
}

const char *name_text(const char *name, char out[NAME_TEXT])
{
    enum { LONG = 44, STILL_LONG = 60, LONG_PARAMETERS = 20, ROOM = 4000 }; /* as the page */
    char text[ROOM];
    snprintf(out, NAME_TEXT, "%s", name);
    if (strlen(name) <= LONG || *name == '<' || !name_without_templates(name, text, sizeof text))
        return out;
    name_plain_strings(text);
    char *open = strlen(text) > STILL_LONG ? name_parameters(text) : NULL;
    if (open && strlen(open) > LONG_PARAMETERS)
        snprintf(open, sizeof text - (size_t)(open - text), "(...)");
    snprintf(out, NAME_TEXT, "%s", text);
    return out;
}

const char *number_text(double v, int digits, char out[NUMBER_TEXT])
{
    const double size = fabs(v);
    if (size < 1e15 && size >= pow(10, digits) - 0.5)
        snprintf(out, NUMBER_TEXT, "%.0f", v);
    else if (size < 1e-4 && size > 1e-12)
        snprintf(out, NUMBER_TEXT, "%.*f", digits - 1 - (int)floor(log10(size)), v);
    else
        snprintf(out, NUMBER_TEXT, "%.*g", digits, v);
    return out;
}

#define ESCAPED (PLAIN_FORM - 1) /* room of one escaped character */

static const char *const styles[] = {PLAIN_BOLD, PLAIN_DIM, PLAIN_RED, PLAIN_YELLOW, PLAIN_END};

/* Bytes of a style at `p`; 0: none; *more: it may become one with further bytes. */
static size_t style_at(const char *p, size_t n, int *more)
{
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        size_t length = strlen(styles[i]);
        if (!memcmp(p, styles[i], n < length ? n : length)) {
            *more = n < length;
            return n < length ? 0 : length;
        }
    }
    return 0;
}

/* Bytes of the UTF-8 character at `p` and its number; 0: not one; *more: cut by the end. */
static size_t character_at(const unsigned char *p, size_t n, uint32_t *code, int *more)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] > 0xF4 || (p[0] >= 0x80 && p[0] < 0xC2))
        return 0;
    *code = length == 1 ? p[0] : p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        *more = i == n;
        if (i == n || (p[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3F);
    }
    return *code < least[length] || *code > 0x10FFFF ? 0 : length;
}

/* C0 and C1 controls, marks and overrides of direction, line and paragraph separators, tags. */
static int is_obeyed(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},
                                         {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069},
                                         {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return 1;
    return 0;
}

static int text_escape(uint32_t c, char out[ESCAPED])
{
    if (c == '\n' || c == '\t' || c == '\r')
        return snprintf(out, ESCAPED, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    return snprintf(out, ESCAPED, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
}

/* Takes one character or style: bytes taken of `p`, its form in out[*bytes]. 0: more bytes are
 * needed, never where `last`. */
static size_t text_step(const char *p, size_t n, enum plain_keep keep, int last, char out[ESCAPED],
                        size_t *bytes)
{
    uint32_t code = 0;
    int more = 0;
    size_t taken = keep == PLAIN_STYLED && *p == '\033' ? style_at(p, n, &more) : 0;
    if (more && !last)
        return 0;
    int passes = taken || (keep != PLAIN_LINE && (*p == '\n' || *p == '\t'));
    if (!taken)
        taken = character_at((const unsigned char *)p, n, &code, &more);
    if (!taken && more && !last)
        return 0;
    if (taken && (passes || !is_obeyed(code))) {
        memcpy(out, p, taken);
        *bytes = taken;
        return taken;
    }
    *bytes = (size_t)(taken ? text_escape(code, out)
                            : snprintf(out, ESCAPED, "\\x%02x", (unsigned char)*p));
    return taken ? taken : 1;
}

size_t plain_take(const char **in, char out[PLAIN_FORM])
{
    enum { CHARACTER = 4 }; /* bytes at most */
    size_t bytes;
    *in += text_step(*in, strnlen(*in, CHARACTER), PLAIN_LINE, 1, out, &bytes);
    out[bytes] = 0;
    return bytes;
}

size_t plain_text(const char *in, enum plain_keep keep, char *out, size_t room)
{
    size_t used = 0, left = strlen(in), bytes;
    char form[ESCAPED];
    while (left) {
        size_t taken = text_step(in, left, keep, 1, form, &bytes);
        if (used + bytes >= room)
            break;
        memcpy(out + used, form, bytes);
        used += bytes;
        in += taken;
        left -= taken;
    }
    out[used] = 0;
    return used;
}

/* Texts of others among the arguments of a format. */

struct plain_sink {
    FILE *file; /* NULL: a buffer */
    char *out;
    size_t room, used;
};

static void sink_put(struct plain_sink *s, const char *text, size_t n)
{
    if (s->file) {
        fwrite(text, 1, n, s->file);
        return;
    }
    n = n < s->room - 1 - s->used ? n : s->room - 1 - s->used;
    memcpy(s->out + s->used, text, n);
    s->used += n;
}

static void sink_blanks(struct plain_sink *s, size_t n)
{
    while (n--)
        sink_put(s, " ", 1);
}

/* Puts a text as one line; s NULL: counts its bytes alone. */
static size_t sink_line(struct plain_sink *s, const char *text, size_t n)
{
    size_t all = 0, bytes;
    char form[ESCAPED];
    for (size_t at = 0; at < n; all += bytes) {
        const enum plain_keep keep = text[at] == '\t' ? PLAIN_LINES : PLAIN_LINE;
        at += text_step(text + at, n - at, keep, 1, form, &bytes);
        if (s)
            sink_put(s, form, bytes);
    }
    return all;
}

/* A conversion: its flags, width and precision (-1: none), and the letters behind them. */
struct plain_conversion {
    char flags[8], letters[4];
    int width, precision;
};

static int conversion_number(const char **at, va_list *args)
{
    int n = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(*args, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at)
        n = 10 * n + **at - '0';
    return n;
}

static void conversion_take(const char **at, va_list *args, struct plain_conversion *c)
{
    size_t n = strspn(*at, "-+ #0");
    *c = (struct plain_conversion){.precision = -1};
    memcpy(c->flags, *at, n < sizeof c->flags ? n : sizeof c->flags - 1);
    *at += n;
    c->width = conversion_number(at, args);
    if (c->width < 0) {
        c->width = -c->width;
        memcpy(c->flags, "-", 2);
    }
    if (**at == '.') {
        ++*at;
        c->precision = conversion_number(at, args);
    }
    n = strspn(*at, "hljzt") + 1;
    memcpy(c->letters, *at, n < sizeof c->letters ? n : sizeof c->letters - 1);
    *at += strlen(c->letters);
}

static void sink_text(struct plain_sink *s, const struct plain_conversion *c, const char *text)
{
    text = text ? text : "(null)";
    const size_t n = c->precision < 0 ? strlen(text) : strnlen(text, (size_t)c->precision);
    const size_t bytes = sink_line(NULL, text, n), width = (size_t)c->width;
    const size_t blanks = width > bytes ? width - bytes : 0;
    if (!strchr(c->flags, '-'))
        sink_blanks(s, blanks);
    sink_line(s, text, n);
    if (strchr(c->flags, '-'))
        sink_blanks(s, blanks);
}

/* Numbers of 64 bits have a letter before the last one. */
static void sink_number(struct plain_sink *s, const struct plain_conversion *c, va_list *args)
{
    char spec[24], text[400];
    const char last = c->letters[strlen(c->letters) - 1];
    int n;
    snprintf(spec, sizeof spec, "%%%s*.*%s", c->flags, c->letters);
    if (strchr("eEfFgGaA", last))
        n = snprintf(text, sizeof text, spec, c->width, c->precision, va_arg(*args, double));
    else if (strpbrk(c->letters, "ljztp"))
        n = snprintf(text, sizeof text, spec, c->width, c->precision, va_arg(*args, long long));
    else
        n = snprintf(text, sizeof text, spec, c->width, c->precision, va_arg(*args, int));
    if (n > 0)
        sink_put(s, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void sink_format(struct plain_sink *s, const char *format, va_list *args)
{
    struct plain_conversion c;
    for (;;) {
        const size_t n = strcspn(format, "%");
        sink_put(s, format, n);
        format += n;
        if (!*format)
            return;
        format++;
        conversion_take(&format, args, &c);
        const char last = *c.letters ? c.letters[strlen(c.letters) - 1] : 0;
        if (last == 's')
            sink_text(s, &c, va_arg(*args, const char *));
        else if (last == '%')
            sink_put(s, "%", 1);
        else if (last)
            sink_number(s, &c, args);
    }
}

void plain_vprint(FILE *out, const char *format, va_list args)
{
    struct plain_sink s = {.file = out};
    va_list own;
    va_copy(own, args);
    sink_format(&s, format, &own);
    va_end(own);
}

void plain_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plain_vprint(out, format, args);
    va_end(args);
}

void plain_vformat(char *out, size_t room, const char *format, va_list args)
{
    struct plain_sink s = {.out = out, .room = room};
    va_list own;
    va_copy(own, args);
    sink_format(&s, format, &own);
    va_end(own);
    out[s.used] = 0;
}

/* A character or style whose end has not been printed yet. */
static struct {
    FILE *terminal;
    char begun[8];
    size_t bytes;
    enum plain_keep keep;
} guard = {.keep = PLAIN_LINES};

static ssize_t guarded_write(void *cookie, const char *data, size_t n)
{
    (void)cookie;
    char form[ESCAPED];
    size_t bytes, done = 0;
    while (done < n) {
        /* at most 4 bytes of a begun one wait: with 4 more each character and style is whole */
        char joined[sizeof guard.begun];
        size_t had = guard.bytes, fresh = n - done;
        fresh = fresh < sizeof joined - had ? fresh : sizeof joined - had;
        memcpy(joined, guard.begun, had);
        memcpy(joined + had, data + done, fresh);
        size_t taken = text_step(joined, had + fresh, guard.keep, 0, form, &bytes);
        if (!taken) {
            memcpy(guard.begun, joined, had + fresh);
            guard.bytes = had + fresh;
            done += fresh;
            continue;
        }
        if (fwrite(form, 1, bytes, guard.terminal) != bytes)
            return 0;
        /* The rest of the begun bytes comes first again. */
        guard.bytes = had > taken ? had - taken : 0;
        memcpy(guard.begun, joined + taken, guard.bytes);
        done += taken > had ? taken - had : 0;
    }
    return fflush(guard.terminal) ? 0 : (ssize_t)n;
}

static int guarded_close(void *cookie)
{
    (void)cookie;
    for (size_t i = 0; i < guard.bytes; i++)
        fprintf(guard.terminal, "\\x%02x", (unsigned char)guard.begun[i]);
    guard.bytes = 0;
    return fflush(guard.terminal);
}

void plain_stdout_styles(void)
{
    guard.keep = PLAIN_STYLED;
}

void plain_stdout(void)
{
    if (!isatty(STDOUT_FILENO) || guard.terminal)
        return;
    FILE *stream = fopencookie(
        NULL, "w", (cookie_io_functions_t){.write = guarded_write, .close = guarded_close});
    if (!stream)
        return;
    guard.terminal = stdout;
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}
