/* links: tp_report */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"
#include "profiler/findings/advice/recipe.h"
#include "profiler/findings/advice/recipes.h"
#include "profiler/findings/answers.h"

#define MS 1000000
enum { PARTS = 4 };

/* A line of 1 s of CPU time in its text and its parts, in percent, and the run around it. */
struct recipe_case {
    const char *text, *function;
    struct {
        const char *kind, *what;
        int percent;
    } parts[PARTS];
    int facts;
    const char *told, *advice; /* end of the sentence; beginning of the advice */
};

/* clang-format off */
#define APPEND "Each round copies all that was collected so far"
static const struct recipe_case cases[] = {
    {"x = decode(f).astype(float)", NULL, {{"decode", "inflating", 35}, {"fault", "page faults", 32}, {"cast", "converting to float64", 20}, {"copy", "copying memory", 8}}, FACT_PYTHON,
     " (1 of 1 s): 35 % inflating, 32 % page faults, 20 % converting to float64.", "Take a faster codec"},
    {"s += a[i] * a[i]", NULL, {{"scalar", "NumPy scalars, one element at a time", 70}, {"python", "Python's interpreter", 30}}, FACT_PYTHON, "70 % NumPy scalars, one element at a time, 30 % in Python's interpreter.", "This loop handles one array element at a time"},
    {"b = a.astype(np.float64)", NULL, {{"cast", "converting to float64", 90}}, FACT_PYTHON, "90 % converting to float64.", "astype copies the whole array"},
    {"c = a * b", NULL, {{"cast", "converting to float64", 90}}, FACT_PYTHON, NULL, "NumPy converts operands of different types"},
    {"c[i] = a[i]", NULL, {{"cast", "converting to another type", 90}}, FACT_COMPILED, NULL, "Store the data in the type that you compute in"},
    {"a = np.append(a, x)", NULL, {{"concat", "copying arrays into a new one", 80}}, FACT_PYTHON, NULL, APPEND},
    {"df = pd.concat([df, row])", NULL, {{"concat", "joining tables (pandas)", 60}, {"table", "pandas", 40}}, FACT_PYTHON, NULL, APPEND},
    {"df = df.append(row)", NULL, {{"concat", "joining tables (pandas)", 60}}, FACT_PYTHON, NULL, APPEND},
    /* A known pattern goes before larger parts. */
    {"a = np.append(a, x)", NULL, {{"fault", "page faults", 60}, {"concat", "copying arrays into a new one", 30}}, FACT_PYTHON, NULL, APPEND},
    {"b = np.concatenate([a, x])", NULL, {{"concat", "copying arrays into a new one", 90}}, FACT_PYTHON, NULL, "Joining copies every array."},
    {"float(x)", NULL, {{"parse", "parsing numbers", 49}, {"throw", "raising exceptions", 41}}, FACT_PYTHON, NULL, "An exception is raised in each round."},
    {"a = np.array(values)", NULL, {{"call", "f (NumPy)", 50}, {"scalar", "NumPy scalars, one element at a time", 40}}, FACT_PYTHON, NULL, "A Python list is converted element by element."},
    {"return row.a + row.b", "lambda", {{"table", "pandas", 80}}, FACT_PYTHON | FACT_APPLIED, NULL, "apply calls this line for each row."},
    {"a = np.stack(parts)", NULL, {{"concat", "copying arrays into a new one", 80}}, FACT_PYTHON, NULL, "Joining copies every array."},
    {"df.apply(f, axis=1)", NULL, {{"apply", "calling a function for each row (pandas)", 80}}, FACT_PYTHON, NULL, "apply calls Python for each row"},
    {"x = df.loc[i]", NULL, {{"loc", "finding single cells (pandas)", 80}}, FACT_PYTHON, NULL, "Each .loc, .iloc or .at"},
    {"x = d[:, :, i]", NULL, {{"decode", "inflating", 80}}, FACT_PYTHON | FACT_HDF5, NULL, "HDF5 decompresses whole chunks"},
    {"x = read(f)", NULL, {{"decode", "inflating", 80}}, FACT_PYTHON | FACT_REREAD, NULL, "The same bytes are read and decompressed several times"},
    {"x = read(f)", NULL, {{"decode", "inflating", 80}}, FACT_PYTHON | FACT_ONE_THREAD, NULL, "Decompression runs on one thread."},
    {"x = read(f)", NULL, {{"read", "reading files", 80}}, FACT_PYTHON | FACT_REREAD, NULL, "The same bytes are read several times."},
    {"df.to_csv(f)", NULL, {{"totext", "writing numbers as text", 46}, {"csv.write", "writing CSV", 38}}, FACT_PYTHON, "46 % writing numbers as text, 38 % writing CSV.", "Numbers are written as text."},
    {"rows = list(csv.reader(f))", NULL, {{"csv", "parsing CSV", 80}}, FACT_PYTHON, NULL, "Parsing text takes the time."},
    {"w.writerows(rows)", NULL, {{"csv.write", "writing CSV", 80}}, FACT_PYTHON, NULL, "Numbers are written as text."},
    {"counts[w]++;", NULL, {{"tree", "ordered maps (trees)", 80}}, FACT_COMPILED, NULL, "An ordered map compares keys"},
    {"db.commit()", NULL, {{"write", "writing files", 80}}, FACT_PYTHON, NULL, "It writes to the disk each time. Commit or flush once"},
    {"while time.process_time() < 1:", NULL, {{"clock", "asking for the time", 60}}, FACT_PYTHON, NULL, "The time is asked for very often"},
    {"out = Parallel(n_jobs=2)(delayed(one)(s) for s in stack)", NULL, {{"import", "importing modules", 57}}, FACT_PYTHON | FACT_PROCESSES, NULL, "Each worker process imports these modules when it starts."},
    {"out = Parallel(n_jobs=2)(delayed(one)(s) for s in stack)", NULL, {{"import", "importing modules", 57}}, FACT_PYTHON, NULL, "This call imports modules the first time."},
    {"f.write(x)", NULL, {{"write", "writing files", 80}}, FACT_PYTHON, NULL, "Write larger blocks"},
    {"x = f.read(10)", NULL, {{"read", "reading files", 80}}, FACT_PYTHON, NULL, "Read larger blocks at a time"},
    {"x = self.load(i)", "Images.__getitem__", {{"python", "Python's interpreter", 80}}, FACT_PYTHON, NULL, "This __getitem__ runs in Python for each sample."},
    /* The holder of a contended lock is never told to use more threads. */
    {"x = zlib.decompress(b)", NULL, {{"decode", "inflating", 80}}, FACT_PYTHON | FACT_HOLDS_LOCK | FACT_ONE_THREAD, NULL, "Other threads wait for the lock that this line holds."},
    {"p.map(f, x)", NULL, {{"pool", "handing over work to a pool", 80}}, FACT_PYTHON | FACT_HOLDS_LOCK | FACT_HOLDS_GIL, NULL, "Handing the work over"},
    {"s += a[i];", NULL, {{"self", "the line itself", 100}}, FACT_COMPILED | FACT_HOLDS_LOCK | FACT_ONE_THREAD, " (1 of 1 s).", "Other threads wait for the lock that this line holds."},
    {"s += a[i];", NULL, {{"self", "the line itself", 100}}, FACT_COMPILED | FACT_ONE_THREAD, " (1 of 1 s).", "This loop is compute-bound and runs on one thread."},
    {"s += a[i];", NULL, {{"self", "the line itself", 100}}, FACT_COMPILED, NULL, "This loop is compute-bound and already runs on all threads"},
    {"s += a[i];", NULL, {{"self", "the line itself", 100}}, FACT_COMPILED | FACT_CROWDED, NULL, "3 threads compute on 2 CPUs: use as many threads as CPUs."},
    {"y = a @ b", NULL, {{"blas", "matrix products (BLAS)", 60}, {"spin", "threads of a pool that wait for work", 40}}, FACT_PYTHON | FACT_CROWDED, NULL, "3 threads compute on 2 CPUs. Limit those of BLAS"},
    {"y = a @ b", NULL, {{"spin", "threads of a pool that wait for work", 90}}, FACT_PYTHON, NULL, "Threads of the pool spin while they wait"},
    {"y = a @ b", NULL, {{"spin", "threads of a pool that wait for work", 90}}, FACT_PYTHON | FACT_BUSY, NULL, "Threads of the pool spin while others of it wait for a CPU"},
    {"x.block_until_ready()", NULL, {{"blas.xla", "matrix products (XLA)", 92}}, FACT_PYTHON, "92 % matrix products (XLA).", "JAX works in the background"},
    {"f(x).block_until_ready()", NULL, {{"compile.xla", "compiling (XLA)", 86}}, FACT_PYTHON, NULL, "XLA compiles here."},
    {"x = f.read(10)", NULL, {{"read", "reading files", 80}}, FACT_PYTHON | FACT_SMALL | FACT_REREAD, NULL, "Files are read in many small pieces."},
    {"y = f(x)", NULL, {{"compile.xla", "compiling (XLA)", 92}}, FACT_PYTHON, NULL, "XLA compiles here. Set JAX_COMPILATION_CACHE_DIR"},
    {"y = f(x)", NULL, {{"compile.numba", "compiling (numba)", 92}}, FACT_PYTHON, NULL, "numba compiles at the first call of each type. Write @njit(cache=True)"},
    {"y = f(x)", NULL, {{"jit.numba", "running a parallel loop (numba)", 92}}, FACT_PYTHON, NULL, "The loop is compiled already."},
    {"y = f(x)", NULL, {{"compile.torch", "compiling (torch.compile)", 92}}, FACT_PYTHON, NULL, "torch.compile compiles here. Set TORCHINDUCTOR_CACHE_DIR"},
    {"y = f(x)", NULL, {{"compile.nvrtc", "compiling (NVRTC)", 92}}, FACT_PYTHON, NULL, "GPU code is compiled at run time."},
    {"int(x)", NULL, {{"throw", "raising exceptions", 50}, {"parse", "parsing numbers", 20}}, FACT_PYTHON, NULL, "An exception is raised in each round."},
    {"log.debug(x)", NULL, {{"log", "logging", 90}}, FACT_PYTHON, NULL, "Log less in the loop"},
    {"re.findall(p, x)", NULL, {{"regex", "regular expressions", 90}}, FACT_PYTHON, NULL, "Test with `in`"},
    {"re.findall(p, x)", NULL, {{"recompile", "compiling regular expressions", 90}}, FACT_PYTHON, NULL, "Regular expressions are compiled again and again."},
    {"s = s + x", NULL, {{"string", "building strings", 90}}, FACT_PYTHON, NULL, "Collect the pieces in a list and join them once"},
    {"p.map(f, x)", NULL, {{"pickle", "pickling", 90}}, FACT_PYTHON | FACT_PROCESSES, NULL, "Data is pickled for other processes."},
    {"p.map(f, x)", NULL, {{"fault", "page faults", 40}, {"pickle", "pickling", 30}}, FACT_PYTHON | FACT_PROCESSES, NULL, "Data is pickled for other processes."},
    {"p.map(f, x)", NULL, {{"pool", "handing over work to a pool", 40}, {"pickle", "pickling", 30}}, FACT_PYTHON | FACT_PROCESSES, "40 % handing over work to a pool, 30 % pickling.", "Handing the work over takes longer than the work: give the workers larger pieces (chunksize="},
    {"block = file.read(n)", NULL, {{"http", "HTTP requests", 40}}, FACT_PYTHON, NULL, "Each request costs CPU time"},
    {"record = shelf[key]", NULL, {{"pickle", "pickling", 70}}, FACT_PYTHON, NULL, "Keep what was loaded"},
    {"x = a[:, :, k]", NULL, {{"futex", "locks (kernel)", 34}, {"call", "zarr", 17}, {"loop", "running an event loop (asyncio)", 14}}, FACT_PYTHON, NULL, "Each piece is a task of the event loop"},
    {"p.map(f, x)", NULL, {{"futex", "locks (kernel)", 35}, {"pool", "handing over work to a pool", 19}, {"pickle", "pickling", 19}}, FACT_PYTHON | FACT_PROCESSES, NULL, "Handing the work over takes "},
    {"x = q.get()", NULL, {{"futex", "locks (kernel)", 34}, {"call", "zarr", 17}}, FACT_PYTHON, NULL, "Threads wake each other very often."},
    {"x = a[:, :, k]", NULL, {{"loop", "running an event loop (asyncio)", 30}, {"call", "zarr", 20}}, FACT_PYTHON, NULL, "Each piece is a task of the event loop"},
    {"a = np.zeros(n)", NULL, {{"fault", "page faults", 90}}, FACT_PYTHON, NULL, "Each new large array gets new pages"},
    {"x.append(y)", NULL, {{"gc", "garbage collection", 90}}, FACT_PYTHON, NULL, "The garbage collector looks at all objects again and again"},
    {"y = correlate(x)", NULL, {{"call", "scipy.ndimage.correlate1d", 62}, {"python", "Python's interpreter", 38}}, FACT_PYTHON, "62 % in scipy.ndimage.correlate1d, 38 % in Python's interpreter.", "Look at scipy.ndimage.correlate1d: "},
    {"y = move(x)", NULL, {{"call", "scipy.ndimage.shift", 95}}, FACT_PYTHON, "95 % in scipy.ndimage.shift.", "Cubic splines are the default: order=1"},
    {"y = [x[k].mean() for k in near]", NULL, {{"call", "numpy.mean", 70}}, FACT_PYTHON, NULL, "Each call of NumPy costs some microseconds"},
    {"figure.savefig(name)", NULL, {{"call", "matplotlib.figure.savefig", 60}}, FACT_PYTHON, NULL, "Drawing takes the time, not the data."},
    {"d = dcmread(name)", NULL, {{"call", "pydicom.filereader.read_dataset", 60}}, FACT_PYTHON, NULL, "Each element of the header"},
    {"t = method.Execute(a, b)", NULL, {{"call", "SimpleITK.ImageRegistrationMethod.Execute", 60}}, FACT_PYTHON, NULL, "Each iteration compares all voxels."},
    {"labels = model.fit_predict(x)", NULL, {{"call", "sklearn.cluster.lloyd_iter", 60}}, FACT_PYTHON, NULL, "Fit on a sample of the data"},
    /* Small functions of one package are one part. */
    {"y = fit(x)", NULL, {{"call", "broadcast_strides (NumPy)", 12}, {"call", "numpy.lib._shape.tile", 10}, {"call", "numpy.linalg.norm", 10}}, FACT_PYTHON, "32 % in NumPy.", "Look at NumPy: "},
    {"y = solve(x)", NULL, {{"call", "sympy.a.f", 9}, {"call", "sympy.b.g", 9}, {"call", "sympy.c.h", 8}, {"call", "mpmath.x", 4}}, FACT_PYTHON, "26 % in sympy.", "Look at sympy: "},
    {"for x in y:", NULL, {{"python", "Python's interpreter", 95}}, FACT_PYTHON, "95 % in Python's interpreter.", "This loop runs in Python's interpreter."},
};
/* clang-format on */

