/* Puts a run's JSON files and pictures, packed, into the page's template. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "profiler/report/page/assets.h"
#include "profiler/report/page/html.h"
#include "profiler/report/page/page_profile.h"

#define DATA_LIMIT (1ull << 30) /* of one part: more than that no browser unpacks */

/* A page consists of these besides its assets: element id, file of the run, what its "schema"
 * begins with. */
static const struct page_part {
    const char *id, *file, *schema;
} parts[] = {
    {"data-profile", "profile.json", "tomoprof-profile/"},
    {"data-timing", "timing.json", "tomoprof-timing/"},
    {"data-triage", "triage.json", "tomoprof-triage/"},
    {"data-causes", "rootcause.json", "tomoprof-rootcause/"},
    {"data-previews", NULL, NULL},                         /* of report_pictures */
    {"data-compare", "compare.json", "tomoprof-compare/"}, /* beside another tool; or alone, of
                                                              report_html_compare */
};
#define PARTS    (sizeof parts / sizeof *parts)
#define PROFILE  0
#define PICTURES (PARTS - 2)
#define COMPARE  (PARTS - 1)

struct text {
    char *data; /* NULL: the run has none */
    size_t bytes;
};

/* Checks a part, and makes of a profile what the page has of it. */
static enum err check_part(const struct page_part *part, const char *path, struct text *t)
{
    enum err e = ERR_OK;
    cJSON *json = cJSON_ParseWithLength(t->data, t->bytes);
    FAIL_IF(!json, ERR_INPUT, "%s is not valid JSON: write it again with `tomoprof report`", path);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(json, "schema");
    int ours =
        !part->schema || (cJSON_IsString(schema) &&
                          strncmp(schema->valuestring, part->schema, strlen(part->schema)) == 0);
    if (ours && part == &parts[PROFILE]) {
        free(t->data);
        t->data = NULL;
        e = page_profile(json, &t->data, &t->bytes);
    }
    cJSON_Delete(json);
    FAIL_IF(!ours, ERR_INPUT, "%s has no \"schema\": \"%s...\": it is not a file of a tomoprof run",
            path, part->schema);
    return e;
}

static enum err load_part(const char *folder, const struct page_part *part, struct text *out)
{
    char path[4096];
    if (!part->file)
        return ERR_OK;
    FAIL_IF(!text_print(path, sizeof path, "%s/%s", folder, part->file), ERR_INPUT,
            "the path of the run is longer than %zu bytes: %s", sizeof path, folder);
    if (access(path, R_OK))
        return ERR_OK;
    TRY(file_read_all(path, DATA_LIMIT, &out->data, &out->bytes));
    return check_part(part, path, out);
}

static enum err write_base64(struct outfile *f, const unsigned char *in, size_t n)
{
    char out[4096];
    for (size_t i = 0; i < n; i += 3072) /* a multiple of 3: no padding in between */
        TRY(outfile_write(f, out, base64(in + i, n - i < 3072 ? n - i : 3072, out)));
    return ERR_OK;
}

/* gzip, which DecompressionStream of all browsers since 2023 unpacks. */
static enum err gzip_text(const struct text *in, unsigned char **out, size_t *bytes)
{
    z_stream z = {0};
    FAIL_IF(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK, ERR_MEMORY,
            "no memory to compress the report");
    size_t room = deflateBound(&z, in->bytes);
    *out = malloc(room);
    if (!*out || in->bytes > 0xffffffffu || room > 0xffffffffu) {
        deflateEnd(&z);
        return FAIL(ERR_MEMORY, "no memory for %zu bytes of compressed report", room);
    }
    z.next_in = (Bytef *)in->data;
    z.avail_in = (uInt)in->bytes;
    z.next_out = *out;
    z.avail_out = (uInt)room;
    int done = deflate(&z, Z_FINISH);
    *bytes = z.total_out;
    deflateEnd(&z);
    FAIL_IF(done != Z_STREAM_END, ERR_INTERNAL, "zlib did not finish the report's data");
    return ERR_OK;
}

