/* Completion for bash, zsh and fish. */
#include <stdio.h>
#include <string.h>

#include "cli/reference/reference.h"
#include "host/suite/catalogue/catalogue.h"

/* Returns the choices of a value ("auto|cpu|cuda"), NULL where they are not known or the value is a
 * file's name. */
static const char *reference_choices(const struct opt *row)
{
    if (!row->meta || !strchr(row->meta, '|'))
        return NULL;
    return row->meta;
}

static int command_is_listed(const struct command *c)
{
    return !(c->flags & CMD_HIDDEN);
}

/* "a|b|c" as "a b c". */
static void put_choices(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* The first line, fit to be put between single quotes; `special` are escaped by a backslash too. */
static void put_quoted(const char *s, const char *quote, const char *special)
{
    for (; *s && *s != '\n'; s++) {
        if (*s == '\'') {
            fputs(quote, stdout);
            continue;
        }
        if (strchr(special, *s))
            putchar('\\');
        putchar(*s);
    }
}

static void put_operations(void)
{
    const struct operation *op;
    for (int i = 0; (op = operation_at(i)); i++)
        printf("%s%s", i ? " " : "", op->name);
}

/* Does the command's first word, or this option's value, name operations? */
static int names_operation(const struct command *c)
{
    return !strcmp(c->name, "apply");
}

static int lists_operations(const struct command *c, const struct opt *r)
{
    return !strcmp(c->name, "run") && !strcmp(r->name, "ops");
}

static void bash_options(const struct command *c)
{
    printf("    %s) options='", c->name);
    for (const struct opt *r = c->options; r->name; r++)
        if (r->help)
            printf("--%s ", r->name);
    printf("--help' wraps=%d ;;\n", (c->flags & CMD_WRAPS) != 0);
}

static void bash_value(const struct command *c, const struct opt *r)
{
    if (r->kind == OPT_FLAG)
        return;
    printf("    \"%s --%s\"", c->name, r->name);
    if (r->letter)
        printf(" | \"%s -%c\"", c->name, r->letter);
    fputs(") values='", stdout);
    const char *choices = reference_choices(r);
    if (choices)
        put_choices(choices);
    if (lists_operations(c, r))
        put_operations();
    printf("' kind=%s ;;\n", opt_is_path(r) ? "file" : "value");
}

static const char bash_head[] =
    "# Completion of tomoprof for bash, made from its tables of options.\n"
    "_tomoprof()\n{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]} options= wraps=0 values= kind=word i\n"
    "    COMPREPLY=()\n";

static const char bash_tail[] = "    esac\n"
                                "    if [ \"$wraps\" = 1 ]; then\n"
                                "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
                                "            [ \"${COMP_WORDS[i]}\" = -- ] && break\n"
                                "        done\n"
                                "        if ((i < COMP_CWORD)); then\n"
                                "            if ((i + 1 == COMP_CWORD)); then\n"
                                "                COMPREPLY=($(compgen -c -- \"$cur\"))\n"
                                "            fi\n"
                                "            COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                                "            return\n"
                                "        fi\n"
                                "    fi\n"
                                "    case $cur in\n"
                                "    -*) [ \"$kind\" = word ] && values=$options kind=value ;;\n"
                                "    esac\n"
                                "    if [ -n \"$values\" ]; then\n"
                                "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
                                "    elif [ \"$kind\" != value ]; then\n"
                                "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                                "    fi\n"
                                "}\n"
                                "complete -o filenames -F _tomoprof tomoprof\n";

void reference_bash(const struct command *const *commands)
{
    fputs(bash_head, stdout);
    fputs("    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '", stdout);
    for (const struct command *const *c = commands; *c; c++)
        if (command_is_listed(*c))
            printf("%s ", (*c)->name);
    fputs("help --help --version' -- \"$cur\"))\n        return\n    fi\n    case $command in\n",
          stdout);
    for (const struct command *const *c = commands; *c; c++)
        if (command_is_listed(*c))
            bash_options(*c);
    fputs("    esac\n    case \"$command $prev\" in\n    'apply apply') values='", stdout);
    put_operations();
    fputs("' kind=value ;;\n", stdout);
    for (const struct command *const *c = commands; *c; c++)
        for (const struct opt *r = command_is_listed(*c) ? (*c)->options : NULL; r && r->name; r++)
            bash_value(*c, r);
    fputs(bash_tail, stdout);
}

static void zsh_option(const struct command *c, const struct opt *r)
{
    printf("        '--%s%s[", r->name, r->kind == OPT_FLAG ? "" : "=");
    put_quoted(r->help, "'\\''", "[]:\\");
    putchar(']');
    if (r->kind != OPT_FLAG) {
        putchar(':');
        put_quoted(r->meta ? r->meta : r->name, "'\\''", "[]:\\");
        putchar(':');
        const char *choices = reference_choices(r);
        if (opt_is_path(r))
            fputs("_files", stdout);
        if (choices) {
            putchar('(');
            put_choices(choices);
            putchar(')');
        }
        if (lists_operations(c, r)) {
            fputs("_sequence compadd - ", stdout);
            put_operations();
        }
    }
    puts("' \\");
}

void reference_zsh(const struct command *const *commands)
{
    puts("#compdef tomoprof\n# Completion of tomoprof for zsh, made from its tables of options.\n"
         "local -a commands\ncommands=(");
    for (const struct command *const *c = commands; *c; c++) {
        if (!command_is_listed(*c))
            continue;
        printf("    '%s:", (*c)->name);
        put_quoted((*c)->summary, "'\\''", ":\\");
        puts("'");
    }
    puts(")\nif ((CURRENT == 2)); then\n    _describe command commands\n    return\nfi\n"
         "shift words\n((CURRENT--))\ncase $words[1] in");
    for (const struct command *const *c = commands; *c; c++) {
        if (!command_is_listed(*c))
            continue;
        printf("%s)\n    _arguments \\\n", (*c)->name);
        for (const struct opt *r = (*c)->options; r->name; r++)
            if (r->help)
                zsh_option(*c, r);
        if (names_operation(*c)) {
            fputs("        '1:operation:(", stdout);
            put_operations();
            puts(")' ;;");
        } else {
            puts((*c)->flags & CMD_WRAPS ? "        '*::command:_normal' ;;"
                                         : "        '*:file:_files' ;;");
        }
    }
    puts("esac");
}

static void fish_option(const struct command *c, const struct opt *r)
{
    const char *choices = reference_choices(r);
    printf("complete -c tomoprof -n '__fish_seen_subcommand_from %s' -l %s", c->name, r->name);
    if (r->letter)
        printf(" -s %c", r->letter);
    if (opt_is_path(r))
        fputs(" -r -F", stdout);
    else if (r->kind != OPT_FLAG)
        fputs(" -x", stdout);
    if (choices || lists_operations(c, r)) {
        fputs(" -a '", stdout);
        if (choices)
            put_choices(choices);
        else
            put_operations();
        putchar('\'');
    }
    fputs(" -d '", stdout);
    put_quoted(r->help, "\\'", "\\");
    puts("'");
}

void reference_fish(const struct command *const *commands)
{
    puts("# Completion of tomoprof for fish, made from its tables of options.");
    for (const struct command *const *c = commands; *c; c++) {
        if (!command_is_listed(*c))
            continue;
        printf("complete -c tomoprof -f -n __fish_use_subcommand -a %s -d '", (*c)->name);
        put_quoted((*c)->summary, "\\'", "\\");
        puts("'");
        for (const struct opt *r = (*c)->options; r->name; r++)
            if (r->help)
                fish_option(*c, r);
        if (!names_operation(*c))
            continue;
        printf("complete -c tomoprof -f -n '__fish_seen_subcommand_from %s' -a '", (*c)->name);
        put_operations();
        puts("'");
    }
}