static struct model *case_model(const struct recipe_case *c)
{
    struct model *m;
    int n = 0;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_own, m, own, 3));
    m->own[0] = (struct model_own){.parent = -1, .kind = "run"};
    m->own[1] = (struct model_own){.kind = "code", .file = "app", .line = 8};
    m->own[2] = (struct model_own){.parent = c->facts & FACT_APPLIED ? 1 : 0,
                                   .kind = "code",
                                   .file = "app",
                                   .line = 7,
                                   .function = c->function,
                                   .cpu_ns = 1000 * MS,
                                   .path_cpu_ns = (c->facts & FACT_ONE_THREAD ? 1000 : 500) * MS};
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "app";
    m->files[0].language = c->facts & FACT_PYTHON ? "python" : "c";
    assert_ok(model_list(m, model_line, &m->files[0], lines, 2));
    m->files[0].lines[0].line = 7;
    m->files[0].lines[0].text = c->text;
    m->files[0].lines[1].line = 8;
    m->files[0].lines[1].text = "df.apply(f, axis=1)";
    assert_ok(model_list(m, model_work, m, works, PARTS));
    for (int i = 0; i < PARTS && c->parts[i].kind; i++, n++)
        m->works[i] = (struct model_work){2, c->parts[i].kind, c->parts[i].what,
                                          (int64_t)c->parts[i].percent * 10 * MS};
    m->works_count = n;
    assert_ok(model_list(m, model_fact, m, environment, 1));
    m->environment[0] = (struct model_fact){"launcher.cpus", "2"};
    assert_ok(model_list(m, model_thread, m, threads, c->facts & FACT_CROWDED ? 3 : 2));
    for (int i = 0; i < m->threads_count; i++)
        m->threads[i].user_s = c->facts & FACT_ONE_THREAD && i ? 0 : 0.5;
    if (c->facts & FACT_BUSY) {
        assert_ok(model_list(m, model_item, &m->quality, items, 1));
        m->quality.items[0].id = "cpu.busy";
    }
    if (c->facts & FACT_PROCESSES)
        assert_ok(model_list(m, model_process, m, processes, 2));
    if (c->facts & FACT_HDF5) {
        assert_ok(model_list(m, model_frame, m, frames, 1));
        m->frames[0].module = "/usr/lib/libhdf5.so.200";
    }
    if (c->facts & FACT_REREAD) {
        assert_ok(model_list(m, model_io_file, &m->io, files, 101));
        m->io.files[100].kind = "kernel"; /* /sys, which libraries read as they start */
        m->io.files[100].read.calls = 5000;
        m->io.files[100].read.mb = 0.1;
        for (int i = 0; i < 100; i++) { /* the chunks of an array */
            m->io.files[i].read.mb = 0.4;
            m->io.files[i].unique_mb = 0.1;
            m->io.files[i].read.calls = c->facts & FACT_SMALL ? 1000 : 4;
        }
    }
    if (c->facts & FACT_HOLDS_LOCK) {
        assert_ok(model_list(m, model_lock, m, locks, 1));
        m->locks[0].role = "contention";
        m->locks[0].kind = c->facts & FACT_HOLDS_GIL ? "gil" : "mutex";
        assert_ok(model_list(m, model_holder, &m->locks[0], holders, 1));
        m->locks[0].holders[0].file = "app";
        m->locks[0].holders[0].line = 7;
        m->locks[0].holders[0].held_s = 0.8;
    }
    m->meta.wall_s = 1;
    m->totals.cpu.user = 1;
    m->totals.cpu.sys = 0;
    m->totals.cpu.samples = 100;
    return m;
}

