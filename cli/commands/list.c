/* The command `list`: runs that were made, newest first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json/jsonw.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/record_json.h"

static struct list_request {
    int64_t top;
    int here, json;
} request = {.top = 20};

static struct opt options[] = {
    OPTION_INT("top", 'n', request.top, "N", "rows (default 20)", 1, 1e6),
    OPTION_FLAG("here", 0, request.here, "only runs that were made from this folder"),
    CLI_OPT_JSON(request.json),
    {0},
};

/* The file by which a run tells who made it, where no command is known. */
static const struct list_maker {
    const char *file, *words;
} makers[] = {{"timing.json", "(tomoprof run)"},
              {"loading.json", "(tomoprof load)"},
              {"profile.json", "(imported)"}};

/* Writes the words of the command, on one line, or what else made the run. */
static void list_command(const char *folder, const struct record_facts *f, char out[256])
{
    char path[4400];
    struct stat st;
    *out = 0;
    for (const char **word = f->command; word && *word; word++)
        text_append(out, 256, "%s%s", *out ? " " : "", *word);
    for (size_t i = 0; !*out && i < sizeof makers / sizeof *makers; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, makers[i].file);
        if (!stat(path, &st))
            text_print(out, 256, "%s", makers[i].words);
    }
}

static void list_row(const struct run_entry *run, const struct record_facts *f, struct jsonw *json)
{
    char when[32] = "", seconds[24] = "", command[256], shown[256];
    struct stat st;
    struct tm tm;
    list_command(run->folder, f, command);
    if (json) {
        jsonw_object(json);
        jsonw_kstring(json, "folder", run->folder);
        jsonw_kstring(json, "from", run->from);
        jsonw_kstring(json, "command", command);
        jsonw_knumber(json, "wall_s", f->command ? f->end.wall_s : (double)NAN); /* null */
        jsonw_end(json);
        return;
    }
    if (!stat(run->folder, &st) && localtime_r(&st.st_mtime, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    if (f->command && isfinite(f->end.wall_s))
        snprintf(seconds, sizeof seconds, "%s s", NUMBER(3, f->end.wall_s));
    plain_text(command, PLAIN_LINE, shown, sizeof shown);
    plain_print(stdout, "%-16s %9s  %-30s  %s\n", when, seconds, shown, run->folder);
}

static enum err list_runs(int words, char **word)
{
    struct run_list known;
    struct jsonw json;
    int64_t rows = 0;
    (void)words, (void)word;
    enum err e = run_list_read(&known);
    if (request.json) {
        jsonw_init(&json, stdout, 1);
        jsonw_array(&json);
    }
    for (const struct run_entry *run;
         !e && rows < request.top && (run = run_list_back(&known, (size_t)rows, request.here));
         rows++) {
        struct record_facts facts;
        static const char *damaged[] = {"(record.json is damaged)", NULL};
        if (record_facts_read(run->folder, &facts)) { /* the run is there all the same */
            facts.command = damaged;
            facts.end.wall_s = (double)NAN;
        }
        list_row(run, &facts, request.json ? &json : NULL);
        record_facts_free(&facts);
    }
    if (request.json) {
        jsonw_end(&json);
        puts("");
    } else if (!e && !rows) {
        plain_print(stdout, "No run is known%s: `tomoprof record CMD` makes one.\n",
                    request.here ? " of this folder" : "");
    }
    run_list_free(&known);
    return e;
}

const struct command cmd_list = {
    .name = "list",
    .summary = "Lists the runs that you made, newest first.",
    .words = "",
    .text = "When, how long the program ran, its command, and the run's folder. `latest` and "
            "`previous` stand "
            "for\nthe two newest that were made from the current folder, wherever they lie.\n\n"
            "Examples:\n"
            "  tomoprof list --here\n"
            "  tomoprof report latest\n"
            "  tomoprof compare previous latest\n",
    .options = options,
    .run = list_runs,
};
