/* Signatures of files with matrices in other formats, or that may be given by mistake, one row each. A user who knows
   the format can convert it. */
#include "io/formats/foreign.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/pack/unpack.h"

typedef struct foreign_row {
    const char *bytes;
    int count, at;
    bool binary; /* a text may begin with these letters, so only in files with zero bytes */
    const char *what, *instead;
} foreign_row;

#define SIGNATURE(bytes) bytes, sizeof(bytes) - 1

static const char by_hand[] = "convert it to .mtx or .npz";
static const char hdf5[] =
    "convert it in Python: h5py.File(FILE) has its arrays, scipy.sparse.save_npz writes them (AnnData: "
    "anndata.read_h5ad(FILE).X)";
static const char matlab_5[] = "convert it in Python: scipy.io.mmwrite(\"OUT.mtx\", scipy.io.loadmat(FILE)[\"NAME\"])";
static const char matlab_7[] = "save it by MATLAB's save with -v7 and convert that in Python: "
                               "scipy.io.mmwrite(\"OUT.mtx\", scipy.io.loadmat(FILE)[\"NAME\"])";
static const char parquet[] = "convert it in Python: pandas.read_parquet(FILE).to_csv(\"OUT.csv\", index=False)";
static const char feather[] = "convert it in Python: pandas.read_feather(FILE).to_csv(\"OUT.csv\", index=False)";
static const char sqlite[] = "export a table: sqlite3 -csv FILE 'select * from TABLE' > OUT.csv";
static const char pickle[] =
    "convert it in Python: scipy.sparse.save_npz(\"OUT.npz\", pickle.load(open(FILE, \"rb\")))";
static const char utf_16[] = "convert it: iconv -f UTF-16 -t UTF-8 FILE > OUT";

/* More specific signatures first: a MATLAB 7.3 file is an HDF5 file behind its heading. */
static const foreign_row rows[] = {
    {SIGNATURE("MATLAB 7.3 MAT-file"), 0, true, "a MATLAB 7.3 file", matlab_7},
    {SIGNATURE("MATLAB 5.0 MAT-file"), 0, true, "a MATLAB file", matlab_5},
    {SIGNATURE("\x89HDF\r\n\x1a\n"), 0, false, "an HDF5 file", hdf5},
    {SIGNATURE("\x89HDF\r\n\x1a\n"), 512, false, "an HDF5 file", hdf5},
    {SIGNATURE("\x89HDF\r\n\x1a\n"), 1024, false, "an HDF5 file", hdf5},
    {SIGNATURE("\x89HDF\r\n\x1a\n"), 2048, false, "an HDF5 file", hdf5},
    {SIGNATURE("PAR1"), 0, true, "a Parquet file", parquet},
    {SIGNATURE("PARE"), 0, true, "an encrypted Parquet file", parquet},
    {SIGNATURE("ARROW1"), 0, true, "an Arrow (Feather) file", feather},
    {SIGNATURE("FEA1"), 0, true, "a Feather file", feather},
    {SIGNATURE("SQLite format 3\0"), 0, false, "an SQLite database", sqlite},
    {SIGNATURE("\x80\x02"), 0, true, "a Python pickle", pickle},
    {SIGNATURE("\x80\x03"), 0, true, "a Python pickle", pickle},
    {SIGNATURE("\x80\x04\x95"), 0, false, "a Python pickle", pickle},
    {SIGNATURE("\x80\x05\x95"), 0, false, "a Python pickle", pickle},
    {SIGNATURE("ustar"), 257, true, "a tar archive", "unpack it: tar -xf FILE"},
    {SIGNATURE("7z\xbc\xaf\x27\x1c"), 0, false, "a 7-Zip archive", "unpack it: 7z x FILE"},
    {SIGNATURE("\x04\x22\x4d\x18"), 0, false, "an LZ4 file", "unpack it: unlz4 FILE"},
    {SIGNATURE("\x1f\x9d"), 0, false, "a file of compress (.Z)", "unpack it: gunzip FILE"},
    {SIGNATURE("\x5d\0\0"), 0, false, "an LZMA file", "unpack it: unlzma FILE"},
    {SIGNATURE("Rar!\x1a\x07"), 0, false, "a RAR archive", "unpack it: unrar x FILE"},
    {SIGNATURE("RDX2\n"), 0, true, "a file of R", "write it by Matrix::writeMM"},
    {SIGNATURE("RDX3\n"), 0, true, "a file of R", "write it by Matrix::writeMM"},
    {SIGNATURE("X\n\0\0"), 0, false, "a file of R", "write it by Matrix::writeMM"},
    {SIGNATURE("%PDF-"), 0, false, "a PDF file", by_hand},
    {SIGNATURE("\x7f"
               "ELF"),
     0, false, "a program", by_hand},
    {SIGNATURE("\xff\xfe"), 0, false, "a text in UTF-16", utf_16},
    {SIGNATURE("\xfe\xff"), 0, false, "a text in UTF-16", utf_16},
    {SIGNATURE("version https://git-lfs"), 0, false, "a pointer of Git LFS", "fetch the file: git lfs pull"},
    {SIGNATURE("<!DOCTYPE html"), 0, false, "a web page", "the download of the file has failed"},
    {SIGNATURE("<html"), 0, false, "a web page", "the download of the file has failed"},
};

