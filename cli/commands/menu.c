/* The command `menu`, for a person at a terminal. Each choice runs another command as a process. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/profile.h"
#include "cli/runs/record_json.h"

enum { MOST_RUNS = 20, LINE = 4096 };

static struct opt options[] = {
    {0},
};
static const char *program; /* this one's path */

/* Asks on the terminal; returns 0 at the end of input. */
static int menu_ask(const char *question, char answer[LINE])
{
    fputs(question, stdout);
    fflush(stdout);
    answer[0] = 0;
    const int given = fgets(answer, LINE, stdin) != NULL;
    answer[strcspn(answer, "\n")] = 0;
    return given;
}

/* Runs a program to its end; returns its status. Ctrl-C ends that program, not the menu. */
static int menu_run(const char *const words[])
{
    struct sigaction old, ignore = {.sa_handler = SIG_IGN};
    int status = 0;
    fflush(NULL);
    sigaction(SIGINT, &ignore, &old);
    pid_t pid = fork();
    if (!pid) {
        signal(SIGINT, SIG_DFL);
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &old, NULL);
    return pid < 0 ? -1 : status;
}

#define MENU_RUN(...)      menu_run((const char *const[]){__VA_ARGS__, NULL})
#define MENU_TOMOPROF(...) MENU_RUN(program, __VA_ARGS__)

static int is_run(const struct dirent *e)
{
    char path[RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run_default_folder(), e->d_name);
    return e->d_name[0] == '2' && strchr(e->d_name, 'Z') && !lstat(path, &st) &&
           S_ISDIR(st.st_mode);
}

static int newer_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

/* Names the run of this number, the newest first; returns 0 where there is none. */
static int run_of_number(long number, char folder[RUN_PATH])
{
    struct dirent **found = NULL;
    const int n = scandir(run_default_folder(), &found, is_run, newer_first);
    const int known = number >= 1 && number <= n && number <= MOST_RUNS;
    if (known)
        snprintf(folder, RUN_PATH, "%s/%s", run_default_folder(), found[number - 1]->d_name);
    for (int i = 0; i < n; i++)
        free(found[i]);
    free(found);
    return known;
}

/* Prints a line for each run: number, time, size, command, and the report's first words. */
static void list_runs(void)
{
    char folder[RUN_PATH];
    int n = 0;
    for (; run_of_number(n + 1, folder); n++) {
        const char *s = base_name(folder);
        char command[41] = "suite";
        struct record_facts facts = {0};
        size_t at = 0;
        if (record_facts_read(folder, &facts) == ERR_OK && facts.command)
            for (const char **w = facts.command; *w && at < sizeof command - 1; w++)
                at +=
                    (size_t)snprintf(command + at, sizeof command - at, "%s%s", at ? " " : "", *w);
        record_facts_free(&facts);
        plain_print(stdout, "%3d  %.4s-%.2s-%.2s %.2s:%.2s UTC  ", n + 1, s, s + 4, s + 6, s + 9,
                    s + 11);
        MENU_RUN("sh", "-c",
                 "printf '%6s  %s: %s\\n' \"$(du -sh \"$1\" | cut -f 1)\" \"$2\" "
                 "\"$(\"$0\" report --text --top 1 \"$1\" 2>/dev/null | sed '1s/ (.*//;q')\"",
                 program, folder, command);
    }
    if (!n)
        printf("No runs yet.\n");
}

/* Asks for a number of the list; returns 0 where the answer names none. */
static int pick_run(const char *question, char folder[RUN_PATH])
{
    char answer[LINE], *end;
    menu_ask(question, answer);
    const long number = strtol(answer, &end, 10);
    return end > answer && !*end && run_of_number(number, folder);
}

/* Opens the run's page in a browser, or prints where it is. */
static void open_report(const char *folder)
{
    char page[RUN_PATH + 16], here[LINE] = ".";
    snprintf(page, sizeof page, "%s/report.html", folder);
    if (access(page, R_OK) && MENU_TOMOPROF("report", folder))
        return;
    if (!profile_open(page))
        plain_print(stdout, "Open it in a browser: %s/%s\n", getcwd(here, sizeof here) ? here : ".",
                    page);
}

/* Records a command line as a person types it; the page opens also when the program failed. */
static void profile_program(void)
{
    char line[LINE], before[RUN_PATH] = "", after[RUN_PATH] = "";
    menu_ask("Command line of the program (as python3 recon.py; Enter for none): ", line);
    if (!*line)
        return;
    run_of_number(1, before);
    MENU_TOMOPROF("record", "--", "bash", "-c", line);
    if (run_of_number(1, after) && strcmp(before, after) != 0)
        open_report(after);
}