static enum err write_packed(struct outfile *f, const char *id, const struct text *text)
{
    unsigned char *packed = NULL;
    size_t bytes = 0;
    char head[128];
    int n = snprintf(head, sizeof head, "<script type=\"text/plain\" id=\"%s\">", id);
    enum err e = gzip_text(text, &packed, &bytes);
    if (e == ERR_OK && (e = outfile_write(f, head, (size_t)n)) == ERR_OK)
        e = write_base64(f, packed, bytes);
    free(packed);
    return e == ERR_OK ? outfile_write(f, "</script>\n", 10) : e;
}

static enum err write_data(struct outfile *f, const struct text texts[PARTS])
{
    for (size_t i = 0; i < PARTS; i++)
        if (texts[i].data)
            TRY(write_packed(f, parts[i].id, &texts[i]));
    return ERR_OK;
}

static enum err write_scripts(struct outfile *f)
{
    struct text scripts = {(char *)report_script, strlen(report_script)};
    return write_packed(f, "scripts", &scripts);
}

/* The template with its slots {{name}} filled. */
static enum err write_page(struct outfile *f, const struct text texts[PARTS], const char *nonce)
{
    const struct {
        const char *name, *text; /* NULL: packed */
    } slots[] = {{"nonce", nonce},
                 {"version", TP_VERSION},
                 {"style", report_style},
                 {"script", NULL},
                 {"data", NULL}};
    for (const char *p = report_page; *p;) {
        const char *slot = strstr(p, "{{");
        if (!slot)
            return outfile_write(f, p, strlen(p));
        TRY(outfile_write(f, p, (size_t)(slot - p)));
        size_t i = 0, n = sizeof slots / sizeof *slots;
        while (i < n && strncmp(slot + 2, slots[i].name, strlen(slots[i].name)) != 0)
            i++;
        FAIL_IF(i == n, ERR_INTERNAL, "the report's page has an unknown slot: %.20s", slot);
        if (slots[i].text)
            TRY(outfile_write(f, slots[i].text, strlen(slots[i].text)));
        else
            TRY(strcmp(slots[i].name, "data") == 0 ? write_data(f, texts) : write_scripts(f));
        p = slot + 2 + strlen(slots[i].name) + 2;
    }
    return ERR_OK;
}

static enum err write_report(const char *path, const struct text texts[PARTS], long long *bytes)
{
    struct outfile f = {0};
    enum err e = ERR_OK;
    /* Keeps any other script out of the page; the page itself is the only one that knows it. */
    char nonce[20];
    uLong sum = crc32(0, NULL, 0);
    for (size_t i = 0; i < PARTS; i++)
        if (texts[i].data)
            sum = crc32(sum, (const Bytef *)texts[i].data, (uInt)texts[i].bytes);
    snprintf(nonce, sizeof nonce, "tp%08lx", sum & 0xffffffff);
    TRY_OUT(outfile_open(&f, path));
    TRY_OUT(write_page(&f, texts, nonce));
    if (bytes)
        *bytes = ftell(f.stream);
    e = outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}

enum err report_html(const char *folder, const char *path, long long *bytes)
{
    struct text texts[PARTS] = {0};
    enum err e = ERR_OK;
    for (size_t i = 0; i < PARTS; i++)
        TRY_OUT(load_part(folder, &parts[i], &texts[i]));
    TRY_OUT(report_pictures(folder, &texts[PICTURES].data, &texts[PICTURES].bytes));
    if (!texts[0].data && !texts[1].data)
        e = FAIL(ERR_INPUT,
                 "%s holds neither profile.json nor timing.json: it is not a finished run", folder);
    else
        e = write_report(path, texts, bytes);
out:
    for (size_t i = 0; i < PARTS; i++)
        free(texts[i].data);
    return e;
}

enum err report_html_compare(const char *json, size_t bytes, const char *path)
{
    struct text texts[PARTS] = {[COMPARE] = {(char *)json, bytes}};
    return write_report(path, texts, NULL);
}