static void each_pattern_has_its_advice(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = case_model(&cases[i]);
        struct run_facts facts;
        run_facts_of(m, &facts);
        assert_ok(answers_add(m, &facts));
        const struct model_answer *a = &m->answers[0];
        const char *told = cases[i].told ? cases[i].told : "";
        if (!a->advice || strncmp(a->advice, cases[i].advice, strlen(cases[i].advice)))
            fail_msg("row %zu: \"%s\" does not begin with \"%s\"", i, a->advice, cases[i].advice);
        if (strlen(a->text) < strlen(told) ||
            strcmp(a->text + strlen(a->text) - strlen(told), told))
            fail_msg("row %zu: \"%s\" does not end with \"%s\"", i, a->text, told);
        if (cases[i].facts & FACT_HOLDS_LOCK)
            assert_null(strstr(a->advice, "threads, "));
        model_destroy(m);
    }
}

enum { LINES = 6 };

/* A run in which `lines` lines share 80 % of the CPU time, each with `percent` of compilation. */
static struct model *compiling_model(int lines, int percent)
{
    struct model *m;
    static const char *const kinds[] = {"compile.xla", "compile.numba"};
    static const char *const words[] = {"compiling (XLA)", "compiling (numba)"};
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_own, m, own, LINES + 2));
    assert_ok(model_list(m, model_work, m, works, (size_t)lines * 2));
    m->own[0] = (struct model_own){.parent = -1, .kind = "run"};
    for (int i = 1; i <= LINES + 1; i++)
        m->own[i] = (struct model_own){.kind = "code", .file = "app", .line = i};
    for (int i = 0; i < lines; i++) {
        int ms = 800 / lines;
        m->own[i + 1].cpu_ns = m->own[i + 1].path_cpu_ns = ms * MS;
        m->works[2 * i] = (struct model_work){i + 1, kinds[i > 2], words[i > 2],
                                              (int64_t)ms * percent * MS / 100};
        m->works[2 * i + 1] = (struct model_work){i + 1, "python", "Python's interpreter",
                                                  (int64_t)ms * (100 - percent) * MS / 100};
    }
    m->own[LINES + 1].cpu_ns = m->own[LINES + 1].path_cpu_ns = 200 * MS;
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "app";
    m->files[0].language = "python";
    m->meta.wall_s = 1;
    m->totals.cpu.user = 1;
    m->totals.cpu.sys = 0;
    m->totals.cpu.samples = 100;
    return m;
}