/* Writes the volume beside the runs, under the scan's name. */
static void reconstruct_scan(void)
{
    char scan[LINE], geometry[LINE + 8], out[LINE + 16];
    menu_ask(
        "Scan (.h5, .txrm, a folder of TIFF, .npy with a geometry beside it; Enter for none): ",
        scan);
    if (!*scan)
        return;
    const char *dot = strrchr(scan, '.');
    const int stem = (int)(dot ? dot - scan : (long)strlen(scan));
    const char *name = scan;
    for (int i = 0; i + 1 < stem; i++)
        name = scan[i] == '/' ? scan + i + 1 : name;
    snprintf(geometry, sizeof geometry, "%.*s.json", stem, scan);
    snprintf(out, sizeof out, "%s/%.*s.nii", run_default_folder(), stem - (int)(name - scan), name);
    mkdir(run_default_folder(), run_mode());
    if (access(geometry, R_OK))
        MENU_TOMOPROF("recon", "--in", scan, "--out", out);
    else
        MENU_TOMOPROF("recon", "--in", scan, "--geometry", geometry, "--out", out);
}

/* Looks a name up below /data too, where containers have a folder of data mounted. */
static void menu_load_file(void)
{
    char file[LINE], mounted[LINE + 8], here[LINE] = ".";
    menu_ask("File, folder or URL to load (Enter for none): ", file);
    snprintf(mounted, sizeof mounted, "/data/%s", file);
    if (!*file)
        return;
    const int below = access(file, F_OK) && !access(mounted, F_OK);
    if (below)
        plain_print(stdout, "%s is not in %s; the mounted folder has it: %s\n", file,
                    getcwd(here, sizeof here) ? here : ".", mounted);
    MENU_TOMOPROF("load", below ? mounted : file, "--sweep", "quick");
}

static void run_suite(void)
{
    char newest[RUN_PATH];
    if (!MENU_TOMOPROF("run", "--quick") && run_of_number(1, newest))
        open_report(newest);
}

static void view_run(void)
{
    char folder[RUN_PATH];
    list_runs();
    if (pick_run("View which (number, Enter for none): ", folder))
        open_report(folder);
}

static void compare_two(void)
{
    char a[RUN_PATH], b[RUN_PATH];
    list_runs();
    const int first = pick_run("Before (number, Enter for none): ", a);
    if (pick_run("After (number, Enter for none): ", b) && first)
        MENU_TOMOPROF("compare", a, b);
}

static void call_doctor(void)
{
    MENU_TOMOPROF("doctor");
}

static const struct {
    char key;
    const char *text;
    void (*call)(void);
} choices[] = {
    {'p', "Profile a program", profile_program},
    {'s', "Reconstruct a scan", reconstruct_scan},
    {'l', "Find the fastest way to load a file", menu_load_file},
    {'r', "Run the quick suite", run_suite},
    {'v', "View a past run", view_run},
    {'c', "Compare two runs", compare_two},
    {'d', "Doctor", call_doctor},
    {'q', "Quit", NULL},
};
#define CHOICES (sizeof choices / sizeof *choices)

static enum err menu_command_run(int words, char **word)
{
    (void)words;
    (void)word;
    FAIL_IF(!isatty(0) || !isatty(1), ERR_USAGE,
            "menu needs a terminal: `tomoprof --help` lists the commands");
    TRY(cli_program(&program));
    for (;;) {
        char answer[LINE];
        size_t i = 0;
        printf("\n");
        for (; i < CHOICES; i++)
            plain_print(stdout, "  %c  %s\n", choices[i].key, choices[i].text);
        if (!menu_ask("Choice: ", answer))
            return ERR_OK;
        for (i = 0; i < CHOICES; i++)
            if (tolower((unsigned char)answer[0]) == choices[i].key && !answer[1])
                break;
        if (i == CHOICES)
            printf("p, s, l, r, v, c, d or q\n");
        else if (!choices[i].call)
            return ERR_OK;
        else
            choices[i].call();
    }
}

const struct command cmd_menu = {
    .name = "menu",
    .summary = "Asks what to do, and runs the commands for it.",
    .words = "",
    .text = "For a terminal: profiles a program, reconstructs a scan, loads a file, runs the quick "
            "suite, opens a\n"
            "past run, compares two. Runs are those below tomoprof-runs/.\n\n"
            "Example: tomoprof menu\n",
    .options = options,
    .run = menu_command_run,
};
