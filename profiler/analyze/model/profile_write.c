/* A model to profile.json, and the schema of that file. */
#include "base/file.h"
#include "profiler/analyze/model/model.h"

enum err profile_write(const struct model *m, const char *path)
{
    struct outfile out;
    TRY(outfile_open(&out, path));
    struct jsonw w;
    jsonw_init(&w, out.stream, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", MODEL_SCHEMA);
    json_write_fields(&w, &record_model, m);
    jsonw_end(&w);
    putc('\n', out.stream);
    return outfile_commit(&out);
}

enum err profile_schema_write(const char *path)
{
    static const struct json_record *const types[] = {
#define POINTER(name, fields) &record_##name,
        MODEL_STRUCTS(POINTER)};
    const struct json_schema schema = {
        .title = "profile.json of tomoprof",
        .description =
            "Every key is always present; null means unknown or not recorded, never 0. Times in s, "
            "MB = 2^20 bytes. Made from model_fields.h.",
        .version = MODEL_SCHEMA,
        .root = &record_model,
        .types = types,
        .count = sizeof types / sizeof *types,
    };
    return json_schema_write(&schema, path);
}
