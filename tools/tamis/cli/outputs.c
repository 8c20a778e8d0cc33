/* Rules for all outputs. Files are compared by device and inode, not by name: a link to an input is that input. For
   missing files the folders are compared. */
#define _GNU_SOURCE
#include "cli/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"
#include "io/files/output.h"
#include "io/files/standard.h"

typedef struct named_file {
    char called[40]; /* "--output", or the operand's name */
    const char *path;
    bool standard;      /* "-": standard input or output */
    bool written, kept; /* kept: it is appended to, or has another rule for replacement */
    struct stat now;    /* st_mode 0: there is no file */
} named_file;

static named_file *files = NULL;
static int file_count = 0;

static named_file *add_file(const char *path, bool written) {
    files = tool_grow(files, (size_t)file_count + 1, sizeof *files);
    named_file *const file = &files[file_count++];
    *file = (named_file){.path = path, .standard = strcmp(path, "-") == 0, .written = written};
    const int standard = written ? STDOUT_FILENO : STDIN_FILENO;
    if ((file->standard ? fstat(standard, &file->now) : stat(path, &file->now)) != 0) file->now = (struct stat){0};
    return file;
}

/* Returns true if operand `number` (from 0) is a file, by its word in a synopsis like "MODEL [USER ...]". */
static bool is_file_operand(const tool_command *command, int number) {
    static const char *const others[] = {"KIND", "OP", "USER", "ITEM", "METHOD", "info|clear"};
    const char *last = "";
    for (const char *word = command->operands; *word && number >= 0; word += strspn(word, " ")) {
        word += *word == '[';
        if (strncmp(word, "...", 3) == 0) break;
        last = word;
        number--;
        word += strcspn(word, " ");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(last, others[i], strlen(others[i])) == 0) return false;
    return true;
}

static void find_files(const tool_command *command, const tool_option *option, const void *settings, int count,
                       char **operands) {
    for (int i = 0; i < count; i++) {
        if (strcmp(operands[i], "-") == 0 && !is_file_operand(command, i)) continue;
        named_file *const file = add_file(operands[i], command->output_operand > 0 && i == command->output_operand);
        snprintf(file->called, sizeof file->called, "%s", file->written ? "OUT" : "operand");
    }
    for (; option->name; option++) {
        const bool written =
            option->value == TOOL_OUTPUT || option->value == TOOL_ADDED_TO || option->value == TOOL_LINES;
        if (!written && option->value != TOOL_PATH && option->value != TOOL_NAME) continue;
        const char *path = *(const char *const *)((const char *)settings + option->offset);
        if (!path || (option->value == TOOL_NAME && strcmp(path, "-") == 0)) continue;
        named_file *const file = add_file(path, written);
        file->kept = option->value != TOOL_OUTPUT;
        snprintf(file->called, sizeof file->called, "--%s", option->name);
    }
}

static bool same_file(const named_file *a, const named_file *b) {
    if (a->now.st_mode == 0 || b->now.st_mode == 0)
        return a->written && b->written && !a->standard && !b->standard && tamis_output_same(a->path, b->path);
    return S_ISREG(a->now.st_mode) && a->now.st_dev == b->now.st_dev && a->now.st_ino == b->now.st_ino;
}

int tool_output_check(const char *path, double bytes) {
    return tool_library_error(tamis_output_check(path, bytes < 9e18 ? (int64_t)bytes : INT64_MAX), NULL);
}

static bool ends_in(const char *path, const char *ending, size_t size) {
    const size_t length = strlen(path);
    return length > size && strncasecmp(path + length - size, ending, size) == 0;
}

int tool_output_room(const char *path, double entries, size_t size, int characters) {
    enum { PACKING = 1024 }; /* upper bound of deflate's compression ratio */
    if (strcmp(path, "-") == 0) return 0;
    const bool packed = ends_in(path, ".npz", 4) || ends_in(path, ".gz", 3);
    return tool_output_check(path,
                             entries * (ends_in(path, ".npy", 4) ? (double)size : characters) / (packed ? PACKING : 1));
}

static int check_output(const named_file *file, bool no_clobber) {
    if (file->standard && file->kept) return 0; /* lines of JSON, one by one */
    for (const named_file *other = files; other < files + file_count; other++) {
        if (other == file || !same_file(file, other)) continue;
        return tool_usage_error("%s: %s is the same file as %s %s, which is %s; write to another one", file->called,
                                file->path, other->called, other->path, other->written ? "written too" : "read");
    }
    if (file->standard) return 0;
    if (no_clobber && !file->kept && S_ISREG(file->now.st_mode))
        return tool_failure(TOOL_FILE, "%s exists, and --no-clobber is given", file->path);
    return tool_output_check(file->path, 1);
}