static bool matches(const tamis_bounded_text *text, const foreign_row *row) {
    const char *const at = text->begin + row->at;
    if (text->end - text->begin < row->at + row->count) return false;
    const bool same = row->bytes[0] == '<' ? strncasecmp(at, row->bytes, (size_t)row->count) == 0
                                           : memcmp(at, row->bytes, (size_t)row->count) == 0;
    return same && (!row->binary || memchr(text->begin, '\0', (size_t)(text->end - text->begin)));
}

/* A zip archive whose first file is not an array is not an .npz. In the local header the name, of `length` bytes, is at
   offset 30. */
static bool is_other_zip(const tamis_bounded_text *text) {
    enum { LENGTH_AT = 26, NAME_AT = 30, ENDING = 4 };
    const unsigned char *const bytes = (const unsigned char *)text->begin;
    const int64_t size = text->end - text->begin;
    if (size < NAME_AT || memcmp(bytes, "PK\3\4", 4) != 0) return false;
    const int64_t length = bytes[LENGTH_AT] | bytes[LENGTH_AT + 1] << 8;
    if (length < ENDING || NAME_AT + length > size) return size > NAME_AT + length;
    return memcmp(bytes + NAME_AT + length - ENDING, ".npy", ENDING) != 0;
}

/* "BZh", the level, and the first block or the end of an empty file. */
static bool is_bzip2(const tamis_bounded_text *text) {
    enum { LEVEL_AT = 3, BLOCK_AT = 4, BLOCK = 6 };
    const char *const p = text->begin;
    return text->end - p >= BLOCK_AT + BLOCK && memcmp(p, "BZh", LEVEL_AT) == 0 && p[LEVEL_AT] >= '1' &&
           p[LEVEL_AT] <= '9' &&
           (memcmp(p + BLOCK_AT, "1AY&SY", BLOCK) == 0 || memcmp(p + BLOCK_AT, "\x17\x72\x45\x38\x50\x90", BLOCK) == 0);
}

/* ---- texts that would be taken for lists */

/* DIMACS: "c" lines, then "p WORD sizes". */
static bool has_problem(const tamis_bounded_text *text, const char *word) {
    const size_t length = strlen(word);
    const char *p = text->begin;
    while (p < text->end && (*p == '\n' || *p == '\r' || (*p == 'c' && (tamis_is_blank(p[1]) || p[1] == '\n'))))
        p = tamis_next_line(text, p);
    if (p[0] != 'p' || !tamis_is_blank(p[1])) return false;
    p = tamis_skip_blanks(p);
    p = tamis_skip_blanks(p + 1);
    return strncmp(p, word, length) == 0 && tamis_is_blank(p[length]);
}

static bool is_dimacs(const tamis_bounded_text *text) {
    static const char *const words[] = {"sp", "edge", "col", "max", "min", "asn", "mat", "aux"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_problem(text, words[i])) return true;
    return false;
}

/* A formula: "c" lines, then "p cnf variables clauses". */
static bool is_formula(const tamis_bounded_text *text) { return has_problem(text, "cnf") || has_problem(text, "wcnf"); }

static bool begins_with(const char *p, const char *word) { return strncasecmp(p, word, strlen(word)) == 0; }

static const char *skip_space(const tamis_bounded_text *text, const char *p) {
    while (p < text->end && (tamis_is_blank(*p) || *p == '\n')) p++;
    return p;
}

/* Objects, or a list of objects, lists or strings. */
static bool is_json(const tamis_bounded_text *text) {
    const char *const p = skip_space(text, text->begin);
    return (*p == '{' && strchr("\"}", *skip_space(text, p + 1))) ||
           (*p == '[' && strchr("{[\"]", *skip_space(text, p + 1)));
}

static bool is_xml(const tamis_bounded_text *text) {
    const char *const p = skip_space(text, text->begin);
    return begins_with(p, "<?xml ") || begins_with(p, "<graphml") || begins_with(p, "<gexf");
}

