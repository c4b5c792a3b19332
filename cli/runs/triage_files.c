/* Finds the files of a run, has them judged, writes the verdicts beside them. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/runs/triage_files.h"

int is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

enum err triage_find(struct triage_paths *p)
{
    snprintf(p->timing, sizeof p->timing, "%s/timing.json", p->folder);
    snprintf(p->profile, sizeof p->profile, "%s/profile.json", p->folder);
    if (!is_file(p->timing))
        *p->timing = 0;
    if (!is_file(p->profile))
        *p->profile = 0;
    FAIL_IF(!*p->timing && !*p->profile, ERR_INPUT,
            "%s holds neither timing.json nor profile.json: it is not a finished run", p->folder);
    return ERR_OK;
}

enum err triage_of(const struct triage_paths *p, struct triage_options o, struct triage **out)
{
    char sass[RUN_PATH + 16];
    snprintf(sass, sizeof sass, "%s/sass.json", p->folder);
    o.version = TP_VERSION;
    o.sass = is_file(sass) ? sass : NULL;
    return triage_make(*p->timing ? p->timing : NULL, *p->profile ? p->profile : NULL, &o, out);
}

static enum err write_triage_file(const struct triage *t, const char *folder, const char *name,
                                  enum err (*write)(const struct triage *, FILE *))
{
    char path[RUN_PATH + 16];
    struct outfile f = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    TRY(outfile_open(&f, path));
    enum err e = write(t, f.stream);
    if (e == ERR_OK)
        e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

enum err triage_files(const struct triage *t, const char *folder)
{
    TRY(write_triage_file(t, folder, "triage.json", triage_write_json));
    TRY(write_triage_file(t, folder, "triage.md", triage_write_markdown));
    return write_triage_file(t, folder, "triage.svg", triage_write_svg);
}

void triage_folder(const char *folder, struct triage_options o)
{
    struct triage_paths p;
    struct triage *t = NULL;
    snprintf(p.folder, sizeof p.folder, "%s", folder);
    enum err e = triage_find(&p);
    if (e == ERR_OK)
        e = triage_of(&p, o, &t);
    if (e == ERR_OK)
        e = triage_files(t, folder);
    if (e)
        log_info("no triage.md: %s", err_text());
    else
        log_info("%s/triage.md: %s", folder, t->headline);
    if (t)
        triage_destroy(t);
}