/* Refuses to read two files from standard input, or to write two to standard output. */
static int check_standard(bool written) {
    const named_file *first = NULL;
    for (const named_file *file = files; file < files + file_count; file++) {
        if (!file->standard || file->written != written) continue;
        if (first)
            return tool_usage_error(
                "-, that is standard %s, is asked for twice: as %s and as %s; name a file for one of them",
                written ? "output" : "input", first->called, file->called);
        first = file;
    }
    return 0;
}

static const char *const written_forms[] = {"-.mtx", "-.mtx", "-.npz", "-.npy"}; /* of tool_written_formats */
static struct {
    int format; /* of tool_written_formats */
    int output;
    char form[16];
} standard;

/* If data go to standard output, redirects all other output to standard error. */
static int open_standard(const tool_command *command, const tool_option *options, const void *settings) {
    const tool_option *const to = tool_option_find(options, "to", 2);
    const int format = to ? *(const int *)((const char *)settings + to->offset) : 0;
    bool data = false;
    standard.output = STDOUT_FILENO;
    standard.format = format;
    snprintf(standard.form, sizeof standard.form, "%s", written_forms[format]);
    for (const named_file *file = files; file < files + file_count; file++)
        data |= file->standard && file->written && !file->kept;
    if (format > 0 && !data)
        return tool_usage_error("--to: only for standard output, -; a file's name says its format");
    if (data && !command->module && !command->drawn) {
        fflush(stdout);
        standard.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (standard.output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
            return tool_failure(TOOL_FILE, "-: standard output cannot be written: %s", strerror(errno));
    }
    tamis_standard_files(standard.output, standard.form);
    return 0;
}

int tool_outputs_check(const tool_command *command, const tool_option *options, const void *settings, int count,
                       char **operands) {
    find_files(command, options, settings, count, operands);
    const bool no_clobber = tool_option_flag(options, settings, "no-clobber");
    int code = check_standard(false);
    if (code == 0) code = check_standard(true);
    for (int i = 0; i < file_count && code == 0; i++) code = files[i].written ? check_output(&files[i], no_clobber) : 0;
    return code ? code : open_standard(command, options, settings);
}

void tool_outputs_replaced(void) {
    for (const named_file *file = files; file < files + file_count; file++)
        if (file->written && !file->kept && !file->standard && S_ISREG(file->now.st_mode))
            tool_note("replaced %s", file->path);
    free(files);
    files = NULL;
    file_count = 0;
}

int tool_output_ending(const char *called, const char *path, const char *endings) {
    const bool is_standard = strcmp(path, "-") == 0;
    for (const char *word = endings; *word;) {
        const size_t size = strcspn(word, ", ");
        if (ends_in(is_standard ? standard.form : path, word, size)) return 0;
        word += size + strspn(word + size, ", or");
    }
    if (is_standard && standard.format == 0) { /* the output is never a Matrix Market file */
        snprintf(standard.form, sizeof standard.form, "-%.*s", (int)strcspn(endings, ", "), endings);
        return 0;
    }
    if (is_standard)
        return tool_usage_error("--to: %s cannot be written as %s: expected %s", called,
                                tool_choice_name(&tool_written_formats, standard.format), endings);
    return tool_usage_error("%s: '%s': expected a name that ends in %s", called, path, endings);
}

/* ------------------------------------------------------------------------------------------ streams */

static ssize_t write_some(void *output, const char *data, size_t bytes) {
    return tamis_output_write(output, data, (int64_t)bytes) == TAMIS_OK ? (ssize_t)bytes : 0;
}

int tool_output_open(const char *path, tool_output_file *file) {
    tamis_output *const output = tool_allocate(1, sizeof *output);
    const tamis_status status = tamis_output_open(path, false, output);
    *file = (tool_output_file){.output = output};
    if (status == TAMIS_OK) {
        file->out = fopencookie(output, "w", (cookie_io_functions_t){.write = write_some});
        if (file->out) return 0;
        tool_output_close(file, false);
        return tool_failure(TOOL_MEMORY, "%s: out of memory", path);
    }
    tool_output_close(file, false);
    return tool_library_error(status, NULL);
}

int tool_output_close(tool_output_file *file, bool keep) {
    if (!file->output) return 0;
    bool good = !file->out || !ferror(file->out);
    if (file->out && fclose(file->out) != 0) good = false;
    const tamis_status status = tamis_output_close(file->output, keep && good ? TAMIS_OK : TAMIS_ERROR_FILE);
    free(file->output);
    *file = (tool_output_file){0};
    return keep && status != TAMIS_OK ? tool_library_error(status, NULL) : 0;
}
