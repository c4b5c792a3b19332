/* Reads the previews of a run and packs them as data addresses. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/text.h"
#include "profiler/report/page/html.h"

#define FACTS_LIMIT   4096
#define PICTURE_LIMIT (512u << 10) /* 256 x 256 grey pixels are 64 KiB */
#define PATH          4400

size_t base64(const unsigned char *in, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *p = out;
    for (size_t i = 0; i < n; i += 3) {
        unsigned a = in[i], b = i + 1 < n ? in[i + 1] : 0, c = i + 2 < n ? in[i + 2] : 0;
        *p++ = digits[a >> 2];
        *p++ = digits[(a & 3) << 4 | b >> 4];
        *p++ = i + 1 < n ? digits[(b & 15) << 2 | c >> 6] : '=';
        *p++ = i + 2 < n ? digits[c & 63] : '=';
    }
    return (size_t)(p - out);
}

/* A PNG file as an address that holds it; NULL when it is none, or a link: the page is passed on,
 * and a link may lead to any picture of this user. */
static char *data_address(const char *path)
{
    static const char head[] = "data:image/png;base64,";
    char *png = NULL, *text = NULL;
    size_t bytes;
    struct stat st;
    if (lstat(path, &st) || !S_ISREG(st.st_mode))
        return NULL;
    if (file_read_all(path, PICTURE_LIMIT, &png, &bytes) == ERR_OK && bytes > 8 &&
        memcmp(png, "\x89PNG\r\n\x1a\n", 8) == 0)
        text = malloc(sizeof head + 4 * ((bytes + 2) / 3));
    if (text) {
        memcpy(text, head, sizeof head - 1);
        size_t n = base64((const unsigned char *)png, bytes, text + sizeof head - 1);
        text[sizeof head - 1 + n] = 0;
    }
    free(png);
    return text;
}

static double number_of(const cJSON *facts, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(facts, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void put_picture(struct jsonw *w, const char *stem, const char *what, const char *title,
                        const cJSON *facts, const char *note)
{
    char path[PATH];
    if (!text_print(path, sizeof path, "%s-%s.png", stem, what))
        return;
    char *image = data_address(path);
    if (image) {
        jsonw_object(w);
        jsonw_kstring(w, "operation",
                      cJSON_GetObjectItemCaseSensitive(facts, "operation")->valuestring);
        jsonw_kint(w, "size", (int64_t)number_of(facts, "size"));
        jsonw_kstring(w, "what", title);
        jsonw_kstring(w, "note", note);
        jsonw_kstring(w, "image", image);
        jsonw_end(w);
    }
    free(image);
}

static void put_pictures(struct jsonw *w, const char *previews, const char *name)
{
    char stem[PATH], path[PATH + 8], note[256];
    char *text = NULL;
    size_t bytes, n = strlen(name);
    if (!text_has_suffix(name, ".json") ||
        !text_print(stem, sizeof stem, "%s/%.*s", previews, (int)n - 5, name))
        return;
    snprintf(path, sizeof path, "%s.json", stem);
    if (file_read_all(path, FACTS_LIMIT, &text, &bytes) != ERR_OK)
        return;
    cJSON *facts = cJSON_ParseWithLength(text, bytes);
    free(text);
    if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(facts, "operation"))) {
        snprintf(note, sizeof note, "black %.4g, white %.4g, scale bar %.4g",
                 number_of(facts, "low"), number_of(facts, "high"), number_of(facts, "bar"));
        put_picture(w, stem, "slice", "middle slice", facts, note);
        put_picture(w, stem, "row", "middle row", facts, "slices down, columns across");
        put_picture(w, stem, "column", "middle column", facts, "slices down, rows across");
        int used = snprintf(note, sizeof note, "root mean square %.4g; black and white at %.4g",
                            number_of(facts, "rmse"), number_of(facts, "difference"));
        if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(facts, "psnr")) &&
            cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(facts, "ssim")))
            snprintf(note + used, sizeof note - (size_t)used, "; PSNR %.2f dB, SSIM %.4f",
                     number_of(facts, "psnr"), number_of(facts, "ssim"));
        put_picture(w, stem, "difference", "difference to the phantom", facts, note);
    }
    cJSON_Delete(facts);
}

enum err report_pictures(const char *folder, char **json, size_t *bytes)
{
    char previews[PATH];
    struct dirent **names;
    *json = NULL;
    *bytes = 0;
    if (!text_print(previews, sizeof previews, "%s/previews", folder))
        return ERR_OK;
    int n = scandir(previews, &names, NULL, alphasort);
    if (n < 0)
        return ERR_OK; /* a run without pictures */
    FILE *out = open_memstream(json, bytes);
    struct jsonw w;
    if (out) {
        jsonw_init(&w, out, 0);
        jsonw_array(&w);
    }
    for (int i = 0; i < n; i++) {
        if (out)
            put_pictures(&w, previews, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    FAIL_IF(!out, ERR_MEMORY, "no memory left for the pictures of %s", folder);
    jsonw_end(&w);
    FAIL_IF(fclose(out), ERR_MEMORY, "no memory left for the pictures of %s", folder);
    return ERR_OK;
}
