/* Errors: a function that can fail returns `enum err`; the sentence that a person reads is kept in
 * a thread-local buffer until the next failure. Nobody but main() prints it or exits. */
#ifndef TP_BASE_ERR_H
#define TP_BASE_ERR_H

/* name, exit code of the process when it reaches main(), short meaning */
#define ERR_LIST(X)                                                                                \
    X(ERR_OK, 0, "ok")                                                                             \
    X(ERR_USAGE, 2, "wrong call")                                                                  \
    X(ERR_INPUT, 2, "wrong input")                                                                 \
    X(ERR_UNSUPPORTED, 1, "not supported by this build or machine")                                \
    X(ERR_IO, 1, "input or output failed")                                                         \
    X(ERR_MEMORY, 1, "not enough memory")                                                          \
    X(ERR_FAILED, 1, "work failed")                                                                \
    X(ERR_INTERRUPTED, 130, "interrupted")                                                         \
    X(ERR_INTERNAL, 1, "internal error")

enum err {
#define X(name, exit_code, meaning) name,
    ERR_LIST(X)
#undef X
        ERR_COUNT
};

/* Records one sentence (printf format; what was wrong, where, what to do) and returns `code`. */
enum err err_set(enum err code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A sentence names parameters, `bin` or `bin=4`, so that it makes sense to any caller. A program that
 * takes them as options sets this, which spells them so in place (opt_spell); NULL: they stay. */
extern void (*err_speller)(char *sentence);
/* The same for texts that are kept elsewhere. */
void err_spell(char *sentence);

/* Puts "prefix: " before the recorded sentence, e.g. the file or key that a caller knows. */
enum err err_prefix(enum err code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last recorded sentence of this thread ("" when none), and where in the source it arose. */
const char *err_text(void);
const char *err_where(void);

const char *err_name(enum err code);
int err_exit_code(enum err code);

#define FAIL(code, ...) err_set((code), __FILE__, __LINE__, __VA_ARGS__)
#define FAIL_IF(condition, code, ...)                                                              \
    do {                                                                                           \
        if (condition)                                                                             \
            return FAIL(code, __VA_ARGS__);                                                        \
    } while (0)
#define TRY(expression)                                                                            \
    do {                                                                                           \
        enum err try_err_ = (expression);                                                          \
        if (try_err_ != ERR_OK)                                                                    \
            return try_err_;                                                                       \
    } while (0)
/* For functions with clean-up: sets `e` and jumps to `out:`. */
#define TRY_OUT(expression)                                                                        \
    do {                                                                                           \
        if ((e = (expression)) != ERR_OK)                                                          \
            goto out;                                                                              \
    } while (0)

#endif
