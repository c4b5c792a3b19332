/* triage.json; triage.schema.json describes it. */
#include <math.h>

#include "base/json/jsonw.h"
#include "profiler/triage/model/primitive.h"
#include "profiler/triage/triage.h"
#include "profiler/triage/model/width_needed.h"

static void write_bounds(struct jsonw *w, const char *key, struct bounds r)
{
    jsonw_kobject(w, key);
    jsonw_knumber(w, "low", r.low);
    jsonw_knumber(w, "high", r.high);
    jsonw_end(w);
}

static void write_texts(struct jsonw *w, const char *key, char *const *text, int count)
{
    jsonw_karray(w, key);
    for (int i = 0; i < count; i++)
        jsonw_string(w, text[i]);
    jsonw_end(w);
}

static void write_count(struct jsonw *w, const char *key, int n)
{
    n > 0 ? jsonw_kint(w, key, n) : jsonw_knull(w, key);
}

static void write_counted(struct jsonw *w, const struct evidence *e)
{
    jsonw_knumber(w, "counted_flops", e->flops_counted);
    jsonw_knumber(w, "counted_bytes", e->bytes_counted);
    jsonw_kstring(w, "counters_reason", e->counters_reason);
    jsonw_knumber(w, "transfer_bytes_measured", e->transfer_measured);
    jsonw_kstring(w, "sass_reason", e->mix_reason);
    jsonw_key(w, "sass");
    if (!e->mix) {
        jsonw_null(w);
        return;
    }
    jsonw_object(w);
    jsonw_kstring(w, "kernel", e->mix->kernel);
    jsonw_kstring(w, "source", e->mix_source);
    jsonw_knumber(w, "registers", e->mix->registers);
    jsonw_knumber(w, "units_per_trip", e->mix_units);
    jsonw_knumber(w, "instructions", sass_total(&e->mix->loop));
#define X(kind) jsonw_knumber(w, #kind, e->mix->loop.kind);
    SASS_KINDS(X)
#undef X
    jsonw_end(w);
}

static void json_write_evidence(struct jsonw *w, const struct candidate *c)
{
    const struct evidence *e = &c->evidence;
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"seconds", e->seconds},
        {"calls", e->calls},
        {"cv", e->cv},
        {"share_of_run", e->run_share},
        {"exponent", e->exponent},
        {"overhead_share", e->overhead_share},
        {"flops", e->flops},
        {"bytes", e->bytes},
        {"intensity", e->intensity},
        {"gflops", e->gflops},
        {"gbytes_per_s", e->gbytes_per_s},
        {"gpu_seconds", e->gpu_s},
        {"host_s", e->host_s},
        {"device_s", e->device_s},
    };
    jsonw_kobject(w, "evidence");
    jsonw_kstring(w, "source", e->source);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        jsonw_knumber(w, numbers[i].key, numbers[i].value);
    jsonw_kstring(w, "exponent_reason", e->exponent_reason);
    write_counted(w, e);
    write_count(w, "runs", e->runs);
    write_count(w, "sizes", e->sizes);
    jsonw_kstring(w, "unit", unit_name(c->primitive->unit));
    jsonw_knumber(w, "units", primitive_units(c->primitive, e->size));
    jsonw_knumber(w, "transfer_bytes", 4 * primitive_moved(c->primitive, e->size));
    jsonw_knumber(w, "transfer_gb_s", 4e-9 * primitive_moved(c->primitive, e->size) / e->seconds);
    jsonw_end(w);
}