static void check_compilation(int lines, int percent, const char *text)
{
    struct model *m = compiling_model(lines, percent);
    struct run_facts facts;
    const struct model_answer *found = NULL;
    run_facts_of(m, &facts);
    assert_ok(answers_add(m, &facts));
    for (int i = 0; i < m->answers_count; i++)
        found = !strcmp(m->answers[i].kind, "compile") ? &m->answers[i] : found;
    if (!text) {
        assert_null(found);
    } else {
        assert_ptr_equal(found, &m->answers[0]);
        assert_string_equal(found->text, text);
        assert_true(!strncmp(found->advice, "XLA compiles here. Set JAX_COMP", 30));
        assert_near(found->gain_s, found->cost_s, 1e-6);
    }
    model_destroy(m);
}

/* Lines that each compile a little are one answer together; one line tells it itself. */
static void compilation_of_several_lines_is_an_answer(void **state)
{
    (void)state;
    check_compilation(5, 90,
                      "Compiling (XLA, numba) took 0.72 of 1 s of CPU time, most of it at app:1.");
    check_compilation(2, 90, "Compiling (XLA) took 0.72 of 1 s of CPU time, most of it at app:1.");
    check_compilation(1, 90, NULL);
    check_compilation(5, 10, NULL);
    check_compilation(5, 0, NULL);
}

