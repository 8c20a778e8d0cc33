/* The commands of the methods: als, implicit-als, ccd, sfa, lda and gap, each with its actions. */
#include "model_actions.h"
#include "model_options.h"

static const char train_description[] =
    "Fits a model to DATA and writes it to MODEL. DATA are ratings 'user item rating' with arbitrary ids, which the "
    "model keeps as names (.csv, .tsv, .ratings, .data; except for lda and gap also .dat and .txt); bags of words "
    "(docword.*, .ldac, .dat), with names from --vocabulary; or any other matrix, rows x columns, also "
    "generate:KIND:rows=..,nnz=.. with the options of 'tamis generate' as keys.\n"
    "\n"
    "On a terminal there is a line for each iteration: the loss, the metric on held-out entries (RMSE of ratings, "
    "perplexity of words; for implicit data, the share of held-out entries among the first ten), and the shares of the "
    "time in the sparse operations. Loss and metric are empty if there is none.\n"
    "\n"
    "A checkpoint is written at most every --checkpoint-seconds. After Ctrl-C or a crash, the same command with "
    "--resume continues the training and gives the same model as an uninterrupted training; --iterations, --tolerance, "
    "--loss and --threads may differ then. The same data, options, device and number of threads give the same model.";

#define TRAIN(name_of, method)                                                                                         \
    static const tool_command name_of = {                                                                              \
        .name = "train",                                                                                               \
        .summary = "fit a model to data",                                                                              \
        .operands = "DATA",                                                                                            \
        .least = 1,                                                                                                    \
        .most = 1,                                                                                                     \
        .description = train_description,                                                                              \
        .options = tool_train_options[method],                                                                         \
        .examples = name_of##_examples,                                                                                \
        .settings_size = sizeof(tool_train_settings),                                                                  \
        .run_action = tool_train,                                                                                      \
    }

static const tool_example als_train_examples[] = {
    {"tamis als train ratings.csv -o movies.model --factors 50 --hold-out 0.1",
     "features of users and movies, measured on a tenth of the ratings"},
    {"tamis als train ratings.csv -o movies.model --hold-out 0.1 --resume=movies.model --iterations 30",
     "more iterations of that model, on the same data"},
    {NULL, NULL},
};
static const tool_example implicit_als_train_examples[] = {
    {"tamis implicit-als train plays.tsv -o music.model --confidence 40 --leave-one-out",
     "from play counts; one song of each user is held out to measure recall"},
    {NULL, NULL},
};
static const tool_example ccd_train_examples[] = {
    {"tamis ccd train ratings.csv -o movies.model --held-out test.csv --json run.jsonl",
     "one feature at a time, with the error on a file; a line of JSON per pass"},
    {NULL, NULL},
};
static const tool_example sfa_train_examples[] = {
    {"tamis sfa train ratings.mtx -o movies.model --stream --batch-rows 4096", "ratings in mini-batches of users"},
    {NULL, NULL},
};
static const tool_example lda_train_examples[] = {
    {"tamis lda train docword.news.txt.gz -o news.model --topics 50 --vocabulary vocab.news.txt --hold-out 0.1",
     "fifty topics with named words, measured on a tenth of the words"},
    {"tamis lda train docword.pubmed.txt -o pubmed.model --stream --batch-rows 2048",
     "documents that do not fit into memory"},
    {NULL, NULL},
};
static const tool_example gap_train_examples[] = {
    {"tamis gap train docword.kos.txt -o kos.model --topics 20 --iterations 50", "topics under a Poisson model"},
    {NULL, NULL},
};

TRAIN(als_train, TAMIS_ALS);
TRAIN(implicit_als_train, TAMIS_IMPLICIT_ALS);
TRAIN(ccd_train, TAMIS_CCD);
TRAIN(sfa_train, TAMIS_SFA);
TRAIN(lda_train, TAMIS_LDA);
TRAIN(gap_train, TAMIS_GAP);

/* The actions of a method of ratings, and of one of documents. */
#define OF_RATINGS(train)                                                                                              \
    {                                                                                                                  \
        &(train), &tool_predict_ratings, &tool_recommend_items, &tool_topics_of_ratings, &tool_score_ratings,          \
            &tool_model_info_ratings, NULL                                                                             \
    }
#define OF_DOCUMENTS(train)                                                                                            \
    {                                                                                                                  \
        &(train), &tool_predict_words, &tool_recommend_words, &tool_topics_of_words, &tool_score_words,                \
            &tool_model_info_words, NULL                                                                               \
    }

static const tool_command *const als_actions[] = OF_RATINGS(als_train);
static const tool_command *const implicit_als_actions[] = OF_RATINGS(implicit_als_train);
static const tool_command *const ccd_actions[] = OF_RATINGS(ccd_train);
static const tool_command *const sfa_actions[] = OF_RATINGS(sfa_train);
static const tool_command *const lda_actions[] = OF_DOCUMENTS(lda_train);
static const tool_command *const gap_actions[] = OF_DOCUMENTS(gap_train);

static const tool_option no_options[] = {{.name = NULL}};

#define GROUP(command_name, its_actions, its_summary, its_description)                                                 \
    {                                                                                                                  \
        .name = command_name, .summary = its_summary, .operands = "ACTION", .description = its_description,            \
        .options = no_options, .actions = its_actions                                                                  \
    }

const tool_command tool_als_command = GROUP(
    "als", als_actions, "train and use models of ratings (alternating least squares)",
    "Models ratings by alternating least squares. Users and items have features whose products are the ratings. They "
    "are computed alternately, by conjugate gradients on all rows at once. Try this method first for ratings.");

const tool_command tool_implicit_als_command = GROUP(
    "implicit-als", implicit_als_actions, "the same for counts of what was used, bought or played",
    "Models usage counts by the alternating least squares of Hu, Koren and Volinsky. Every entry counts, and those "
    "with a count have more weight. Use it for recommendations without ratings.");

const tool_command tool_ccd_command =
    GROUP("ccd", ccd_actions, "train and use models of ratings, one feature at a time (CCD++)",
          "Models ratings by CCD++: coordinate descent, one feature of all users and items at a time. Features may be "
          "constrained to be at least 0.");

const tool_command tool_sfa_command =
    GROUP("sfa", sfa_actions, "train and use models of ratings in mini-batches of users (sparse factor analysis)",
          "Models ratings by sparse factor analysis in mini-batches of users: users by conjugate gradients, items by "
          "ADAGRAD. The model stores only items; the features of users are computed again from their ratings.");

const tool_command tool_lda_command = GROUP(
    "lda", lda_actions, "find topics of documents (latent Dirichlet allocation)",
    "Finds topics of documents by latent Dirichlet allocation: online variational Bayes in mini-batches of documents. "
    "The model stores the words of topics; the topics of a document are computed from its words.");

const tool_command tool_gap_command = GROUP(
    "gap", gap_actions, "find topics of documents, or non-negative factors of counts (gamma-Poisson)",
    "Finds topics of documents by a gamma-Poisson model of the counts. With shape 1 and no scale, the defaults, this "
    "is a non-negative factorisation that minimises the Kullback-Leibler divergence.");
