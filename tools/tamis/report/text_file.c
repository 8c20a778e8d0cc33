/* Texts as files. */
#include "text_file.h"

#include <string.h>

#include "output_file.h"

int tool_text_write(const tool_text *text, const char *path) {
    if (strcmp(path, "-") == 0) {
        fwrite(text->data, 1, text->length, stdout);
        return 0; /* main() looks whether standard output could be written */
    }
    tool_output_file file;
    const int code = tool_output_open(path, &file);
    if (code) return code;
    fwrite(text->data, 1, text->length, file.out);
    return tool_output_close(&file, true);
}
