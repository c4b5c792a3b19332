/* The table of probes, and the rows that it makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/doctor/probes.h"
#include "host/store/codec/codec.h"
#include "host/store/dicom/dicom.h"
#include "host/store/fetch/http.h"
#include "host/store/store.h"
#include "profiler/analyze/symbols/debug_files.h"

static const char hdf5[] = TP_HDF5_NAME, symbols[] = TP_DW_NAME, codecs[] = TP_CODEC_NAMES,
                  no_codecs[] = TP_CODEC_MISSING, rare[] = TP_RARE_NAMES,
                  no_rare[] = TP_RARE_MISSING; /* "" when the build found none */

static enum state probe_fft(struct found *f)
{
    SAY(f, "%s", TP_FFT_NAME);
    return strstr(TP_FFT_NAME, "FFTW") || strstr(TP_FFT_NAME, "chosen") ? OK : LIMITED;
}

static enum state probe_hdf5(struct found *f)
{
    const char *why = store_hdf5();
    SAY(f, "%s%s%s", *hdf5 ? hdf5 : "not in this build", *hdf5 && why ? ": " : "",
        *hdf5 && why ? why : "");
    if (*hdf5 && why)
        f->fix = "install libhdf5 (Debian: libhdf5-103-1, Fedora and Arch: hdf5) as it was at the "
                 "build, or build again";
    return *hdf5 && !why ? OK : MISSING;
}

static enum state probe_remote(struct found *f)
{
    const char *why, *name = http_library(&why);
    SAY(f, "%s", name ? name : why ? why : "not in this build");
    if (!name && why)
        f->fix = "install libcurl4 (Debian), libcurl (Fedora) or curl (Arch), or name libcurl.so.4 "
                 "in TOMOPROF_LIBCURL";
    return name ? OK : MISSING;
}

/* Names what the build lacks, then what it has and cannot open here. */
static enum state codecs_state(struct found *f, const char *lacking, const enum codec *late, int n)
{
    static char fix[CODEC_REASON];
    int missing = *lacking != 0;
    for (int i = 0; i < n; i++) {
        const char *why = codec_late_why(late[i]);
        const char *install = why ? strstr(why, "install ") : NULL;
        if (!install)
            continue;
        found_add(f, "; %.*s", (int)(install - why - 2), why);
        if (!*lacking) { /* else the table's fix builds again, which finds this one too */
            snprintf(fix, sizeof fix, "%s", install);
            f->fix = fix;
        }
        missing = 1;
    }
    return missing ? LIMITED : OK;
}

static enum state probe_codecs(struct found *f)
{
    static const enum codec late[] = {CODEC_BLOSC, CODEC_JPEG};
    SAY(f, "%s%s%s", codecs, *no_codecs ? "missing: " : "all", no_codecs);
    return codecs_state(f, no_codecs, late, 2);
}

static enum state probe_rare(struct found *f)
{
    static const enum codec late[] = {CODEC_LIBTIFF};
    SAY(f, "%s%s%s", rare, *no_rare ? "missing: " : "all", no_rare);
    return codecs_state(f, no_rare, late, 1);
}

static enum state probe_dicom(struct found *f)
{
    const char *why;
    const struct dicom_library *l = dicom_open(&why);
    SAY(f, "%s", l ? l->name : why);
    return l ? OK : MISSING;
}

static enum state probe_symbols(struct found *f)
{
    SAY(f, "%s", *symbols ? symbols : "not in this build");
    return *symbols ? OK : MISSING;
}

static enum state probe_debuginfod(struct found *f)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    int there = debug_server_client(), named = urls && *urls;
    SAY(f, "%s, %s%s", there ? "libdebuginfod" : "libdebuginfod.so.1 is not installed",
        named ? "DEBUGINFOD_URLS=" : "DEBUGINFOD_URLS is not set: no server is asked",
        named ? urls : "");
    return there ? OK : LIMITED;
}

static enum state probe_marks(struct found *f)
{
    SAY(f, TP_NVTX ? "NVTX ranges of the suite's phases" : "not in this build");
    return TP_NVTX ? OK : MISSING;
}