/* Compilers that are programs of their own can be counted. */
static void processes_of_compilers_are_counted(void **state)
{
    (void)state;
    static const char *const programs[] = {"/usr/bin/python3", "/usr/lib/gcc/cc1plus",
                                           "/usr/bin/as", "/usr/bin/gzip"};
    struct model *m = compiling_model(5, 0);
    struct run_facts facts;
    assert_ok(model_list(m, model_process, m, processes, 4));
    for (int i = 0; i < 4; i++) {
        m->processes[i].program = programs[i];
        m->processes[i].cpu_s = 0.3;
    }
    run_facts_of(m, &facts);
    assert_ok(answers_add(m, &facts));
    assert_string_equal(
        m->answers[0].text,
        "Compiling (C++) took 0.6 of 1 s of CPU time, in 2 processes of compilers.");
    model_destroy(m);
}

/* A sentence that fits each line helps at none: only rows without a condition could give one. */
static void no_recipe_fits_every_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < recipes_count; i++)
        if (!recipes[i].kind && !recipes[i].text && !recipes[i].needs)
            fail_msg("row %zu fits every line: %s", i, recipes[i].advice);
}

/* The text of a line says what its wait is about. */
static void a_wait_has_advice_that_fits(void **state)
{
    (void)state;
    static const char *const waits[][3] = {
        {"io", "os.fsync(f.fileno())", "Commit or flush once"},
        {"io", "db.commit()", "Commit or flush once"},
        {"io", "return np.load(path)", "Read ahead"},
        {"io", "total = sum(pool.imap(square, range(3000)))", "chunksize="},
        {"events", "total = sum(pool.map(square, range(3000)))", "chunksize="},
        {"events", "for batch in DataLoader(images, num_workers=2):", "num_workers="},
        {"events", "subprocess.run([\"sleep\", \"2\"])", "another program"},
        {"child", "subprocess.run([\"gzip\", name])", "another program"},
        {"child", NULL, "Start it earlier"},
        {"events", "socket.getaddrinfo(name, 80)", "name server"},
        {"io", "return requests.get(url).content", "several at a time"},
        {"events", "asyncio.run(main())", "runs the event loop"},
        {"events", "signal.pause()", "Find out what it waits for"},
        {"sleep", "time.sleep(0.1)", "Shorten the sleep"},
        {"lock", "worker.join()", "what that one does"},
        {"lock", "with lock:", "for a shorter time"},
    };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const char *advice = recipe_of_wait(waits[i][0], waits[i][1]);
        if (!advice || !strstr(advice, waits[i][2]))
            fail_msg("%s: %s", waits[i][1] ? waits[i][1] : waits[i][0], advice ? advice : "none");
    }
    assert_null(recipe_of_wait("nothing known", "f()"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_wait_has_advice_that_fits),
                                       cmocka_unit_test(each_pattern_has_its_advice),
                                       cmocka_unit_test(compilation_of_several_lines_is_an_answer),
                                       cmocka_unit_test(processes_of_compilers_are_counted),
                                       cmocka_unit_test(no_recipe_fits_every_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