static void write_access(struct jsonw *w, const struct candidate *c)
{
    static const char *const dependency[] = {"none", "sum", "feedback"};
    static const double sizes[] = {64, 128, 256, 512, 1024};
    const struct access *a = &c->access.large;
    jsonw_kobject(w, "access");
    jsonw_kstring(w, "pattern", pattern_name(c->access.pattern));
    jsonw_kint(w, "measured_at", a->size);
    jsonw_knumber(w, "accesses", a->accesses);
    jsonw_knumber(w, "working_set_elements", a->distinct);
    jsonw_knumber(w, "unit_stride_share", a->unit_share);
    jsonw_knumber(w, "stride_entropy_bits", a->entropy);
    jsonw_knumber(w, "jump_entropy_bits", a->jump_entropy);
    jsonw_knumber(w, "reuse_share", a->reuse_share);
    jsonw_knumber(w, "window_elements", a->window);
    jsonw_knumber(w, "window_growth", c->access.window_growth);
    jsonw_knumber(w, "trip_count_cv", a->trip_cv);
    jsonw_kstring(w, "dependency", dependency[c->primitive->dependency]);
    jsonw_kstring(w, "branches", c->primitive->branches);
    jsonw_karray(w, "reuse_histogram");
    for (int i = 0; i < ACCESS_BUCKETS; i++)
        jsonw_number(w, a->reuse[i]);
    jsonw_end(w);
    jsonw_kobject(w, "on_chip_kib");
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "%g", sizes[i]);
        jsonw_knumber(w, key, access_window_at(&c->access, sizes[i]) * 4 / 1024);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void write_estimate(struct jsonw *w, const struct estimate *e)
{
    jsonw_object(w);
    jsonw_kstring(w, "device", e->card->id);
    jsonw_knumber(w, "lanes", e->lanes);
    jsonw_kstring(w, "bound", e->lanes >= 1 ? e->bound : "not one lane fits");
    jsonw_knumber(w, "intensity", e->intensity);
    jsonw_knumber(w, "initiation_interval", e->initiation_interval);
    write_bounds(w, "units_per_s", e->rate);
    write_bounds(w, "seconds_on_card", e->seconds_card);
    write_bounds(w, "seconds_link", e->seconds_link);
    write_bounds(w, "seconds", e->seconds);
    write_bounds(w, "watts", e->watts);
    write_bounds(w, "joules", e->joules);
    jsonw_knumber(w, "on_chip_kib", e->on_chip_kib);
    jsonw_knumber(w, "line_buffer_kib", e->line_buffer_kib);
    jsonw_knumber(w, "tiles", e->passes);
    jsonw_knumber(w, "memory_share", e->memory_share);
    jsonw_knumber(w, "memory_banks", e->banks);
    jsonw_knumber(w, "lane_dsp", e->lane.dsp);
    jsonw_knumber(w, "lane_lut", e->lane.lut);
    jsonw_knumber(w, "lane_ram_ports", e->lane.ports);
    jsonw_knumber(w, "engines_units_per_s", e->engines_rate);
    jsonw_knumber(w, "engines_seconds", e->engines_seconds);
    jsonw_end(w);
}

