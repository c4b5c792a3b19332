/* Reads MPI's communicators without mpi.h: handles are words, MPI_COMM_WORLD is an object of Open
 * MPI's and a number of MPICH's. Threads that call MPI at once wait for each other here. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture_mpi/groups.h"

#define MPICH_WORLD 0x44000000u
enum { GROUPS = 256, TYPES = 64, RANKS_MAX = 1 << 20 };

typedef int ask(word, word, word, word, word);
static struct {
#define SLOT(name) ask *name;
    USED_LIST(SLOT)
#undef SLOT
} mpi;

static struct mpi_group groups[GROUPS]; /* [0]: MPI_COMM_WORLD */
static word world_group;
static int used;
static struct {
    word type;
    int64_t size;
} types[TYPES];
static int types_used;
static volatile int busy;

static void groups_lock(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
}

static void groups_unlock(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* Images whose name says that they are MPI: where one is loaded for a module of Python alone, no
 * other search finds it. */
struct images {
    char path[512];
    int before, found; /* found: the first behind so many of them */
};

static int is_mpi(struct dl_phdr_info *info, size_t size, void *context)
{
    struct images *images = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash, "/libmpi", 7) || strlen(info->dlpi_name) >= sizeof images->path)
        return 0;
    if (images->before-- > 0)
        return 0;
    strcpy(images->path, info->dlpi_name);
    images->found = 1;
    return 1;
}

void *mpi_find(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f)
        return f;
    for (int i = 0; !f; i++) {
        struct images images = {.before = i};
        dl_iterate_phdr(is_mpi, &images);
        if (!images.found)
            break;
        void *image = dlopen(images.path, RTLD_LAZY | RTLD_NOLOAD);
        f = image ? dlsym(image, name) : NULL;
    }
    return f;
}

static int find_all(void)
{
    static const struct {
        const char *name;
        ask **slot;
    } rows[] = {
#define ROW(name) {"PMPI_" #name, &mpi.name},
        USED_LIST(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!(*rows[i].slot = (ask *)mpi_find(rows[i].name)))
            return 0;
    return 1;
}

static word groups_find_world(void)
{
    /* A program's own copy of the object, where it has one, is the one that MPI uses. */
    const void *object = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    if (!object)
        object = mpi_find("ompi_mpi_comm_world");
    if (object)
        return (word)object;
    return mpi_find("MPIX_Grequest_class_create") ? MPICH_WORLD : 0;
}

static uint64_t groups_hash(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* The ranks of `g` as those of the world. 0: it stays unknown. */
static int find_world_ranks(struct mpi_group *g)
{
    word group = 0;
    const size_t n = (size_t)g->size;
    int *own = malloc(2 * n * sizeof *own), good;
    if (!own || mpi.Comm_group(g->comm, (word)&group, 0, 0, 0)) {
        free(own);
        return 0;
    }
    for (int i = 0; i < g->size; i++)
        own[i] = i;
    good = !mpi.Group_translate_ranks(group, n, (word)own, world_group, (word)(own + n));
    mpi.Group_free((word)&group, 0, 0, 0, 0);
    g->world = own + n; /* kept with the list before it */
    g->id = groups_hash(1, n);
    for (int i = 0; i < g->size; i++)
        g->id = groups_hash(g->id, (uint64_t)g->world[i]);
    return good;
}

static void ask_for(word comm, struct mpi_group *g)
{
    int between = 1;
    *g = (struct mpi_group){.comm = comm};
    if (mpi.Comm_test_inter(comm, (word)&between, 0, 0, 0) || between ||
        mpi.Comm_rank(comm, (word)&g->rank, 0, 0, 0) ||
        mpi.Comm_size(comm, (word)&g->size, 0, 0, 0) || g->size < 1 || g->size > RANKS_MAX ||
        !find_world_ranks(g))
        g->size = 0;
}

int groups_join(int *rank, int *size, char library[256])
{
    char *text = calloc(1, 8193); /* MPICH's longest */
    int length = 0;
    const word w = find_all() ? groups_find_world() : 0;
    *library = 0;
    if (!w || !text || mpi.Comm_group(w, (word)&world_group, 0, 0, 0)) {
        free(text);
        return 0;
    }
    mpi.Get_library_version((word)text, (word)&length, 0, 0, 0);
    text[strcspn(text, ",\n")] = 0;
    strncpy(library, text, 255);
    library[255] = 0;
    free(text);
    ask_for(w, &groups[0]);
    *rank = groups[0].rank;
    *size = groups[0].size;
    __atomic_store_n(&used, groups[0].size > 0, __ATOMIC_RELEASE);
    return groups[0].size > 0;
}

int groups_are_known(void)
{
    return __atomic_load_n(&used, __ATOMIC_ACQUIRE) > 0;
}

int groups_is_mpich(void)
{
    return groups[0].comm == MPICH_WORLD;
}

word groups_world(void)
{
    return groups[0].comm;
}

static struct mpi_group *groups_find(word comm)
{
    for (int i = 0; i < used; i++)
        if (groups[i].comm == comm)
            return &groups[i];
    if (used == GROUPS)
        return NULL;
    ask_for(comm, &groups[used]);
    return &groups[used++];
}

word mpi_handle(word h)
{
    return groups[0].comm == MPICH_WORLD ? (uint32_t)h : h;
}

int group_status_at(void)
{
    return groups[0].comm == MPICH_WORLD ? 2 : 0;
}

struct mpi_group *group_of(word comm)
{
    groups_lock();
    struct mpi_group *g = groups_find(mpi_handle(comm));
    groups_unlock();
    return g && g->size ? g : NULL;
}

/* Its place is taken by the last one. Other threads that are in a call with it are an error of the
 * program. */
void group_forget(word comm)
{
    groups_lock();
    for (int i = 1; i < used; i++)
        if (groups[i].comm == mpi_handle(comm)) {
            groups[i] = groups[--used];
            break;
        }
    groups_unlock();
}

int group_world_rank(const struct mpi_group *g, int rank)
{
    return g && rank >= 0 && rank < g->size ? g->world[rank] : -1;
}

int64_t group_type_size(word type)
{
    int size;
    type = mpi_handle(type);
    groups_lock();
    for (int i = 0; i < types_used; i++)
        if (types[i].type == type) {
            const int64_t known = types[i].size;
            groups_unlock();
            return known;
        }
    const int64_t found = mpi.Type_size(type, (word)&size, 0, 0, 0) ? -1 : size;
    if (types_used < TYPES) {
        types[types_used].type = type;
        types[types_used++].size = found;
    }
    groups_unlock();
    return found;
}