static const struct doctor_probe {
    const char *name;
    probe_fn *look;
    const char *consequence, *fix;
    int needs_driver; /* 1: people are not told of it where there is no NVIDIA driver */
} probes[] = {
    {.name = "processor",
     .look = probe_processor,
     .consequence = "kernels run without vector units, several times slower",
     .fix = "a processor with AVX2; unset TOMOPROF_ISA"},
    {.name = "memory",
     .look = probe_memory,
     .consequence = "large arrays cost more address translation",
     .fix = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"},
    {.name = "disk",
     .look = probe_disk,
     .consequence = "long recordings end early (some 20 MB a minute and thread)",
     .fix = "free space, or record with --out on another disk"},
    {.name = "clock",
     .look = probe_clock,
     .consequence = "a time stamp costs about 1 us: short spans look longer",
     .fix = "clocksource=tsc on the kernel's command line, where the machine's TSC is steady"},
    {.name = "container",
     .look = probe_container,
     .consequence = "results cannot be written here",
     .fix = "mount a folder of yours as output/, as compose.yaml does"},
    {.name = "wsl2",
     .look = probe_wsl,
     .consequence = "times vary more than on Linux itself, and the GPU has no PM sampling",
     .fix = "measure on Linux itself where numbers must be steady"},
    {.name = "fft",
     .look = probe_fft,
     .consequence = "filters take longer",
     .fix = "install libfftw3-dev (Debian), build again"},
    {.name = "hdf5",
     .look = probe_hdf5,
     .consequence = "recon and info cannot read .h5 scans; simulate does not write them",
     .fix = "install libhdf5-dev (Debian), hdf5-devel (Fedora) or hdf5 (Arch), build again"},
    {.name = "chunk_codecs",
     .look = probe_codecs,
     .consequence = "load and info refuse files that need them, or read more slowly",
     .fix = "install libdeflate-dev libzstd-dev libblosc-dev liblz4-dev liburing-dev "
            "libturbojpeg0-dev libjxr-dev libaec-dev, build again"},
    {.name = "rare_codecs",
     .look = probe_rare,
     .consequence =
         "HDF5 with bzip2 or Blosc2, and TIFF with LZMA, WebP, CCITT, LERC, JBIG or old LZW "
         "are refused",
     .fix = "install libbz2-dev libtiff-dev (Debian; libblosc2-dev from Debian 13 on), bzip2-devel "
            "libtiff-devel blosc2-devel (Fedora) or bzip2 libtiff (Arch), build again"},
    {.name = "dicom",
     .look = probe_dicom,
     .consequence = "DICOM files and folders of them are refused",
     .fix =
         "install libgdcm-dev and g++ (Debian), gdcm-devel (Fedora) or gdcm (Arch), build again"},
    {.name = "remote_files",
     .look = probe_remote,
     .consequence = "files behind http://, https:// and s3:// are not read",
     .fix = "install libcurl4-openssl-dev (Debian), libcurl-devel (Fedora) or curl (Arch), build "
            "again"},
    {.name = "capture_library",
     .look = probe_library,
     .consequence = "record and the traced pass of run see nothing",
     .fix = "keep libtomoprof_capture.so beside tomoprof or in ../lib/tomoprof"},
    {.name = "cpu_timers",
     .look = probe_timers,
     .consequence = "no CPU samples",
     .fix = "allow timer_create and real-time signals"},
    {.name = "pending_signals",
     .look = probe_limits,
     .consequence = "threads beyond this number are not sampled",
     .fix = "ulimit -i 65536, or RLIMIT_SIGPENDING of the container"},
    {.name = "safe_reads",
     .look = probe_reads,
     .consequence = "stacks and Python frames may be truncated",
     .fix = "allow process_vm_readv in the container's seccomp profile"},
    {.name = "thread_states",
     .look = probe_tasks,
     .consequence = "waiting is not told apart, or has no stack",
     .fix = "mount /proc without hidepid; a kernel with CONFIG_SCHEDSTATS and "
            "CONFIG_HAVE_ARCH_TRACEHOOK"},
    {.name = "symbols",
     .look = probe_symbols,
     .consequence = "profiles name modules and functions but no lines of C",
     .fix = "install libdw-dev (Debian), elfutils-devel (Fedora) or libelf (Arch), build again"},
    {.name = "debuginfod",
     .look = probe_debuginfod,
     .consequence = "system libraries have lines only where their debug packages are installed",
     .fix = "install libdebuginfod1 (Debian) or elfutils-debuginfod-client (Fedora), set "
            "DEBUGINFOD_URLS"},
    {.name = "marks",
     .look = probe_marks,
     .consequence = "profiles of run do not name operations and phases",
     .fix = "build where nvtx3/nvToolsExt.h is found (part of the CUDA toolkit)"},
    {.name = "python",
     .look = probe_python,
     .consequence = "Python lines are known for 3.9 to 3.14",
     .fix = "record programs of those versions"},
    {.name = "captures",
     .look = probe_captures,
     .consequence = "import refuses the SQLite exports of Nsight Systems",
     .fix = "install libsqlite3-dev (Debian), sqlite-devel (Fedora) or sqlite (Arch), build again"},
    {.name = "ranks",
     .look = probe_ranks,
     .consequence = "recon refuses to run under mpirun; record works there without it",
     .fix = "install openmpi-bin and libopenmpi-dev (Debian), openmpi-devel (Fedora) or openmpi "
            "(Arch), build from source"},
    {.name = "other_tools",
     .look = probe_others,
     .consequence = "that tool keeps the GPU: its work is missing in profiles",
     .fix = "unset CUDA_INJECTION64_PATH"},
    {.name = "nvidia_driver",
     .look = probe_driver,
     .consequence = "the CPU computes, profiles have no GPU",
     .fix = "install NVIDIA's driver, then ./start.sh cuda"},
    {.name = "cuda",
     .look = probe_cuda,
     .consequence = "the CPU computes, --backend cuda is refused",
     .fix = "NVIDIA's driver on this machine, and a build by ./start.sh cuda",
     .needs_driver = 1},
    {.name = "cufft",
     .look = probe_cufft,
     .consequence = "the CUDA back end has no filters: no FBP and no FDK on the GPU",
     .fix = "./start.sh cuda installs it, or name its file in TOMOPROF_CUFFT",
     .needs_driver = 1},
    {.name = "cupti",
     .look = probe_cupti,
     .consequence = "no kernels, transfers and device memory in profiles",
     .fix = "install the CUDA toolkit's CUPTI, or name libcupti.so in TOMOPROF_CAPTURE_CUPTI",
     .needs_driver = 1},
    {.name = "gpu_counters",
     .look = probe_counters,
     .consequence = "ncu gets no counters, and record --kernel-lines no lines inside kernels; "
                    "other profiles need none",
     .fix = "the line `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
            "/etc/modprobe.d/nvidia.conf and a reboot; in a container the service profiler-full",
     .needs_driver = 1},
};

static void probe_print_json(struct facts *f, const char *name, const char *state,
                             const struct found *found)
{
    facts_group(f, name);
    facts_string(f, "state", state);
    facts_string(f, "found", *found->text ? found->text : NULL);
    if (found->consequence) {
        facts_string(f, "consequence", found->consequence);
        facts_string(f, "fix", found->fix);
    }
    facts_group_end(f);
}

static void probe_print_row(const char *name, const char *state, const struct found *found)
{
    char words[32];
    snprintf(words, sizeof words, "%s", name);
    for (char *c = words; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    plain_print(stdout, "%-16s %-8s %s\n", words, state, *found->text ? found->text : "unknown");
    if (found->consequence)
        plain_print(stdout, "%25s so:  %s\n%25s fix: %s\n", "", found->consequence, "", found->fix);
}

void probes_print(struct facts *f)
{
    static const char *const states[] = {"ok", "limited", "missing"};
    enum state driver = OK;
    if (f->json)
        facts_group(f, "rows");
    else
        plain_print(stdout, "\n%-16s %-8s %s\n", "what", "state", "found");
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const struct doctor_probe *p = &probes[i];
        struct found found = {.text = ""};
        enum state s = p->look(&found);
        found.consequence = s == OK ? NULL : found.consequence ? found.consequence : p->consequence;
        found.fix = found.fix ? found.fix : p->fix;
        if (p->look == probe_driver)
            driver = s;
        if (f->json)
            probe_print_json(f, p->name, states[s], &found);
        else if (!p->needs_driver || driver != MISSING) /* else the driver's row says it all */
            probe_print_row(p->name, states[s], &found);
    }
    if (f->json)
        facts_group_end(f);
}