/* "digraph NAME {" of Graphviz; mark: '['for "graph [" of GML. */
static bool is_graph_until(const tamis_bounded_text *text, char mark) {
    const char *p = tamis_skip_comments(text, text->begin, "#/");
    if (begins_with(p, "strict ")) p = tamis_skip_blanks(p + 7);
    const bool creator = mark == '[' && begins_with(p, "creator ");
    if (creator) p = tamis_skip_comments(text, tamis_next_line(text, p), "#");
    if (!begins_with(p, "graph") && !begins_with(p, "digraph")) return false;
    while (p < text->end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))) p++;
    if (!tamis_is_blank(*p) && *p != '\n' && *p != mark) return false;
    p = skip_space(text, p);
    while (mark == '{' && p < text->end && *p != '{' && !tamis_is_blank(*p) && *p != '\n') p++; /* the name */
    return *skip_space(text, p) == mark;
}

static bool is_graphviz(const tamis_bounded_text *text) { return is_graph_until(text, '{'); }
static bool is_gml(const tamis_bounded_text *text) { return is_graph_until(text, '['); }

/* Excel's first line, "sep=;". */
static bool is_excel(const tamis_bounded_text *text) {
    const char *const p = text->begin;
    return text->end - p > 5 && begins_with(p, "sep=") && tamis_at_line_end(text, tamis_skip_blanks(p + 5));
}

/* libffm: "label field:index:value ...". */
static bool is_libffm(const tamis_bounded_text *text) {
    double value;
    int64_t index;
    const char *p = tamis_parse_real(tamis_skip_comments(text, text->begin, "#"), &value);
    if (!p || !tamis_is_blank(*p)) return false;
    int64_t count = 0;
    for (p = tamis_skip_blanks(p); !tamis_at_line_end(text, p); p = tamis_skip_blanks(p), count++) {
        for (int i = 0; i < 2; i++) {
            p = tamis_parse_index(p, &index);
            if (!p || *p++ != ':') return false;
        }
        p = tamis_parse_real(p, &value);
        if (!p || !(tamis_is_blank(*p) || tamis_at_line_end(text, p))) return false;
    }
    return count > 0;
}

static bool is_pajek(const tamis_bounded_text *text) {
    const char *const p = tamis_skip_comments(text, text->begin, "%");
    return strncasecmp(p, "*vertices", 9) == 0 || strncasecmp(p, "*network", 8) == 0;
}

/* hMETIS files look like edge lists, so only the name decides. */
static bool is_hmetis(const tamis_bounded_text *text) { return tamis_unpacked_name_ends(text->name, ".hgr"); }

static const struct {
    bool (*is)(const tamis_bounded_text *text);
    const char *what, *instead;
} texts[] = {
    {is_bzip2, "a bzip2 file", "unpack it: bunzip2 FILE"},
    {is_hmetis, "a hypergraph of hMETIS", "write a line `hyperedge vertex` for each pin of it as OUT.el"},
    {is_dimacs, "a graph of DIMACS", "convert it: awk '/^[ae] /{print $2, $3, $4}' FILE > OUT.el"},
    {is_formula, "a formula of DIMACS", "write a line `clause literal` for each literal of it as OUT.el"},
    {is_json, "JSON",
     "convert its records in Python: pandas.read_json(FILE, lines=True).to_csv(\"OUT.csv\", index=False)"},
    {is_xml, "XML",
     "convert a graph in Python: networkx.write_weighted_edgelist(networkx.read_graphml(FILE), \"OUT.el\")"},
    {is_graphviz, "a graph of Graphviz", "write a line `from to` for each edge of it as OUT.el"},
    {is_gml, "a graph of GML",
     "convert it in Python: networkx.write_weighted_edgelist(networkx.read_gml(FILE), \"OUT.el\")"},
    {is_excel, "a list below Excel's line \"sep=\"", "delete this line"},
    {is_pajek, "a network of Pajek",
     "convert it in Python: networkx.write_weighted_edgelist(networkx.read_pajek(FILE), \"OUT.el\")"},
    {is_libffm, "a file of libffm", "leave out the fields: sed 's/[0-9]*:\\([0-9]*:\\)/\\1/g' FILE > OUT.svm"},
};

static tamis_status refuse(const tamis_bounded_text *text, const char *what, const char *instead) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s, which Tamis does not read: %s", text->name, what, instead);
}

tamis_status tamis_refuse_foreign(const tamis_bounded_text *text) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (matches(text, &rows[i])) return refuse(text, rows[i].what, rows[i].instead);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].is(text)) return refuse(text, texts[i].what, texts[i].instead);
    if (is_other_zip(text))
        return refuse(text, "a ZIP archive without arrays of NumPy", "unpack it (unzip FILE) and read the file in it");
    return TAMIS_OK;
}