static void write_ceilings(struct jsonw *w, const struct candidate *c)
{
    jsonw_karray(w, "ceilings");
    for (int i = 0; i < c->ceilings_count; i++) {
        jsonw_object(w);
        jsonw_kstring(w, "workload", c->ceilings[i].workload);
        jsonw_knumber(w, "share", c->ceilings[i].share);
        jsonw_knumber(w, "speedup", c->ceilings[i].value);
        jsonw_kbool(w, "follows", c->ceilings[i].follows);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_knumber(w, "ceiling", c->ceiling ? c->ceiling->value : (double)NAN);
    jsonw_kstring(w, "ceiling_of", c->ceiling ? c->ceiling->workload : NULL);
}

static void write_score(struct jsonw *w, const struct score *s)
{
    jsonw_knumber(w, "score", s->total);
    jsonw_kobject(w, "score_parts");
    jsonw_knumber(w, "share", s->share);
    jsonw_knumber(w, "speed", s->speed);
    jsonw_knumber(w, "energy", s->energy);
    jsonw_knumber(w, "pattern", s->pattern);
    jsonw_knumber(w, "feed", s->feed);
    jsonw_end(w);
}

/* Bits of each stage at this size, null where it was not simulated. */
static void write_width(struct jsonw *w, const struct candidate *c)
{
    const struct width_needed *n = width_needed(c->primitive->name);
    jsonw_key(w, "width");
    if (!n) {
        jsonw_null(w);
        return;
    }
    jsonw_object(w);
    for (int i = 0; i < WIDTH_STAGES; i++)
        write_count(w, width_stage_name((enum width_stage)i),
                    width_bits_at(n, (enum width_stage)i, c->evidence.size));
    jsonw_kstring(w, "fp16", n->fp16);
    jsonw_kstring(w, "bf16", n->bf16);
    write_count(w, "block_float_sample", n->block);
    jsonw_end(w);
}

static void json_write_candidate(struct jsonw *w, const struct candidate *c)
{
    jsonw_object(w);
    jsonw_kstring(w, "operation", c->primitive->name);
    jsonw_kstring(w, "verdict", verdict_name(c->verdict));
    jsonw_kstring(w, "confidence", confidence_name(c->confidence));
    write_score(w, &c->score);
    write_texts(w, "reasons", c->reasons, c->reasons_count);
    write_texts(w, "measure_next", c->next, c->next_count);
    write_texts(w, "sensitivity", c->flips, c->flips_count);
    jsonw_kstring(w, "device", c->best ? c->best->card->id : NULL);
    jsonw_kstring(w, "rival", c->rival ? c->rival->name : NULL);
    jsonw_kstring(w, "leanest", c->lean ? c->lean->name : NULL);
    write_bounds(w, "speedup", c->speedup);
    write_bounds(w, "speedup_cpu", c->speedup_cpu);
    write_bounds(w, "speedup_gpu", c->speedup_gpu);
    write_bounds(w, "speedup_rival", c->speedup_rival);
    write_bounds(w, "energy_ratio", c->energy);
    write_bounds(w, "break_even_calls_per_day", c->break_even);
    write_ceilings(w, c);
    json_write_evidence(w, c);
    write_access(w, c);
    write_width(w, c);
    jsonw_karray(w, "estimates");
    for (int i = 0; i < c->estimates_count; i++)
        write_estimate(w, &c->estimates[i]);
    jsonw_end(w);
    jsonw_end(w);
}

static void write_workload(struct jsonw *w, const struct workload *l)
{
    jsonw_object(w);
    jsonw_kstring(w, "operation", l->operation);
    jsonw_knumber(w, "seconds", l->seconds);
    jsonw_karray(w, "parts");
    for (int i = 0; i < l->count; i++) {
        const struct workload_part *p = &l->parts[i];
        jsonw_object(w);
        jsonw_kstring(w, "operation", p->primitive ? p->primitive->name : NULL);
        jsonw_knumber(w, "calls", p->calls);
        jsonw_knumber(w, "seconds", p->seconds);
        jsonw_knumber(w, "share", p->share);
        jsonw_kstring(w, "source", p->source);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void write_card(struct jsonw *w, const struct card *card)
{
    jsonw_object(w);
    jsonw_kstring(w, "id", card->id);
    jsonw_kstring(w, "name", card->name);
    jsonw_knumber(w, "dsp", card->dsp);
    jsonw_knumber(w, "products_per_dsp", card->products);
    jsonw_knumber(w, "ai_engines", card->engines);
    jsonw_knumber(w, "lut", card->lut);
    jsonw_knumber(w, "ram_kib", card->ram_kib);
    jsonw_knumber(w, "memory_gib", card->memory_gib);
    write_bounds(w, "memory_gb_s", card->memory_gb_s);
    jsonw_knumber(w, "link_gb_s", card->link_gb_s);
    write_bounds(w, "clock_mhz", card->clock_mhz);
    jsonw_knumber(w, "watts", card->watts);
    write_bounds(w, "price", card->price);
    jsonw_kstring(w, "source", card->source);
    jsonw_kstring(w, "doubt", card->doubt);
    jsonw_end(w);
}

static void write_pipeline(struct jsonw *w, const struct pipeline *p)
{
    jsonw_object(w);
    jsonw_kstring(w, "device", p->card->id);
    jsonw_karray(w, "stages");
    for (int i = 0; i < STAGES && p->stages[i]; i++) {
        jsonw_object(w);
        jsonw_kstring(w, "operation", p->stages[i]);
        jsonw_knumber(w, "dsp", p->each[i].dsp);
        jsonw_knumber(w, "lut", p->each[i].lut);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_knumber(w, "lanes", p->lanes);
    write_bounds(w, "samples_per_s", p->samples_per_s);
    jsonw_knumber(w, "detector_samples_per_s", p->detector_samples_per_s);
    jsonw_knumber(w, "line_buffer_kib", p->line_buffer_kib);
    jsonw_knumber(w, "dsp_share", p->dsp_share);
    jsonw_knumber(w, "lut_share", p->lut_share);
    jsonw_knumber(w, "ram_share", p->ram_share);
    jsonw_kbool(w, "fits", p->fits);
    jsonw_kbool(w, "keeps_up", p->keeps_up);
    jsonw_kstring(w, "bound", p->bound);
    jsonw_end(w);
}

static void write_head(struct jsonw *w, const struct triage *t)
{
    const struct triage_machine *m = &t->inputs.machine;
    jsonw_kstring(w, "schema", TRIAGE_SCHEMA);
    jsonw_kstring(w, "tomoprof_version", t->version);
    jsonw_kstring(w, "headline", t->headline);
    jsonw_knumber(w, "size", t->inputs.size);
    jsonw_kobject(w, "source");
    jsonw_kbool(w, "timing", t->timing.rows_count > 0);
    jsonw_kbool(w, "profile", t->profile != NULL);
    jsonw_kint(w, "workloads_from_ranges", t->workloads.from_ranges);
    jsonw_end(w);
    jsonw_kobject(w, "machine");
    jsonw_kstring(w, "name", m->name);
    jsonw_kbool(w, "gpu", m->is_gpu);
    jsonw_kint(w, "threads", m->threads);
    jsonw_knumber(w, "gflops", t->timing.rows_count ? t->timing.gflops : (double)NAN);
    jsonw_knumber(w, "gbytes_per_s", t->timing.rows_count ? t->timing.gbytes_per_s : (double)NAN);
    jsonw_knumber(w, "ridge", m->ridge);
    jsonw_end(w);
}

static void json_write_not_judged(struct jsonw *w, const struct timing_row *r)
{
    const struct unmodelled *u = unmodelled_named(r->operation);
    const int counted = u && u->flops && r->flops > 0;
    jsonw_object(w);
    jsonw_kstring(w, "operation", r->operation);
    jsonw_knumber(w, "seconds", r->seconds);
    jsonw_knumber(w, "flops", counted ? r->flops : (double)NAN);
    jsonw_knumber(w, "bytes", r->bytes > 0 ? r->bytes : (double)NAN);
    jsonw_knumber(w, "intensity", counted ? r->flops / r->bytes : (double)NAN);
    jsonw_kstring(w, "access", u ? u->access : NULL);
    jsonw_kstring(w, "flops_source", counted ? u->flops : NULL);
    jsonw_kstring(w, "reason", u ? u->reason : "triage does not know this operation");
    jsonw_end(w);
}

enum err triage_write_json(const struct triage *t, FILE *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 2);
    jsonw_object(&w);
    write_head(&w, t);
    jsonw_karray(&w, "candidates");
    for (int i = 0; i < t->candidates_count; i++)
        json_write_candidate(&w, t->candidates[i]);
    jsonw_end(&w);
    jsonw_karray(&w, "not_judged");
    for (int i = 0; not_judged(&t->timing, t->inputs.size, i); i++)
        json_write_not_judged(&w, not_judged(&t->timing, t->inputs.size, i));
    jsonw_end(&w);
    jsonw_karray(&w, "workloads");
    for (int i = 0; i < t->workloads.count; i++)
        write_workload(&w, &t->workloads.item[i]);
    jsonw_end(&w);
    jsonw_karray(&w, "pipelines");
    for (int i = 0; i < t->cards_count; i++)
        write_pipeline(&w, &t->pipelines[i]);
    jsonw_end(&w);
    jsonw_karray(&w, "devices");
    for (int i = 0; i < t->cards_count; i++)
        write_card(&w, t->cards[i]);
    jsonw_end(&w);
    jsonw_kobject(&w, "weights");
    for (int i = 0; i < weights_count(); i++)
        jsonw_knumber(&w, weights_row(i)->name, ((const double *)&t->weights)[i]);
    jsonw_end(&w);
    write_texts(&w, "notes", t->notes.text, t->notes.count);
    jsonw_end(&w);
    FAIL_IF(fputc('\n', out) == EOF || fflush(out), ERR_IO, "writing triage.json failed");
    return ERR_OK;
}
