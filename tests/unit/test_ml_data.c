/* Ratings with any ids. */
#include <tamis/ml.h>
#include <tamis/structure.h>

#include <sys/resource.h>

#include "base/random.h"
#include "test_ml_support.h"

/* What a file of ratings has. */
typedef struct ratings {
    tamis_owned_sparse *matrix;
    tamis_names *users, *items;
    int64_t skipped;
} ratings;

static void ratings_free(ratings *r) {
    tamis_owned_sparse_free(r->matrix);
    tamis_names_free(r->users);
    tamis_names_free(r->items);
}
OWN_VALUE(ratings, ratings_free)

static tamis_status read_ratings(const char *path, const tamis_ratings_options *options, ratings *r) {
    *r = (ratings){.skipped = -1};
    return tamis_read_ratings(path, options, &r->matrix, &r->users, &r->items, &r->skipped);
}

static void expect_ratings(const char *ending, const char *content, const tamis_ratings_options *options,
                           const char *matrix, const char *users, const char *items) {
    OWN(file_name) *const path = ml_file(ending, content);
    const int64_t live = tamis_memory_live();
    ratings r;
    works(read_ratings(path, options, &r));
    assert_string_equal(tamis_last_error(), "");
    assert_int_equal(r.skipped, 0);
    works(tamis_validate(tamis_owned_sparse_view(r.matrix)));
    assert_int_equal(tamis_owned_sparse_view(r.matrix)->value_type, options ? options->value_type : TAMIS_F32);
    ml_expect_text(r.matrix, matrix);
    expect_names(r.users, users);
    expect_names(r.items, items);
    ratings_free(&r);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(ratings_are_read) {
    static const struct {
        const char *ending, *content, *matrix, *users, *items;
    } cases[] = {
        {".csv", "", "csr 0x0 0", "", ""},
        {".csv", "# nothing\n\n", "csr 0x0 0", "", ""},
        {".csv", "user,item,rating\n", "csr 0x0 0", "", ""},
        {".data", "196\t242\t3\t881250949\n186\t302\t3.5\t891717742\n196\t302\t-1e0\t881250950\n",
         "csr 2x2 3| 0 0 3| 0 1 -1| 1 1 3.5", "196|186", "242|302"},
        {".dat", "1::1193::5::978300760\r\n1::661::3::978302109\r\n", "csr 1x2 2| 0 0 5| 0 1 3", "1", "1193|661"},
        {".csv", "userId,movieId,rating,timestamp\n1, 296 ,5.0,1147880044\n2,296,.5,x y\n", "csr 2x1 2| 0 0 5| 1 0 0.5",
         "1|2", "296"},
        {".txt", "a;b;1\nc;b;2", "csr 2x1 2| 0 0 1| 1 0 2", "a|c", "b"},
        {".txt", "  ann   tea  4 \n\n% no\n  # no\nbob tea 1\n", "csr 2x1 2| 0 0 4| 1 0 1", "ann|bob", "tea"},
        {".txt", "ann\ttea 2,x::y\nbob\tmilk;z\n", "csr 2x2 2| 0 0 1| 1 1 1", "ann|bob", "tea 2,x::y|milk;z"},
        {".csv", "\"user\",\"item\",\"rating\"\n\"Ann \"\"A\"\" B\",\"tea, black\",\"4.5\"\nbob,\"tea, black\" ,2\n",
         "csr 2x1 2| 0 0 4.5| 1 0 2", "Ann \"A\" B|bob", "tea, black"},
        {".csv", "\"a;b\tc\",d,1\n", "csr 1x1 1| 0 0 1", "a;b\tc", "d"},
        {".CSV", "\"a\",\"d\",1\n", "csr 1x1 1| 0 0 1", "a", "d"},
        {".txt", "\"a\",\"d\",1\n", "csr 1x1 1| 0 0 1", "\"a\"", "\"d\""}, /* quotes are for .csv */
        /* the last rating of a pair stays, in a row that is sorted */
        {".tsv", "u\ty\t1\nu\tx\t2\nv\ty\t9\nu\ty\t3\nu\ty\t4\nv\ty\t0\n", "csr 2x2 3| 0 0 4| 0 1 2| 1 0 0", "u|v",
         "y|x"},
        {".csv", "u:v,i:j,1\n", "csr 1x1 1| 0 0 1", "u:v", "i:j"},
        {".tsv", "u v\ti\t1\tsome day, 12::30\r\n", "csr 1x1 1| 0 0 1", "u v", "i"},
        {".csv", "\xef\xbb\xbfu,i,1\n", "csr 1x1 1| 0 0 1", "u", "i"},
        /* columns by their titles, in any order; more of them than are known */
        {".csv", "timestamp,rating,userId,movieId\n1,5,7,8\n2,4,7,9\n", "csr 1x2 2| 0 0 5| 0 1 4", "7", "8|9"},
        {".csv", "user_id,artist_id\nu1,a1\nu2,a1\n", "csr 2x1 2| 0 0 1| 1 0 1", "u1|u2", "a1"},
        {".csv", "artist_id,user_id,plays\na1,u1,3\n", "csr 1x1 1| 0 0 3", "u1", "a1"},
        {".tsv", "User Name\tTitle\tISBN\tgrade\tScore\nu\tT\t12\tx\t4\n", "csr 1x1 1| 0 0 4", "u", "12"},
        {".tsv", "user_id:token\titem_id:token\trating:float\n7\t8\t5\n", "csr 1x1 1| 0 0 5", "7", "8"},
        {".inter", "item_id:token\tuser_id:token\n8\t7\n", "csr 1x1 1| 0 0 1", "7", "8"},
        {".csv", "reviewerID,asin,helpful,overall,unixReviewTime\nA,B1,0,5,100\nA,B2,2,3,101\n",
         "csr 1x2 2| 0 0 5| 0 1 3", "A", "B1|B2"},
        {".csv", "user,item,liking\na,x,3\n", "csr 1x1 1| 0 0 3", "a", "x"}, /* the one column that is left */
        /* a comment begins before the data, or is no entry */
        {".csv", "# a,b,1\nuser,item,rating\n#ann,x,5\nbob,#1 Hits,4\n%pct,x,3\n# no entry\n",
         "csr 3x2 3| 0 0 5| 1 1 4| 2 0 3", "#ann|bob|%pct", "x|#1 Hits"},
        {".txt", "ann tea\n#bob tea\n# bob milk\n", "csr 2x1 2| 0 0 1| 1 0 1", "ann|#bob", "tea"},
        /* lines of different lengths are lists, of a user and its items */
        {".txt", "0 11 12 13 14 15\n1 12 13\n2\n# no\n3 12 14 \n",
         "csr 4x5 9| 0 0 1| 0 1 1| 0 2 1| 0 3 1| 0 4 1| 1 1 1| 1 2 1| 3 1 1| 3 3 1", "0|1|2|3", "11|12|13|14|15"},
        /* a decimal comma, and "::" in ids */
        {".csv", "u;i;r\na;x;3,5\na;y;4\n", "csr 1x2 2| 0 0 3.5| 0 1 4", "a", "x|y"},
        {".tsv", "a\tx\t-0,5\n", "csr 1x1 1| 0 0 -0.5", "a", "x"},
        {".csv", "u,std::vector,1\nu,x,2\n", "csr 1x2 2| 0 0 1| 0 1 2", "u", "std::vector|x"},
        {".csv", "u,std::vector,1\n", "csr 1x1 1| 0 0 1", "u", "std::vector"},
        {".csv", "John Doe,The Film,5\nAnn,x,4\n", "csr 2x2 2| 0 0 5| 1 1 4", "John Doe|Ann", "The Film|x"},
        /* fields behind those that are read may lack, and empty ones more */
        {".csv", "item,user,rating,text\nx,a,5\ny,b,1,\"t, u\",,\n", "csr 2x2 2| 0 0 5| 1 1 1", "a|b", "x|y"},
        {".csv", "a,x,5\nb,y,1,\n", "csr 2x2 2| 0 0 5| 1 1 1", "a|b", "x|y"},
        /* titles of numbers, by their names or by what is below */
        {".csv", "from,to\n0,1\n1,2\n", "csr 2x2 2| 0 0 1| 1 1 1", "0|1", "1|2"},
        {".csv", "x,y\n0,1\n1,2\n", "csr 2x2 2| 0 0 1| 1 1 1", "0|1", "1|2"},
        {".tsv", "head\ttail\nann\tbob\n", "csr 1x1 1| 0 0 1", "ann", "bob"},
        {".csv", "x,y\n0,1\n1,b\n", "csr 3x3 3| 0 0 1| 1 1 1| 2 2 1", "x|0|1", "y|1|b"},
        {".csv", "Unnamed: 0,customer,product\n0,5,7\n1,6,8\n", "csr 2x2 2| 0 0 1| 1 1 1", "5|6", "7|8"},
        {".csv", "user,item,rating\n# c\n1,2,3\n", "csr 1x1 1| 0 0 3", "1", "2"},
        /* a quote within a field */
        {".csv", "5\" disk,x,5\n6\" disk,y,4\n", "csr 2x2 2| 0 0 5| 1 1 4", "5\" disk|6\" disk", "x|y"},
        {".csv", "user,item,rating\n5\" disk,x,5\n\"a \"\"b,\",y,4\n", "csr 2x2 2| 0 0 5| 1 1 4", "5\" disk|a \"b,",
         "x|y"},
        {".csv", "2,4,2\n1,2,5\n3,3,4\n", "csr 3x3 3| 0 0 2| 1 1 5| 2 2 4", "2|1|3", "4|2|3"}, /* no sizes */
        {".csv", "007,1,5\n7,1,4\n", "csr 2x1 2| 0 0 5| 1 0 4", "007|7", "1"},
        /* the last rating by time, where each line has one; at the same time, by the file */
        {".csv", "a,x,5,200\na,x,1,100\nb,x,3,1\n", "csr 2x1 2| 0 0 5| 1 0 3", "a|b", "x"},
        {".csv", "a,x,5,2024-02-29\na,x,1,2024-02-28 23:59:59\n", "csr 1x1 1| 0 0 5", "a", "x"},
        {".csv", "a,x,5,7\na,x,1,7\n", "csr 1x1 1| 0 0 1", "a", "x"},
        {".csv", "a,x,5,200\na,x,1,100\nb,x,3,late\n", "csr 2x1 2| 0 0 1| 1 0 3", "a|b", "x"},
        {".csv", "a,x,5,200\na,x,1,100\nb,x,3,nan\n", "csr 2x1 2| 0 0 1| 1 0 3", "a|b", "x"},
        {".csv", "a,x,5,inf\na,x,1,100\nb,x,3,-1e999\n", "csr 2x1 2| 0 0 1| 1 0 3", "a|b", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_ratings(cases[i].ending, cases[i].content, NULL, cases[i].matrix, cases[i].users, cases[i].items);
}

static void refuse_ratings(const char *ending, const char *content, size_t bytes, const char *message) {
    OWN(file_name) *const path = ml_file_of(ending, content, bytes);
    const int64_t live = tamis_memory_live();
    ratings r;
    assert_int_equal(read_ratings(path, NULL, &r), TAMIS_ERROR_FORMAT);
    ml_expect_message(path, message);
    assert_true(!r.matrix && !r.users && !r.items);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(wrong_ratings_are_refused) {
    static const struct {
        const char *ending, *content, *message;
    } cases[] = {
        {".csv", "a,b,1\nc\n", ":2: found the end of the line, expected an item after the user"},
        {".csv", "a", ":1: found the end of the file, expected an item after the user"},
        {".csv", "a,b,1\nc,d,\n", ":2: found the end of the line, expected a rating"},
        {".csv", "a,b,\n", ":1: found the end of the line, expected a rating"},
        {".csv", "a,b,1\n\n# x\nc,d,1x\n", ":4: found '1x', expected a rating"},
        {".csv", "u,i,r\na,b,r\n", ":2: found 'r', expected a rating"}, /* only the first line may be titles */
        {".csv", "a,b,nan\n", ":1: found 'nan', expected a rating that fp32 can hold"},
        {".csv", "a,b,1\na,c,-inf\n", ":2: found '-inf', expected a rating that fp32 can hold"},
        {".csv", "a,b,1e39\n", ":1: found '1e39', expected a rating that fp32 can hold"},
        {".csv", ",b,1\n", ":1: found ',b', expected a user"},
        {".csv", "a,,1\n", ":1: found ',1', expected an item"},
        {".csv", "a,\"\",1\n", ":1: found '\"', expected an item"},
        /* a first line with a bad number is no line of titles */
        {".csv", "a,b,1x\nc,d,2\n", ":1: found '1x', expected a rating"},
        {".csv", "a,b,NA\nc,d,2\n", ":1: found 'NA', expected a rating"},
        {".csv", "a,b,-\nc,d,2\n", ":1: found '-', expected a rating"},
        {".csv", "a;b;1,2.5\n", ":1: found '1', expected a rating with a point, no comma"},
        {".csv", "1,2,\"3,5\"\n2,2,\"4,5\"\n", ":1: found '3', expected a rating with a point, no comma"},
        {".csv", "a,\"b,1\n", ":1: found '\"b', expected a closing quote at the end of the field"},
        {".csv", "a,\"b\"c,1\n", ":1: found 'c', expected a separator after the quoted field"},
        {".txt", "a b 1\nc,d,2\n", ":2: found the end of the line, expected an item after the user"},
        /* as many fields as the first line, or the titles */
        {".txt", "ann tea 4\nbob tea\n",
         ":2: found 2 fields, and the first line of data has 3: " AS_MANY_FIELDS NO_LISTS},
        {".txt", "0 11 12 13\n1 12 13\n2 11\n",
         ":2: found 3 fields, and the first line of data has 4: " AS_MANY_FIELDS NO_LISTS},
        {".csv", "a,x\nb,y\nc,z,5\n", ":3: found 3 fields, and the first line of data has 2: " AS_MANY_FIELDS NO_LISTS},
        {".csv", "user,item,rating\n1,2,3,4,5,6\n2,3,4\n",
         ":2: found 6 fields, and the titles have 3: " AS_MANY_FIELDS},
        {".csv", "user,item,rating\na,x,5\nb,y\nc,z,3\n", ":3: found 2 fields, and the titles have 3: " AS_MANY_FIELDS},
        {".csv", "item,user,rating,text\na,x,5\nb,y,1,\"t, u\"\nb,y,1,t,u\n",
         ":4: found 5 fields, and the titles have 4: " AS_MANY_FIELDS},
        /* sizes, or an entry */
        {".txt", "3 3\n0 1\n1 2\n2 0\n",
         ": the first line of data, '3 3', may be an entry, or the numbers of nodes and edges that follow: delete it, or if it is an entry read it with --columns user=1,item=2, of a graph from=1,to=2 (`columns` in the options)"},
        {".csv", "3,3,2\n1,2,5\n2,3,4\n",
         ": the first line of data, '3 3 2', may be an entry, or the sizes of the matrix that follows: delete it, or put '%%MatrixMarket matrix coordinate real general' before it in a file named .mtx, whose indices begin with 1, or if it is an entry read it with --columns user=1,item=2,rating=3, of a graph from=1,to=2,weight=3 (`columns` in the options)"},
        {".csv", "3,3,2\n1,2\n2,3\n",
         ": the first line of data, '3 3 2', has three numbers, and the next one two: delete it, or put '%%MatrixMarket matrix coordinate pattern general' before it in a file named .mtx, whose indices begin with 1"},
        /* no lists: rows of terms */
        {".txt", "1 3:1\n2 4:1\n",
         ":1: fields \"index:value\", as in bags of words and svmlight's files: read it with --from svmlight or --from ldac (file_format in the options), or if these are ids say so: --columns user=1,item=2 (`columns` in the options)"},
        {".csv", "2 4 2\n0 0:0.5\n1 2:0.25\n",
         ":1: fields \"index:value\", as in bags of words and svmlight's files: read it with --from svmlight or --from ldac (file_format in the options), or if these are ids say so: --columns user=1,item=2 (`columns` in the options)"},
        /* what may be read in two ways */
        {".txt", "0\t2020-01-01T00:10:00Z\t10.4\t20.1\t50\n",
         ":1: found 5 fields without titles, expected up to 4: " NAME_COLUMNS},
        {".csv", "a,b,1\na,b,1,2,c\n", ":2: found 5 fields without titles, expected up to 4: " NAME_COLUMNS},
        {".csv", "reviewerID,asin,helpful,funny\nA,B,0,5\n",
         ":1: no title is the known name of a rating: " NAME_COLUMNS},
        {".csv", "movie,name,rating\n1,2,5\n", ":1: the titles do not tell both user and item: " NAME_COLUMNS},
        {".csv", "Unnamed: 0,uid,mid,stars\n0,5,7,3\n", ":1: the titles do not tell both user and item: " NAME_COLUMNS},
        {".csv", "ann,milk,eggs,flour\nbob,milk\n", ":1: the titles do not tell both user and item: " NAME_COLUMNS},
        {".csv", "0.5,1.5\n1,2\n",
         ":1: both ids are numbers with fractions: this looks like a dense table, expected a list of pairs of ids. Write the "
         "table as .npy (numpy.save), or say which columns are ids: --columns user=1,item=2 (`columns` in the options)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_ratings(cases[i].ending, cases[i].content, strlen(cases[i].content), cases[i].message);
    refuse_ratings(".csv", "a,b,1\nc\0,d,2\n", 13, ":2: found '\\x00', expected a user without zero bytes");
    refuse_ratings(".csv", "a,b,1\nc,\0,2\n", 12, ":2: found '\\x00', expected an item without zero bytes");
}

TEST(titles_and_missing_ratings_are_options) {
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.header = true;
    options.missing_value = -2.5;
    expect_ratings(".csv", "1,2,3\na,b\n", &options, "csr 1x1 1| 0 0 -2.5", "a", "b");
    expect_ratings(".csv", "user;item\na,b\n", &options, "csr 1x1 1| 0 0 -2.5", "a", "b");
    expect_ratings(".csv", "user,item\n", &options, "csr 0x0 0", "", "");
    expect_ratings(".csv", "", &options, "csr 0x0 0", "", "");
}

TEST(columns_may_be_named) {
    static const struct {
        const char *columns, *content, *matrix, *users, *items;
    } cases[] = {
        {"user=who,item=what", "when,what,stars,who\n1,x,5,a\n", "csr 1x1 1| 0 0 1", "a", "x"},
        {"user=who,item=what,rating=stars,time=when", "when,what,stars,who\n2,x,5,a\n1,x,4,a\n", "csr 1x1 1| 0 0 5",
         "a", "x"},
        {"user=3,item=1,rating=2", "x,4,a\ny,2,a\n", "csr 1x2 2| 0 0 4| 0 1 2", "a", "x|y"},
        {"item=2,user=1", "user,item,rating\na,x,3\n", "csr 2x2 2| 0 0 1| 1 1 1", "user|a", "item|x"},
        {"item=item,user=1", "user,item,rating\na,x,3\n", "csr 1x1 1| 0 0 1", "a", "x"},
        /* a number is a column, unless it is a title in quotes */
        {"user=1,item=2,rating=3", "2,1,4\n2,3,5\n", "csr 1x2 2| 0 0 4| 0 1 5", "2", "1|3"},
        {"user=1,item=2", "\"2\",\"1\"\na,b\n", "csr 1x1 1| 0 0 1", "b", "a"},
        {"user=user_id,item=2,rating=3", "user_id:token,item_id:token,rating:float\na,b,4\n", "csr 1x1 1| 0 0 4", "a",
         "b"},
        {"user=5,item=2", "9,b,1,2,a\n", "csr 1x1 1| 0 0 1", "a", "b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        options.columns = cases[i].columns;
        expect_ratings(".csv", cases[i].content, &options, cases[i].matrix, cases[i].users, cases[i].items);
    }
    static const struct {
        const char *columns, *message;
    } wrong[] = {
        {"user=who,item=film", ":1: found 'who', expected a line of titles with 'film', as the columns are named"},
        {"user=who", "columns = \"user=who\": item= is missing"},
        {"user=1,item=1",
         "columns = \"user=1,item=1\": user= and item= are both column 1: name a column of its own for each"},
        {"user=2,item=who,rating=3,time=stars",
         "columns = \"user=2,item=who,rating=3,time=stars\": rating= and time= are both column 3: name a column of its "
         "own for each"},
        {"user=1,item=2,user=2", "columns = \"user=1,item=2,user=2\": user= is given twice: name one column for it"},
        {"user=1,item=2,rating=4", ":1: found the end of the line, expected a rating"},
        {"user=1,item=0", ":1: found 'who', expected a line of titles with '0', as the columns are named"},
        {"who=1",
         "columns = \"who=1\": expected user=NAME,item=NAME and maybe rating=NAME and time=NAME, where NAME is "
         "a title or a number from 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        OWN(file_name) *const path = ml_file(".csv", "who,what,stars\na,x,3\n");
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        ratings r;
        options.columns = wrong[i].columns;
        assert_int_not_equal(read_ratings(path, &options, &r), TAMIS_OK);
        if (wrong[i].message[0] == ':')
            ml_expect_message(path, wrong[i].message);
        else
            assert_string_equal(tamis_last_error(), wrong[i].message);
    }
}

/* What was found is one line, with what was skipped. */
TEST(the_form_is_told) {
    static const struct {
        const char *content, *columns, *found;
    } cases[] = {
        {"# a\nuser,item,rating\na,x,5\n# b\nb,x,4\n", NULL,
         "ratings: user = column 1 'user', item = column 2 'item', rating = column 3 'rating'; 1 line of titles, 2 lines of "
         "comments"},
        {"a,x\n", NULL, "ratings: user = column 1, item = column 2"},
        {"a,x,5\na,x,4\nb,x,3\na,x,2\n", NULL,
         "ratings: user = column 1, item = column 2, rating = column 3; 2 lines replaced by a later one of the same pair"},
        {"a,b,x\n", "user=3,item=1", "ratings: user = column 3, item = column 1"},
        {"0,1,2,3,4\n1,2\n", NULL, "lists: user = column 1, items = the others"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(file_name) *const path = ml_file(".csv", cases[i].content);
        OWN(ratings) r;
        char found[TAMIS_FOUND_BYTES];
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        options.columns = cases[i].columns;
        options.found = found;
        works(read_ratings(path, &options, &r));
        assert_string_equal(found, cases[i].found);
    }
}

/* A list is one by its content where the name says nothing. */
TEST(lists_are_found_by_content) {
    static const struct {
        const char *ending, *content, *found, *matrix, *users;
        bool times;
    } cases[] = {
        {".base", "319\t131\t3\t888892593\n15\t239\t2\t880869953\n",
         "ratings: user = column 1, item = column 2, rating = column 3, time = column 4", "csr 2x2 2| 0 0 3| 1 1 2",
         "319|15", true},
        /* a name that lists have, too */
        {".txt", "2 4 2\n0 0:0.5\n1 2:0.25\n", NULL, "csr 2x4 2| 0 0 0.5| 1 2 0.25", NULL, false},
        {".unknown", "%%MatrixMarket matrix coordinate pattern general\n5 6 1\n1 2\n", "", "csr 5x6 1| 0 1 1", NULL,
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(file_name) *const path = ml_file(cases[i].ending, cases[i].content);
        OWN(tamis_owned_sparse) *data = NULL, *times = NULL;
        OWN(tamis_names) *users = NULL, *items = NULL;
        char found[TAMIS_FOUND_BYTES] = "";
        works(
            tamis_read_data_found(TAMIS_ALS, path, NULL, found, &data, &users, &items, cases[i].times ? &times : NULL));
        if (cases[i].found) assert_string_equal(found, cases[i].found);
        ml_expect_text(data, cases[i].matrix);
        assert_true(cases[i].users ? users != NULL : !users);
        if (users) expect_names(users, cases[i].users);
        assert_int_equal(times != NULL, cases[i].times);
    }
}

/* Times are a matrix of the same places. */
TEST(times_are_told) {
    static const struct {
        bool sum;
        const char *content, *times;
    } cases[] = {
        {false, "a,x,1,1970-01-02\na,y,2,2000-03-01T00:00:01\n", "csr 1x2 2| 0 0 86400| 0 1 951868801"},
        {false, "a,x,1,30\na,y,2,10\na,x,3,20\n", "csr 1x2 2| 0 0 30| 0 1 10"},
        {true, "a,x,1,30\na,y,2,10\na,x,3,20\n", "csr 1x2 2| 0 0 30| 0 1 10"},
        {false, "a,x,1,soon\n", NULL},
        {false, "a,x,1,nan\n", NULL},
        {false, "a,x,1,inf\n", NULL},
        {false, "a,x,1\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(file_name) *const path = ml_file(".csv", cases[i].content);
        OWN(tamis_owned_sparse) *times = NULL;
        OWN(ratings) r;
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        options.sum = cases[i].sum;
        options.times = &times;
        works(read_ratings(path, &options, &r));
        assert_true((times != NULL) == (cases[i].times != NULL));
        if (times) ml_expect_text(times, cases[i].times);
    }
}

/* Positions are by time, else by lines; of a repeated pair the last is kept. */
TEST(entries_are_numbered_in_time) {
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    char found[TAMIS_FOUND_BYTES] = "";
    options.positions = true;
    options.found = found;
    expect_ratings(".csv", "a,x,5,30\na,y,4,10\nb,y,1,7\na,z,2,20\na,y,3,40\n", &options,
                   "csr 2x3 4| 0 0 3| 0 1 4| 0 2 2| 1 1 1", "a|b", "x|y|z");
    assert_null(strstr(found, "order of the lines"));
    expect_ratings(".csv", "a,x,5\na,y,4\nb,y,1\na,z,2\na,y,3\n", &options, "csr 2x3 4| 0 0 1| 0 1 4| 0 2 3| 1 1 1",
                   "a|b", "x|y|z");
    assert_non_null(strstr(found, "; without times, in the order of the lines"));
    ratings r;
    options.sum = true;
    REFUSED(ARGUMENT, "^options.positions and options.sum: positions cannot be summed$",
            read_ratings("x.csv", &options, &r));
}

/* A repeated pair keeps what was said of it, and a rating all its digits. */
TEST(all_ratings_are_kept) {
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.keep = 1;
    expect_ratings(".csv", "a,x,1\nb,x,2\na,x,3\n", &options, "csr 2x1 3| 0 0 1| 0 0 3| 1 0 2", "a|b", "x");
    options.value_type = TAMIS_F64;
    expect_ratings(".csv", "a,x,16777217\na,y,1e39\n", &options, "csr 1x2 2| 0 0 16777217| 0 1 9.9999999999999994e+38",
                   "a", "x|y");
    ratings r;
    options.sum = true;
    REFUSED(ARGUMENT, "^options.keep = 1: expected 0, or 1 without sum$", read_ratings("x.csv", &options, &r));
    options = (tamis_ratings_options)TAMIS_RATINGS_OPTIONS_INIT;
    options.value_type = TAMIS_F16;
    REFUSED(ARGUMENT, "^options.value_type = 2: expected fp32 or fp64$", read_ratings("x.csv", &options, &r));
}

/* Of a file of 1 GB, of which nothing is on the disk, the beginning is enough to refuse it. */
TEST(large_files_of_no_ratings_are_refused_early) {
    static const char *const begins[] = {"no-ratings\n", "a,b,1\n\0\n", "a,b,1x\n"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        OWN(file_name) *const path = ml_file(".csv", "");
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        fwrite(begins[i], 1, i == 1 ? 8 : strlen(begins[i]), file);
        for (int line = 0; line < 200000; line++) fputs("a,b,1\n", file);
        assert_int_equal(fseeko(file, (off_t)1 << 30, SEEK_SET), 0);
        fputc('\n', file);
        fclose(file);
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
        ratings r;
        options.header = false;
        assert_int_equal(read_ratings(path, &options, &r), TAMIS_ERROR_FORMAT);
        getrusage(RUSAGE_SELF, &after);
        assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 64 << 10);
    }
}

TEST(ids_of_any_length_are_read) {
    enum { LENGTH = 3 << 20 };
    OWN(char) *const content = malloc(2 * LENGTH + 16);
    assert_non_null(content);
    memset(content, 'u', LENGTH);
    content[LENGTH] = ',';
    memset(content + LENGTH + 1, 'i', LENGTH);
    memcpy(content + 2 * LENGTH + 1, ",7\n", 4);
    OWN(file_name) *const path = ml_file(".csv", content);
    OWN(ratings) r;
    works(read_ratings(path, NULL, &r));
    assert_int_equal(strlen(tamis_names_at(r.users, 0)), LENGTH);
    assert_int_equal(tamis_names_find(r.items, content + LENGTH + 1, LENGTH), 0);
}

TEST(dictionaries_go_on) {
    const int64_t live = tamis_memory_live();
    OWN(file_name) *const first = ml_file(".csv", "ann,tea,1\nbob,milk,2\n"),
                          *const second = ml_file(".csv", "eve,tea,3\nann,cola,4\nbob,tea,5\n"),
                          *const wrong = ml_file(".csv", "tom,wine,3\nann,cola,four\n");
    ratings known, r;
    works(read_ratings(first, NULL, &known));
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.users = known.users;
    options.items = known.items;
    options.known_only = true;
    works(read_ratings(second, &options, &r));
    assert_true(r.users == known.users && r.items == known.items);
    assert_int_equal(r.skipped, 2);
    ml_expect_text(r.matrix, "csr 2x2 1| 1 0 5");
    tamis_owned_sparse_free(r.matrix);
    options.known_only = false;
    /* an error takes back what was added */
    assert_int_equal(read_ratings(wrong, &options, &r), TAMIS_ERROR_FORMAT);
    assert_null(r.matrix);
    expect_names(known.users, "ann|bob");
    expect_names(known.items, "tea|milk");
    works(read_ratings(second, &options, &r));
    assert_int_equal(r.skipped, 0);
    ml_expect_text(r.matrix, "csr 3x3 3| 0 2 4| 1 0 5| 2 0 3");
    tamis_owned_sparse_free(r.matrix);
    expect_names(known.users, "ann|bob|eve");
    /* one dictionary for both sides */
    options.items = known.users;
    works(read_ratings(first, &options, &r));
    assert_int_equal(tamis_owned_sparse_view(r.matrix)->rows, 5);
    assert_int_equal(tamis_owned_sparse_view(r.matrix)->cols, 5);
    tamis_owned_sparse_free(r.matrix);
    ratings_free(&known);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(ratings_refuse_wrong_arguments) {
    tamis_owned_sparse *matrix = NULL;
    tamis_names *users = NULL, *items = NULL;
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    ratings r;
    REFUSED(ARGUMENT, "^path = NULL: expected the name of a file$", read_ratings(NULL, NULL, &r));
    REFUSED(ARGUMENT, "^ratings = NULL: expected an address for the matrix$",
            tamis_read_ratings("a", NULL, NULL, &users, &items, NULL));
    REFUSED(ARGUMENT, "^users = NULL: expected an address for the dictionary$",
            tamis_read_ratings("a", NULL, &matrix, NULL, &items, NULL));
    REFUSED(ARGUMENT, "^items = NULL: expected an address for the dictionary$",
            tamis_read_ratings("a", NULL, &matrix, &users, NULL, NULL));
    SPOILT(options.reserved[0], 1, UNSUPPORTED,
           "^options.reserved[0] = 0x1: a field that version " TAMIS_VERSION_STRING
           " does not know is set, or the structure was not initialised with its _INIT macro or with zeros$",
           read_ratings("a", &options, &r));
    SPOILT(options.missing_value, (double)NAN, ARGUMENT,
           "^options.missing_value = nan, expected a number that fp32 can hold$", read_ratings("a", &options, &r));
    SPOILT(options.known_only, true, ARGUMENT, "^options.users = NULL: known_only needs both dictionaries$",
           read_ratings("a", &options, &r));
    assert_int_equal(read_ratings("/no/such", NULL, &r), TAMIS_ERROR_FILE);
    assert_true(!matrix && !users && !items && !r.matrix && !r.users && !r.items);
}

static bool stop_at_once(void *context, double share) { return ++*(int *)context < 2; }

static bool watch(void *context, double share) {
    double *const last = context;
    assert_true(share >= *last && share <= 1);
    *last = share;
    return true;
}

TEST(ratings_survive_failing_memory_and_cancelling) {
    OWN(file_name) *const path = ml_file(".csv", "ann,tea,1,3\nbob,milk,2,2\nann,tea,3,1\n");
    OWN(tamis_names) *known_users = NULL, *known_items = NULL;
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    for (int given = 0; given < 2; given++) {
        if (given) works(tamis_names_create(&known_users));
        if (given) works(tamis_names_create(&known_items));
        options.users = known_users;
        options.items = known_items;
        EACH_FAULT(w) {
            ratings r;
            const tamis_status status = FAULTY(w, read_ratings(path, &options, &r));
            assert_true(status == TAMIS_OK || (!r.matrix && !r.users));
            if (status != TAMIS_OK && given) assert_int_equal(tamis_names_count(known_users), 0);
            if (given) r.users = r.items = NULL; /* which are the caller's */
            ratings_free(&r);
            if (given) w.live = tamis_memory_live(); /* what they have grown by stays */
        }
    }

    OWN(ratings) r;
    int calls = 0;
    double last = 0;
    const int64_t live = tamis_memory_live();
    options = (tamis_ratings_options)TAMIS_RATINGS_OPTIONS_INIT;
    options.progress = stop_at_once;
    options.progress_context = &calls;
    assert_int_equal(read_ratings(path, &options, &r), TAMIS_ERROR_CANCELLED);
    ml_expect_message(path, ": reading was cancelled by the progress callback");
    assert_true(!r.matrix && !r.users && !r.items);
    assert_int_equal(tamis_memory_live(), live);
    options.progress = watch;
    options.progress_context = &last;
    works(read_ratings(path, &options, &r));
    assert_true(last == 1);
}

/* Against a table of the last rating of each pair. */
TEST(many_ratings_are_as_a_table_has_them) {
    enum { USERS = 300, ITEMS = 200, LINES = 60000 };
    static float table[USERS][ITEMS];
    static bool rated[USERS][ITEMS];
    OWN(file_name) *const path = io_temporary(".csv");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    tamis_random random = tamis_random_start(9, 0);
    fprintf(file, "who,what,how,date\n");
    for (int i = 0; i < LINES; i++) {
        const int64_t user = tamis_random_below(&random, USERS), item = tamis_random_below(&random, ITEMS);
        table[user][item] = (float)tamis_random_below(&random, 100) / 4;
        rated[user][item] = true;
        fprintf(file, "user %lld,\"item, %lld\",%.2f,%d\n", (long long)user, (long long)item, (double)table[user][item],
                i);
    }
    fclose(file);
    OWN(ratings) r = {.matrix = NULL};
    works(tamis_read_ratings(path, NULL, &r.matrix, &r.users, &r.items, NULL));
    const tamis_sparse *const S = tamis_owned_sparse_view(r.matrix);
    works(tamis_validate(S));
    int64_t pairs = 0;
    for (int user = 0; user < USERS; user++)
        for (int item = 0; item < ITEMS; item++) pairs += rated[user][item];
    assert_int_equal(S->nnz, pairs);
    for (int64_t row = 0; row < S->rows; row++)
        for (int64_t t = io_index(S->offsets, S->offset_type, row); t < io_index(S->offsets, S->offset_type, row + 1);
             t++) {
            const int user = atoi(tamis_names_at(r.users, row) + 5);
            const int item = atoi(tamis_names_at(r.items, io_index(S->columns, S->index_type, t)) + 6);
            assert_true(rated[user][item]);
            assert_true(table[user][item] == ((const float *)S->values)[t]);
        }
}

/* Whatever is in a file: a result that is valid, or an error, and nothing left. */
TEST(any_bytes_are_read_or_refused) {
    static const char alphabet[] = "ab\"\",,;:: \t\r\n\n#%.0123e-\0n\xff";
    tamis_random random = tamis_random_start(11, 3);
    const int64_t live = tamis_memory_live();
    int64_t good = 0;
    for (int i = 0; i < 4000; i++) {
        char content[64];
        const size_t bytes = (size_t)tamis_random_below(&random, (int64_t)sizeof content);
        for (size_t c = 0; c < bytes; c++)
            content[c] = alphabet[tamis_random_below(&random, (int64_t)sizeof alphabet - 1)];
        OWN(file_name) *const path = ml_file_of(i % 2 ? ".csv" : ".txt", content, bytes);
        ratings r;
        tamis_names *words = NULL;
        const tamis_status status = read_ratings(path, NULL, &r);
        if (status == TAMIS_OK)
            works(tamis_validate(tamis_owned_sparse_view(r.matrix)));
        else
            assert_int_equal(status, TAMIS_ERROR_FORMAT);
        good += status == TAMIS_OK;
        assert_true((status == TAMIS_OK) == (r.matrix && r.users && r.items));
        (void)tamis_names_read(path, &words);
        tamis_names_free(words);
        ratings_free(&r);
        assert_int_equal(tamis_memory_live(), live);
    }
    assert_true(good > 10);
}
