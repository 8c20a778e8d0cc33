# Makes Doxygen see the comments of the public headers, which are plain C comments: a comment that stands before a
# declaration or behind one becomes its documentation, lines of dashes go, and a comment before several functions without an
# empty line between them is that of each. Lines keep their numbers.
#   awk -f docs/headers.awk include/tamis/tamis.h

function escaped(text) {
    gsub(/</, "\\\\<", text)
    gsub(/>/, "\\\\>", text)
    gsub(/#/, "\\\\#", text)
    return text
}

# Do two or more functions follow the comment that begins at line n?
function before_several(n,    i, functions) {
    for (i = n; i <= NR && line[i] !~ /\*\//; i++)
        ;
    for (i++; i <= NR && line[i] != ""; i++)
        if (line[i] ~ /^TAMIS_API /) functions++
    return functions > 1
}

{ line[NR] = $0 }

END {
    for (n = 1; n <= NR; n++) {
        text = line[n]
        start = index(text, "/*")
        if (inside) {
            print_before = ""
        } else if (text == "" && group) {
            print "/**@}*/"
            group = 0
            continue
        } else if (!start || text ~ /^\/\* -----/) {
            print start ? "" : text
            continue
        } else {
            print_before = substr(text, 1, start - 1)
            text = substr(text, start + 2)
            opener = print_before ~ /[^ ]/ ? "/**<" : "/**"
            if (!seen++) opener = "/** @file"
            if (print_before == "" && before_several(n)) {
                opener = "/**@{*/ " opener
                group = 1
            }
            print_before = print_before opener
        }
        end = index(text, "*/")
        inside = !end
        if (end)
            print print_before escaped(substr(text, 1, end - 1)) substr(text, end)
        else
            print print_before escaped(text)
    }
}
