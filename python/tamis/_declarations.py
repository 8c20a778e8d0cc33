"""The C interface for ctypes: scripts/python-declarations.py writes this file from include/tamis. Do not edit it."""
# ruff: noqa
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t,
                    c_uint, c_uint16, c_uint64, c_void_p)

TAMIS_OK = 0
TAMIS_ERROR_ARGUMENT = 1
TAMIS_ERROR_PATTERN = 2
TAMIS_ERROR_MEMORY = 3
TAMIS_ERROR_UNSUPPORTED = 4
TAMIS_ERROR_OVERFLOW = 5
TAMIS_ERROR_FILE = 6
TAMIS_ERROR_FORMAT = 7
TAMIS_ERROR_DEVICE = 8
TAMIS_ERROR_CANCELLED = 9
TAMIS_ERROR_INTERNAL = 10
TAMIS_F32 = 0
TAMIS_F64 = 1
TAMIS_F16 = 2
TAMIS_BF16 = 3
TAMIS_I32 = 0
TAMIS_I64 = 1
TAMIS_CSR = 0
TAMIS_COO = 1
TAMIS_ROW_MAJOR = 0
TAMIS_COLUMN_MAJOR = 1
TAMIS_HOST = 0
TAMIS_DEVICE = 1
TAMIS_OP_SDDMM = 0
TAMIS_OP_SPMM = 1
TAMIS_OP_FUSED = 2
TAMIS_EDGE_SCALE = 0
TAMIS_EDGE_MASK = 1
TAMIS_EDGE_RESIDUAL = 2
TAMIS_EDGE_QUOTIENT = 3
TAMIS_EDGE_SIGMOID = 4
TAMIS_EDGE_EXP = 5
TAMIS_EDGE_LEAKY_RELU = 6
TAMIS_EDGE_SOFTMAX = 7
TAMIS_MATH_EXACT = 0
TAMIS_MATH_TF32 = 1
TAMIS_EFFORT_ESTIMATE = 0
TAMIS_EFFORT_MEASURE = 1
TAMIS_OVERLAP_AUTO = 0
TAMIS_OVERLAP_NEVER = 1
TAMIS_OVERLAP_ALWAYS = 2
TAMIS_EXCHANGE_AUTO = 0
TAMIS_EXCHANGE_FETCH = 1
TAMIS_EXCHANGE_REPLICATE = 2
TAMIS_EXCHANGE_COVER = 3
TAMIS_CHOSEN_PREDICTED = 0
TAMIS_CHOSEN_NAMED = 1
TAMIS_CHOSEN_MEASURED = 2
TAMIS_CHOSEN_REMEMBERED = 3
TAMIS_SAME_TYPE = -1
TAMIS_LINK_COPIES = 0
TAMIS_LINK_NCCL = 1
TAMIS_TRANSPORT_RECORD = 512
TAMIS_DUPLICATES_KEEP = 0
TAMIS_DUPLICATES_SUM = 1
TAMIS_DUPLICATES_LAST = 2
TAMIS_VALUES_AS_FILED = 0
TAMIS_VALUES_NONE = 1
TAMIS_VALUES_ONES = 2
TAMIS_FILE_AUTO = 0
TAMIS_FILE_MATRIX_MARKET = 1
TAMIS_FILE_HARWELL_BOEING = 2
TAMIS_FILE_METIS = 3
TAMIS_FILE_SMTX = 4
TAMIS_FILE_EDGES = 5
TAMIS_FILE_DOCWORD = 6
TAMIS_FILE_LDAC = 7
TAMIS_FILE_RATINGS = 8
TAMIS_FILE_NPY = 9
TAMIS_FILE_NPZ = 10
TAMIS_FILE_SVMLIGHT = 11
TAMIS_FILE_SVMLIGHT_ZERO_BASED = 12
TAMIS_FOUND_BYTES = 256
TAMIS_KIND_UNIFORM = 0
TAMIS_KIND_RMAT = 1
TAMIS_KIND_BANDED = 2
TAMIS_KIND_FEM = 3
TAMIS_KIND_BLOCK = 4
TAMIS_KIND_SCATTER = 5
TAMIS_KIND_WINDOW = 6
TAMIS_MAP_MULTIPLY_ADD = 0
TAMIS_MAP_EXP_DIGAMMA = 1
TAMIS_MAP_DIVIDE = 2
TAMIS_MAP_CLAMP = 3
TAMIS_MAP_ADAGRAD = 4
TAMIS_SCALE_ROWS = 0
TAMIS_SCALE_COLUMNS = 1
TAMIS_DIVIDE_ROWS = 2
TAMIS_DIVIDE_COLUMNS = 3
TAMIS_MESSAGE_COPY_U = 0
TAMIS_MESSAGE_ADD = 1
TAMIS_MESSAGE_SUB = 2
TAMIS_MESSAGE_MUL = 3
TAMIS_MESSAGE_COPY_E = 4
TAMIS_MESSAGE_ADD_RELU = 5
TAMIS_REDUCE_SUM = 0
TAMIS_REDUCE_MEAN = 1
TAMIS_REDUCE_MAX = 2
TAMIS_REDUCE_MIN = 3
TAMIS_E_NONE = 0
TAMIS_E_NUMBER = 1
TAMIS_E_HEAD = 2
TAMIS_E_VECTOR = 3
TAMIS_PAIR_ADD = 0
TAMIS_PAIR_SUB = 1
TAMIS_PAIR_MUL = 2
TAMIS_PAIR_DOT = 3
TAMIS_SEGMENT_SOFTMAX = 0
TAMIS_SEGMENT_SUM = 1
TAMIS_SEGMENT_MEAN = 2
TAMIS_SEGMENT_MAX = 3
TAMIS_SEGMENT_MIN = 4
TAMIS_ENTRIES_AS_GIVEN = 0
TAMIS_ENTRIES_BY_ROW = 1
TAMIS_ENTRIES_BY_COLUMN = 2
TAMIS_CORRECTIONS_MOST = 128
TAMIS_SPLIT_ENTRIES = 0
TAMIS_SPLIT_LEAVE_ONE = 1
TAMIS_SPLIT_ROWS = 2
TAMIS_SPLIT_TOKENS = 3
TAMIS_ALS = 0
TAMIS_IMPLICIT_ALS = 1
TAMIS_CCD = 2
TAMIS_LDA = 3
TAMIS_SFA = 4
TAMIS_GAP = 5
TAMIS_ITEM_KNN = 6
TAMIS_EASE = 7
TAMIS_BPR = 8
TAMIS_DATA_RATINGS = 0
TAMIS_DATA_USES = 1
TAMIS_DATA_COUNTS = 2
TAMIS_WEIGHTS_LINEAR = 0
TAMIS_WEIGHTS_LOG = 1
TAMIS_WEIGHTS_BM25 = 2
TAMIS_WEIGHTS_ONES = 3
TAMIS_WEIGHTS_AUTO = 4


class tamis_sparse(Structure):
    _fields_ = [("format", c_int), ("location", c_int), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64),
                ("index_type", c_int), ("offset_type", c_int), ("value_type", c_int), ("offsets", c_void_p),
                ("row_indices", c_void_p), ("columns", c_void_p), ("values", c_void_p), ("batch_stride", c_int64),
                ("offset_base", c_int64), ("reserved", c_uint64 * 4)]


class tamis_dense(Structure):
    _fields_ = [("data", c_void_p), ("rows", c_int64), ("cols", c_int64), ("stride", c_int64), ("type", c_int),
                ("layout", c_int), ("location", c_int), ("batch_stride", c_int64), ("reserved", c_uint64 * 4)]


class tamis_device_description(Structure):
    _fields_ = [("name", c_char_p), ("model", c_char_p), ("instruction_set", c_char_p), ("threads", c_int),
                ("cache_l1", c_int64), ("cache_l2", c_int64), ("cache_l3", c_int64), ("memory", c_int64),
                ("location", c_int), ("driver", c_char_p), ("multiprocessors", c_int), ("reserved", c_uint64 * 8)]


class tamis_allocator(Structure):
    _fields_ = [("context", c_void_p), ("allocate", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_void_p)),
                ("release", CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)),
                ("reserved", CFUNCTYPE(None) * 13)]


class tamis_options(Structure):
    _fields_ = [("operation", c_int), ("edge", c_int), ("type", c_int), ("output_type", c_int), ("inner", c_int64),
                ("width", c_int64), ("edge_scale", c_double), ("edge_slope", c_double), ("edge_epsilon", c_double),
                ("transpose", c_bool), ("batch", c_int64), ("expected_calls", c_int64), ("any_order", c_bool),
                ("trust_input", c_bool), ("math", c_int), ("threads", c_int), ("algorithm", c_char_p),
                ("parameters", c_char_p), ("a_layout", c_int), ("b_layout", c_int), ("d_layout", c_int),
                ("output_layout", c_int), ("stream", c_void_p), ("no_workspace", c_bool),
                ("allocator", POINTER(tamis_allocator)), ("keep_softmax", c_bool), ("effort", c_int),
                ("d_is_b", c_bool), ("overlap", c_int), ("exchange", c_int), ("reserved", c_uint64 * 9)]


class tamis_execution(Structure):
    _fields_ = [("stream", c_void_p), ("alpha", c_double), ("beta", c_double), ("values", c_void_p),
                ("values_stride", c_int64), ("workspace", c_void_p), ("workspace_bytes", c_size_t),
                ("softmax_rows", c_void_p), ("generation", c_uint64), ("result", POINTER(tamis_dense)),
                ("reserved", c_uint64 * 5)]


class tamis_plan_report(Structure):
    _fields_ = [("algorithm", c_char_p), ("reason", c_char_p), ("parameters", c_char_p), ("instruction_set", c_char_p),
                ("threads", c_int), ("check_seconds", c_double), ("setup_seconds", c_double),
                ("predicted_seconds", c_double), ("break_even_calls", c_int64), ("workspace_bytes", c_size_t),
                ("prepared_bytes", c_size_t), ("declined", c_int), ("math", c_int), ("chosen_by", c_int),
                ("measured_seconds", c_double), ("measuring_seconds", c_double), ("candidates", c_int64),
                ("reserved", c_uint64 * 5)]


class tamis_profile(Structure):
    _fields_ = [("rows", c_int64), ("cols", c_int64), ("nnz", c_int64), ("mean", c_double), ("variation", c_double),
                ("max", c_int64), ("min", c_int64), ("empty_rows", c_int64), ("bandwidth", c_int64),
                ("mean_span", c_double), ("density", c_double), ("sorted", c_bool), ("duplicates", c_int64),
                ("reserved", c_uint64 * 6)]


class tamis_structure(Structure):
    _fields_ = [("name", c_char_p), ("reason", c_char * 192), ("run", c_double), ("near_share", c_double),
                ("diagonal", c_double), ("histogram", c_int64 * 64), ("histogram_bins", c_int64),
                ("reserved", c_uint64 * 6)]


class tamis_shard_options(Structure):
    _fields_ = [("rank", c_int), ("ranks", c_int), ("column_starts", POINTER(c_int64)), ("split", c_bool),
                ("trust_input", c_bool), ("all_rows", c_bool), ("in_order", c_bool), ("reserved", c_uint64 * 6)]


class tamis_shard_description(Structure):
    _fields_ = [("rank", c_int), ("ranks", c_int), ("first_own", c_int64), ("own_rows", c_int64),
                ("ghost_rows", c_int64), ("send_rows", c_int64), ("own_nnz", c_int64), ("sources", c_int),
                ("targets", c_int), ("ghosts", POINTER(c_int64)), ("receive_starts", POINTER(c_int64)),
                ("sends", POINTER(c_int64)), ("send_starts", POINTER(c_int64)), ("local", tamis_sparse),
                ("own", tamis_sparse), ("ghost", tamis_sparse), ("own_entries", POINTER(c_int64)),
                ("ghost_entries", POINTER(c_int64)), ("ghosts_before", c_int64), ("reserved", c_uint64 * 7)]


class tamis_shard_volume(Structure):
    _fields_ = [("nnz_most", c_int64), ("imbalance", c_double), ("ghosts", c_int64), ("ghosts_most", c_int64),
                ("sends_most", c_int64), ("messages", c_int64), ("sources_most", c_int64), ("reserved", c_uint64 * 9)]


class tamis_transfer(Structure):
    _fields_ = [("send", c_void_p), ("send_starts", POINTER(c_int64)), ("receive", c_void_p),
                ("receive_starts", POINTER(c_int64)), ("reserved", c_uint64 * 4)]


class tamis_transport(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("context", c_void_p), ("rank", c_int), ("ranks", c_int),
                ("gather", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)),
                ("exchange_begin", CFUNCTYPE(c_int, c_void_p, POINTER(tamis_transfer))),
                ("exchange_end", CFUNCTYPE(c_int, c_void_p)), ("abort", CFUNCTYPE(None, c_void_p, c_char_p)),
                ("device_begin", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, POINTER(tamis_transfer))),
                ("device_end", CFUNCTYPE(c_int, c_void_p))]


class tamis_transport_options(Structure):
    _fields_ = [("time_limit", c_double), ("link", c_int), ("reserved", c_uint64 * 6)]


tamis_rank_work = CFUNCTYPE(c_int, c_void_p, c_int)


class tamis_group_description(Structure):
    _fields_ = [("rank", c_int), ("ranks", c_int), ("transport", c_char_p), ("reserved", c_uint64 * 6)]


class tamis_group_report(Structure):
    _fields_ = [("rank", c_int), ("ranks", c_int), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64),
                ("nnz_here", c_int64), ("nnz_most", c_int64), ("imbalance", c_double), ("own_rows", c_int64),
                ("ghost_rows", c_int64), ("send_rows", c_int64), ("sources", c_int), ("targets", c_int),
                ("ghosts", c_int64), ("ghosts_most", c_int64), ("row_bytes", c_int64), ("buffer_bytes", c_size_t),
                ("setup_seconds", c_double), ("overlaps", c_bool), ("exchange_seconds", c_double),
                ("replicated_seconds", c_double), ("together_seconds", c_double), ("alone_seconds", c_double),
                ("back_bytes", c_int64), ("reserved", c_uint64 * 1)]


class tamis_slab_options(Structure):
    _fields_ = [("device_memory", c_int64), ("reserved", c_uint64 * 7)]


class tamis_slab_report(Structure):
    _fields_ = [("device_memory", c_int64), ("buffer_bytes", c_int64), ("pinned_bytes", c_int64),
                ("kept_bytes", c_int64), ("operand_bytes", c_int64), ("keeps_b", c_bool), ("slabs", c_int64),
                ("pieces", c_int64), ("rows_most", c_int64), ("nnz_most", c_int64), ("b_rows", c_int64),
                ("upload_bytes", c_int64), ("download_bytes", c_int64), ("link_seconds", c_double),
                ("setup_seconds", c_double), ("seconds", c_double), ("staging_seconds", c_double),
                ("transfer_seconds", c_double), ("compute_seconds", c_double), ("reserved", c_uint64 * 8)]


class tamis_convert_options(Structure):
    _fields_ = [("format", c_int), ("index_type", c_int), ("offset_type", c_int), ("value_type", c_int),
                ("values", c_int), ("duplicates", c_int), ("sort", c_bool), ("transpose", c_bool),
                ("reserved", c_uint64 * 6)]


class tamis_read_report(Structure):
    _fields_ = [("inexact", c_int64), ("times_column", c_int), ("undirected", c_bool), ("bipartite", c_bool),
                ("labels", c_bool), ("other_ids", c_bool), ("graph", c_bool), ("weights", c_bool),
                ("reserved", c_uint64 * 8)]


class tamis_read_options(Structure):
    _fields_ = [("file_format", c_int), ("format", c_int), ("value_type", c_int), ("index_type", c_int),
                ("offset_type", c_int), ("values", c_int), ("duplicates", c_int), ("undirected", c_bool),
                ("relabel", c_bool), ("threads", c_int), ("progress", CFUNCTYPE(c_bool, c_void_p, c_double)),
                ("progress_context", c_void_p), ("titles", POINTER(c_bool)),
                ("relabelled", CFUNCTYPE(c_bool, c_void_p, c_bool, POINTER(c_int64), c_int64)),
                ("relabelled_context", c_void_p), ("report", POINTER(tamis_read_report)), ("value_column", c_int),
                ("found", c_char_p), ("columns", c_char_p), ("reserved", c_uint64 * 1)]


class tamis_generate_options(Structure):
    _fields_ = [("kind", c_int), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64), ("density", c_double),
                ("seed", c_uint64), ("band", c_int64), ("block", c_int64), ("global", c_int64), ("pattern", c_bool),
                ("value_type", c_int), ("index_type", c_int), ("offset_type", c_int), ("reserved", c_uint64 * 8)]


class tamis_mask(Structure):
    _fields_ = [("rows", c_int64), ("cols", c_int64), ("offset", c_int64), ("left", c_int64), ("right", c_int64),
                ("dilation", c_int64), ("every", c_int64), ("globals", c_int64), ("global_list", c_void_p),
                ("global_count", c_int64), ("global_type", c_int), ("sinks", c_bool), ("causal", c_bool),
                ("from_end", c_bool), ("trust_input", c_bool), ("blocks", POINTER(tamis_sparse)), ("block", c_int64),
                ("members", c_int64), ("lengths", c_void_p), ("row_lengths", c_void_p), ("length_type", c_int),
                ("reserved", c_uint64 * 8)]


class tamis_graph_options(Structure):
    _fields_ = [("threads", c_int), ("trust_input", c_bool), ("forward_only", c_bool), ("column_places", c_bool),
                ("stream", c_void_p), ("reserved", c_uint64 * 5)]


class tamis_message_options(Structure):
    _fields_ = [("op", c_int), ("reduce", c_int), ("edge_data", c_int), ("type", c_int), ("argument_type", c_int),
                ("heads", c_int64), ("width", c_int64), ("reserved", c_uint64 * 6)]


class tamis_pair_options(Structure):
    _fields_ = [("op", c_int), ("type", c_int), ("heads", c_int64), ("width", c_int64), ("reserved", c_uint64 * 6)]


class tamis_graph_attention_options(Structure):
    _fields_ = [("type", c_int), ("heads", c_int64), ("width", c_int64), ("scale", c_double),
                ("reserved", c_uint64 * 6)]


class tamis_graph_attention_matrices(Structure):
    _fields_ = [("Q", POINTER(tamis_dense)), ("K", POINTER(tamis_dense)), ("V", POINTER(tamis_dense)),
                ("E", POINTER(tamis_dense)), ("B", POINTER(tamis_dense)), ("reserved", c_uint64 * 3)]


class tamis_segment_options(Structure):
    _fields_ = [("op", c_int), ("order", c_int), ("type", c_int), ("argument_type", c_int), ("heads", c_int64),
                ("reserved", c_uint64 * 6)]


class tamis_vectors(Structure):
    _fields_ = [("data", c_void_p), ("sequence_stride", c_int64), ("position_stride", c_int64),
                ("head_stride", c_int64), ("reserved", c_uint64 * 4)]


class tamis_cached_attention_options(Structure):
    _fields_ = [("type", c_int), ("output_type", c_int), ("sequences", c_int64), ("heads", c_int64),
                ("key_heads", c_int64), ("inner", c_int64), ("width", c_int64), ("scale", c_double),
                ("capacity", c_int64), ("window", c_int64), ("lengths", c_void_p), ("length_type", c_int),
                ("table_type", c_int), ("table", c_void_p), ("table_stride", c_int64), ("page", c_int64),
                ("pages", c_int64), ("reserved", c_uint64 * 8)]


class tamis_graph_attention_gradients(Structure):
    _fields_ = [("q", POINTER(c_double)), ("k", POINTER(c_double)), ("v", POINTER(c_double)), ("e", POINTER(c_double)),
                ("b", POINTER(c_double)), ("reserved", c_uint64 * 3)]


class tamis_comparison(Structure):
    _fields_ = [("passed", c_bool), ("error", c_double), ("tolerance", c_double), ("stray", c_bool),
                ("share", c_double), ("compared", c_int64), ("not_finite", c_int64), ("row", c_int64), ("col", c_int64),
                ("expected", c_double), ("found", c_double), ("undecided", c_int64), ("cannot_tell", c_bool),
                ("reserved", c_uint64 * 4)]


class tamis_algorithm_description(Structure):
    _fields_ = [("name", c_char_p), ("device", c_char_p), ("operations", c_uint), ("source", c_char_p),
                ("needs", c_char_p), ("when", c_char_p), ("parameters", c_char_p), ("baseline", c_bool),
                ("any_order", c_bool), ("reserved", c_uint64 * 4)]


class tamis_ceilings(Structure):
    _fields_ = [("measured", c_bool), ("threads", c_int), ("fp32_gflops", c_double * 2), ("fp64_gflops", c_double * 2),
                ("l1_gbs", c_double * 2), ("l2_gbs", c_double * 2), ("l3_gbs", c_double * 2),
                ("memory_gbs", c_double * 2), ("gather_gbs", c_double * 6 * 2), ("gather_bytes", c_int64 * 6),
                ("others_processors", c_double), ("doubtful", c_bool), ("reserved", c_uint64 * 6)]


class tamis_correction(Structure):
    _fields_ = [("algorithm", c_char * 48), ("operation", c_int), ("type", c_int), ("columns", c_int64),
                ("cases", c_int64), ("factor", c_double), ("reserved", c_uint64 * 4)]


class tamis_floor(Structure):
    _fields_ = [("flops", c_double), ("bytes", c_double), ("seconds", c_double), ("memory_bound", c_bool),
                ("bandwidth", c_double), ("peak", c_double), ("reserved", c_uint64 * 6)]


class tamis_cache_description(Structure):
    _fields_ = [("path", c_char * 1024), ("entries", c_int64), ("bytes", c_int64), ("most_bytes", c_int64),
                ("plans", c_int64), ("ceilings", c_int64), ("refused", c_char_p), ("reserved", c_uint64 * 1)]


class tamis_ratings_options(Structure):
    _fields_ = [("header", c_bool), ("missing_value", c_double), ("users", c_void_p), ("items", c_void_p),
                ("known_only", c_bool), ("progress", CFUNCTYPE(c_bool, c_void_p, c_double)),
                ("progress_context", c_void_p), ("titles", POINTER(c_bool)), ("sum", c_bool), ("keep", c_int),
                ("value_type", c_int), ("columns", c_char_p), ("times", POINTER(c_void_p)), ("found", c_char_p),
                ("reserved", c_uint64 * 2)]


class tamis_split_options(Structure):
    _fields_ = [("kind", c_int), ("share", c_double), ("seed", c_uint64), ("reserved", c_uint64 * 4)]


class tamis_method_option(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p)]


class tamis_method_description(Structure):
    _fields_ = [("method", c_int), ("data", c_int), ("name", c_char_p), ("summary", c_char_p),
                ("options", POINTER(tamis_method_option)), ("row_factors", c_bool), ("mini_batches", c_bool),
                ("groups", c_bool), ("pairs", c_bool), ("sampled", c_bool), ("reserved_flags", c_bool * 3),
                ("reserved", c_uint64 * 8)]


class tamis_iteration(Structure):
    _fields_ = [("method", c_int), ("iteration", c_int), ("iterations", c_int), ("batch", c_int64),
                ("batches", c_int64), ("loss", c_double), ("metric", c_double), ("seconds", c_double),
                ("total_seconds", c_double), ("sddmm_share", c_double), ("spmm_share", c_double),
                ("fused_share", c_double), ("checkpoint_failure", c_char_p), ("elbo", c_double),
                ("reserved", c_uint64 * 2)]


tamis_iteration_callback = CFUNCTYPE(c_bool, c_void_p, POINTER(tamis_iteration))


class tamis_model_options(Structure):
    _fields_ = [("method", c_int), ("factors", c_int64), ("type", c_int), ("iterations", c_int), ("seed", c_uint64),
                ("tolerance", c_double), ("skip_loss", c_bool), ("regularization", c_double), ("weighted", c_bool),
                ("biases", c_bool), ("cg_steps", c_int), ("confidence", c_double), ("inner_rounds", c_int),
                ("nonnegative", c_bool), ("row_prior", c_double), ("column_prior", c_double),
                ("maximum_a_posteriori", c_bool), ("batch_rows", c_int64), ("rate_decay", c_double), ("rate", c_double),
                ("column_regularization", c_double), ("threads", c_int), ("algorithms", c_char_p),
                ("checkpoint", c_char_p), ("checkpoint_seconds", c_double), ("callback", tamis_iteration_callback),
                ("callback_context", c_void_p), ("rate_offset", c_double), ("learn_row_prior", c_bool),
                ("elbo", c_bool), ("reserved_flags", c_bool * 6), ("weights", c_int), ("neighbours", c_int),
                ("reserved", c_uint64 * 9)]


class tamis_held_out(Structure):
    _fields_ = [("entries", POINTER(tamis_sparse)), ("observed", POINTER(tamis_sparse)), ("relevant", c_double),
                ("threshold", c_bool), ("reserved_flags", c_bool * 7), ("reserved", c_uint64 * 2)]


tamis_batch_source = CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(tamis_sparse)))


class tamis_score(Structure):
    _fields_ = [("entries", c_int64), ("rows", c_int64), ("rmse", c_double), ("mae", c_double),
                ("log_likelihood", c_double), ("perplexity", c_double), ("precision", c_double), ("recall", c_double),
                ("ndcg", c_double), ("coherence", c_double), ("bound_perplexity", c_double), ("reserved", c_uint64 * 7)]


class tamis_model_description(Structure):
    _fields_ = [("options", tamis_model_options), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64),
                ("width", c_int64), ("iterations_done", c_int), ("loss", c_double), ("metric", c_double),
                ("mean", c_double), ("least", c_double), ("most", c_double), ("scale", c_double),
                ("regularization", c_double), ("choice_seconds", c_double), ("reserved", c_uint64 * 5)]


# the values of the _INIT macros that are not zero
TAMIS_OPTIONS_INIT = {"output_type": -1, "inner": -1, "width": -1, "edge_scale": 1.0, "edge_slope": 0.01,
                      "edge_epsilon": 1e-10, "batch": 1, "expected_calls": 1}
TAMIS_EXECUTION_INIT = {"alpha": 1.0}
TAMIS_SHARD_OPTIONS_INIT = {"ranks": 1}
TAMIS_TRANSPORT_OPTIONS_INIT = {"time_limit": 600.0}
TAMIS_SLAB_OPTIONS_INIT = {"device_memory": 0}
TAMIS_CONVERT_OPTIONS_INIT = {"format": 0}
TAMIS_READ_OPTIONS_INIT = {"file_format": 0}
TAMIS_GENERATE_OPTIONS_INIT = {"kind": 0}
TAMIS_MASK_INIT = {"left": -1, "right": -1, "dilation": 1, "members": 1}
TAMIS_RATINGS_OPTIONS_INIT = {"missing_value": 1}
TAMIS_SPLIT_OPTIONS_INIT = {"share": 0.1, "seed": 1}

TAMIS_FUNCTIONS = {
    "tamis_last_error": (c_char_p, []),
    "tamis_status_name": (c_char_p, [c_int]),
    "tamis_version": (c_char_p, []),
    "tamis_build_information": (c_char_p, []),
    "tamis_type_name": (c_char_p, [c_int]),
    "tamis_index_type_name": (c_char_p, [c_int]),
    "tamis_format_name": (c_char_p, [c_int]),
    "tamis_layout_name": (c_char_p, [c_int]),
    "tamis_operation_name": (c_char_p, [c_int]),
    "tamis_edge_name": (c_char_p, [c_int]),
    "tamis_type_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_operation_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_edge_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_type_size": (c_size_t, [c_int]),
    "tamis_index_size": (c_size_t, [c_int]),
    "tamis_f16_from_f32": (c_uint16, [c_float]),
    "tamis_f32_from_f16": (c_float, [c_uint16]),
    "tamis_bf16_from_f32": (c_uint16, [c_float]),
    "tamis_f32_from_bf16": (c_float, [c_uint16]),
    "tamis_device_open": (c_int, [c_char_p, POINTER(c_void_p)]),
    "tamis_device_close": (None, [c_void_p]),
    "tamis_device_describe": (c_int, [c_void_p, POINTER(tamis_device_description)]),
    "tamis_device_set_threads": (c_int, [c_void_p, c_int]),
    "tamis_device_count": (c_int, []),
    "tamis_device_at": (c_int, [c_int, POINTER(c_char_p), POINTER(c_char_p)]),
    "tamis_device_allocate": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "tamis_device_free": (None, [c_void_p, c_void_p]),
    "tamis_device_upload": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]),
    "tamis_device_download": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_size_t]),
    "tamis_sddmm": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                            POINTER(tamis_dense), POINTER(tamis_options), POINTER(tamis_execution)]),
    "tamis_spmm": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                           POINTER(tamis_options), POINTER(tamis_execution)]),
    "tamis_fused": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                            POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_options),
                            POINTER(tamis_execution)]),
    "tamis_plan_create": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_options), POINTER(c_void_p)]),
    "tamis_plan_destroy": (None, [c_void_p]),
    "tamis_plan_destroy_async": (None, [c_void_p, c_void_p]),
    "tamis_plan_workspace_size": (c_int, [c_void_p, POINTER(c_size_t)]),
    "tamis_plan_sddmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                 POINTER(tamis_execution)]),
    "tamis_plan_spmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_plan_fused": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                 POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_plan_explain": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "tamis_chosen_by_name": (c_char_p, [c_int]),
    "tamis_plan_describe": (c_int, [c_void_p, POINTER(tamis_plan_report)]),
    "tamis_plan_declined": (c_int, [c_void_p, c_int, POINTER(c_char_p), POINTER(c_char_p)]),
    "tamis_plan_candidate": (c_int, [c_void_p, c_int, POINTER(c_char_p), POINTER(c_double), POINTER(c_double)]),
    "tamis_gradient_create": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_options), POINTER(c_void_p)]),
    "tamis_gradient_destroy": (None, [c_void_p]),
    "tamis_gradient_destroy_async": (None, [c_void_p, c_void_p]),
    "tamis_gradient_workspace_size": (c_int, [c_void_p, POINTER(c_size_t)]),
    "tamis_gradient_algorithm": (c_char_p, [c_void_p]),
    "tamis_sddmm_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                     POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                     POINTER(tamis_execution)]),
    "tamis_spmm_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                    POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_fused_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                     POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                     POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_plan_edge": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_stream_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tamis_stream_destroy": (None, [c_void_p, c_void_p]),
    "tamis_stream_synchronize": (c_int, [c_void_p, c_void_p]),
    "tamis_event_record": (c_int, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "tamis_stream_wait": (c_int, [c_void_p, c_void_p, c_void_p]),
    "tamis_event_elapsed": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_double)]),
    "tamis_event_destroy": (None, [c_void_p, c_void_p]),
    "tamis_device_allocate_async": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_void_p)]),
    "tamis_device_free_async": (None, [c_void_p, c_void_p, c_void_p]),
    "tamis_device_upload_async": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]),
    "tamis_device_download_async": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_size_t]),
    "tamis_device_copy": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_size_t]),
    "tamis_device_copy_from": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_size_t]),
    "tamis_host_allocate": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "tamis_host_free": (None, [c_void_p, c_void_p]),
    "tamis_validate": (c_int, [POINTER(tamis_sparse)]),
    "tamis_row_profile": (c_int, [POINTER(tamis_sparse), POINTER(tamis_profile)]),
    "tamis_structure_find": (c_int, [POINTER(tamis_sparse), POINTER(tamis_profile), POINTER(tamis_structure)]),
    "tamis_structure_rules": (c_char_p, []),
    "tamis_csr_to_coo": (c_int, [POINTER(tamis_sparse), c_void_p]),
    "tamis_coo_to_csr": (c_int, [POINTER(tamis_sparse), c_void_p, c_void_p, c_void_p, POINTER(c_int64)]),
    "tamis_transpose": (c_int, [POINTER(tamis_sparse), c_void_p, c_void_p, c_void_p, POINTER(c_int64)]),
    "tamis_sort": (c_int, [POINTER(tamis_sparse), c_void_p, c_void_p, POINTER(c_int64)]),
    "tamis_partition": (c_int, [POINTER(tamis_sparse), c_int, POINTER(c_int64)]),
    "tamis_slice": (c_int, [POINTER(tamis_sparse), c_int64, c_int64, c_int64, c_int64, POINTER(tamis_sparse)]),
    "tamis_shard_create": (c_int, [POINTER(tamis_sparse), POINTER(tamis_shard_options), POINTER(c_void_p)]),
    "tamis_shard_destroy": (None, [c_void_p]),
    "tamis_shard_set_requests": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "tamis_shard_describe": (c_int, [c_void_p, POINTER(tamis_shard_description)]),
    "tamis_shard_survey": (c_int, [POINTER(tamis_sparse), c_int, POINTER(c_int64), POINTER(c_int64),
                                   POINTER(tamis_shard_volume)]),
    "tamis_shard_partition": (c_int, [POINTER(tamis_sparse), c_int, POINTER(c_int64), POINTER(c_int64)]),
    "tamis_transport_fail": (c_int, [c_int, c_char_p]),
    "tamis_group_open_local": (c_int, [POINTER(c_void_p), c_int, POINTER(tamis_transport_options), POINTER(c_void_p)]),
    "tamis_group_run": (c_int, [c_int, tamis_rank_work, c_void_p]),
    "tamis_group_open": (c_int, [c_void_p, POINTER(tamis_transport), POINTER(c_void_p)]),
    "tamis_nccl_open": (c_int, [c_void_p, POINTER(tamis_transport), POINTER(tamis_transport)]),
    "tamis_nccl_close": (None, [POINTER(tamis_transport)]),
    "tamis_group_close": (None, [c_void_p]),
    "tamis_group_describe": (c_int, [c_void_p, POINTER(tamis_group_description)]),
    "tamis_group_plan_create": (c_int, [c_void_p, POINTER(tamis_sparse), c_int64, POINTER(tamis_options),
                                        POINTER(c_void_p)]),
    "tamis_group_plan_destroy": (None, [c_void_p]),
    "tamis_group_plan_sddmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                       POINTER(tamis_execution)]),
    "tamis_group_plan_spmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_group_plan_fused": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                       POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_group_plan_local": (c_void_p, [c_void_p]),
    "tamis_group_plan_describe": (c_int, [c_void_p, POINTER(tamis_group_report)]),
    "tamis_group_plan_explain": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "tamis_group_gradient_create": (c_int, [c_void_p, POINTER(tamis_sparse), c_int64, POINTER(tamis_options),
                                            POINTER(c_void_p)]),
    "tamis_group_gradient_destroy": (None, [c_void_p]),
    "tamis_group_gradient_workspace_size": (c_int, [c_void_p, POINTER(c_size_t)]),
    "tamis_group_sddmm_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                           POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                           POINTER(tamis_execution)]),
    "tamis_group_spmm_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                          POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_group_fused_backward": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                           POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                           POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_slab_plan_create": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_options),
                                       POINTER(tamis_slab_options), POINTER(c_void_p)]),
    "tamis_slab_plan_destroy": (None, [c_void_p]),
    "tamis_slab_plan_sddmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                      POINTER(tamis_execution)]),
    "tamis_slab_plan_spmm": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_slab_plan_fused": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                      POINTER(tamis_dense), POINTER(tamis_execution)]),
    "tamis_slab_plan_describe": (c_int, [c_void_p, POINTER(tamis_slab_report)]),
    "tamis_slab_plan_explain": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "tamis_owned_sparse_view": (POINTER(tamis_sparse), [c_void_p]),
    "tamis_owned_dense_view": (POINTER(tamis_dense), [c_void_p]),
    "tamis_owned_sparse_free": (None, [c_void_p]),
    "tamis_owned_dense_free": (None, [c_void_p]),
    "tamis_owned_dense_create": (c_int, [c_int64, c_int64, c_int, c_int, POINTER(c_void_p)]),
    "tamis_fill_uniform": (c_int, [POINTER(tamis_dense), c_uint64, c_double, c_double]),
    "tamis_convert": (c_int, [POINTER(tamis_sparse), POINTER(tamis_convert_options), POINTER(c_void_p)]),
    "tamis_file_format_name": (c_char_p, [c_int]),
    "tamis_file_format_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_read_sparse": (c_int, [c_char_p, POINTER(tamis_read_options), POINTER(c_void_p)]),
    "tamis_read_sparse_memory": (c_int, [c_char_p, c_void_p, c_size_t, POINTER(tamis_read_options), POINTER(c_void_p)]),
    "tamis_write_sparse": (c_int, [c_char_p, POINTER(tamis_sparse)]),
    "tamis_read_dense": (c_int, [c_char_p, c_int, POINTER(c_void_p)]),
    "tamis_read_dense_memory": (c_int, [c_char_p, c_void_p, c_size_t, c_int, POINTER(c_void_p)]),
    "tamis_read_dense_reported": (c_int, [c_char_p, c_int, POINTER(tamis_read_report), POINTER(c_void_p)]),
    "tamis_write_dense": (c_int, [c_char_p, POINTER(tamis_dense)]),
    "tamis_kind_name": (c_char_p, [c_int]),
    "tamis_kind_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_generate": (c_int, [POINTER(tamis_generate_options), POINTER(c_void_p)]),
    "tamis_mask_offsets": (c_int, [c_void_p, c_void_p, POINTER(tamis_mask), c_int, c_void_p, POINTER(c_int64)]),
    "tamis_mask_columns": (c_int, [c_void_p, c_void_p, POINTER(tamis_mask), c_int, c_void_p, c_int, c_void_p]),
    "tamis_mask_create": (c_int, [c_void_p, c_void_p, POINTER(tamis_mask), c_int, c_int, POINTER(c_void_p)]),
    "tamis_dense_workspace_create": (c_int, [c_void_p, c_int64, c_int, POINTER(c_void_p)]),
    "tamis_dense_workspace_destroy": (None, [c_void_p]),
    "tamis_dense_fill": (c_int, [c_void_p, c_void_p, POINTER(tamis_dense), c_double]),
    "tamis_dense_axpby": (c_int, [c_void_p, c_void_p, c_double, POINTER(tamis_dense), c_double, POINTER(tamis_dense)]),
    "tamis_dense_map": (c_int, [c_void_p, c_void_p, c_int, c_double, c_double, POINTER(tamis_dense),
                                POINTER(tamis_dense), POINTER(tamis_dense)]),
    "tamis_dense_scale": (c_int, [c_void_p, c_void_p, c_int, POINTER(tamis_dense), c_double, POINTER(tamis_dense),
                                  c_double, POINTER(tamis_dense)]),
    "tamis_dense_gram": (c_int, [c_void_p, c_void_p, c_void_p, c_double, POINTER(tamis_dense), c_double,
                                 POINTER(tamis_dense)]),
    "tamis_dense_multiply": (c_int, [c_void_p, c_void_p, c_double, POINTER(tamis_dense), POINTER(tamis_dense), c_double,
                                     POINTER(tamis_dense)]),
    "tamis_dense_column_sums": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(tamis_dense), POINTER(tamis_dense)]),
    "tamis_dense_row_sums": (c_int, [c_void_p, c_void_p, POINTER(tamis_dense), POINTER(tamis_dense)]),
    "tamis_dense_row_dots": (c_int, [c_void_p, c_void_p, POINTER(tamis_dense), POINTER(tamis_dense),
                                     POINTER(tamis_dense)]),
    "tamis_dense_dot": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(tamis_dense), POINTER(tamis_dense),
                                POINTER(c_double)]),
    "tamis_dense_log_dot": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(tamis_dense), POINTER(tamis_dense), c_double,
                                    POINTER(c_double)]),
    "tamis_dense_cg_step": (c_int, [c_void_p, c_void_p, POINTER(tamis_dense), c_double, POINTER(tamis_dense),
                                    POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                    POINTER(tamis_dense)]),
    "tamis_graph_create": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_graph_options), POINTER(c_void_p)]),
    "tamis_graph_destroy": (None, [c_void_p]),
    "tamis_message_pass": (c_int, [c_void_p, POINTER(tamis_message_options), POINTER(tamis_dense), POINTER(tamis_dense),
                                   POINTER(tamis_dense), c_void_p, c_void_p]),
    "tamis_message_backward": (c_int, [c_void_p, POINTER(tamis_message_options), POINTER(tamis_dense),
                                       POINTER(tamis_dense), POINTER(tamis_dense), c_void_p, POINTER(tamis_dense),
                                       POINTER(tamis_dense), c_void_p]),
    "tamis_edge_vectors": (c_int, [c_void_p, POINTER(tamis_pair_options), POINTER(tamis_dense), POINTER(tamis_dense),
                                   POINTER(tamis_dense), c_void_p]),
    "tamis_edge_vectors_backward": (c_int, [c_void_p, POINTER(tamis_pair_options), POINTER(tamis_dense),
                                            POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                            POINTER(tamis_dense), c_void_p]),
    "tamis_graph_attention": (c_int, [c_void_p, POINTER(tamis_graph_attention_options),
                                      POINTER(tamis_graph_attention_matrices), POINTER(tamis_dense),
                                      POINTER(tamis_dense), c_void_p]),
    "tamis_graph_attention_workspace_size": (c_int, [c_void_p, POINTER(tamis_graph_attention_options),
                                                     POINTER(c_size_t)]),
    "tamis_graph_attention_backward": (c_int, [c_void_p, POINTER(tamis_graph_attention_options),
                                               POINTER(tamis_graph_attention_matrices), POINTER(tamis_dense),
                                               POINTER(tamis_dense), POINTER(tamis_dense),
                                               POINTER(tamis_graph_attention_matrices), c_void_p, c_void_p]),
    "tamis_segment": (c_int, [c_void_p, POINTER(tamis_segment_options), POINTER(tamis_dense), POINTER(tamis_dense),
                              c_void_p, c_void_p]),
    "tamis_segment_backward": (c_int, [c_void_p, POINTER(tamis_segment_options), POINTER(tamis_dense),
                                       POINTER(tamis_dense), c_void_p, POINTER(tamis_dense), c_void_p]),
    "tamis_cached_attention": (c_int, [c_void_p, POINTER(tamis_cached_attention_options), POINTER(tamis_vectors),
                                       POINTER(tamis_vectors), POINTER(tamis_vectors), POINTER(tamis_vectors), c_void_p,
                                       c_void_p]),
    "tamis_reference_sddmm": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                      POINTER(tamis_options), POINTER(tamis_execution), POINTER(c_double)]),
    "tamis_reference_spmm": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_options),
                                     POINTER(tamis_execution), POINTER(c_double)]),
    "tamis_reference_fused": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                      POINTER(tamis_dense), POINTER(tamis_options), POINTER(tamis_execution),
                                      POINTER(c_double)]),
    "tamis_reference_sddmm_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                               POINTER(tamis_dense), POINTER(tamis_options), POINTER(tamis_execution),
                                               POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "tamis_reference_spmm_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                              POINTER(tamis_options), POINTER(tamis_execution), POINTER(c_double),
                                              POINTER(c_double)]),
    "tamis_reference_fused_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                               POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_options),
                                               POINTER(tamis_execution), POINTER(c_double), POINTER(c_double),
                                               POINTER(c_double), POINTER(c_double)]),
    "tamis_reference_edge": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_options),
                                     POINTER(tamis_execution), POINTER(c_double)]),
    "tamis_reference_message": (c_int, [POINTER(tamis_sparse), POINTER(tamis_message_options), POINTER(tamis_dense),
                                        POINTER(tamis_dense), POINTER(c_double), POINTER(c_int64)]),
    "tamis_reference_message_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_message_options),
                                                 POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                                 POINTER(c_double), POINTER(c_double)]),
    "tamis_reference_edge_vectors": (c_int, [POINTER(tamis_sparse), POINTER(tamis_pair_options), POINTER(tamis_dense),
                                             POINTER(tamis_dense), POINTER(c_double)]),
    "tamis_reference_edge_vectors_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_pair_options),
                                                      POINTER(tamis_dense), POINTER(tamis_dense), POINTER(tamis_dense),
                                                      POINTER(c_double), POINTER(c_double)]),
    "tamis_reference_graph_attention": (c_int, [POINTER(tamis_sparse), POINTER(tamis_graph_attention_options),
                                                POINTER(tamis_graph_attention_matrices), POINTER(c_double),
                                                POINTER(c_double)]),
    "tamis_reference_graph_attention_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_graph_attention_options),
                                                         POINTER(tamis_graph_attention_matrices), POINTER(tamis_dense),
                                                         POINTER(tamis_graph_attention_gradients)]),
    "tamis_reference_segment": (c_int, [POINTER(tamis_sparse), POINTER(tamis_segment_options), POINTER(tamis_dense),
                                        POINTER(c_double), POINTER(c_int64)]),
    "tamis_reference_segment_backward": (c_int, [POINTER(tamis_sparse), POINTER(tamis_segment_options),
                                                 POINTER(tamis_dense), POINTER(tamis_dense), POINTER(c_double)]),
    "tamis_oracle_create": (c_int, [POINTER(tamis_sparse), POINTER(tamis_dense), POINTER(tamis_dense),
                                    POINTER(tamis_dense), POINTER(tamis_options), c_double, POINTER(c_void_p)]),
    "tamis_oracle_free": (None, [c_void_p]),
    "tamis_oracle_rows": (c_int64, [c_void_p, POINTER(POINTER(c_int64))]),
    "tamis_oracle_compare": (c_int, [c_void_p, POINTER(tamis_dense), c_double, c_double, POINTER(tamis_dense),
                                     POINTER(tamis_comparison)]),
    "tamis_algorithm_count": (c_int, []),
    "tamis_algorithm_at": (c_int, [c_int, POINTER(tamis_algorithm_description)]),
    "tamis_device_ceilings": (c_int, [c_void_p, POINTER(tamis_ceilings)]),
    "tamis_device_probe": (c_int, [c_void_p, POINTER(tamis_ceilings)]),
    "tamis_device_correct": (c_int, [c_void_p, POINTER(tamis_correction), c_int64]),
    "tamis_device_corrections": (c_int, [c_void_p, POINTER(tamis_correction), c_int64, POINTER(c_int64)]),
    "tamis_floor_find": (c_int, [POINTER(tamis_sparse), POINTER(tamis_options), c_bool, POINTER(tamis_ceilings), c_bool,
                                 POINTER(tamis_floor)]),
    "tamis_cache_describe": (c_int, [POINTER(tamis_cache_description)]),
    "tamis_cache_clear": (c_int, [POINTER(c_int64)]),
}

TAMIS_ML_FUNCTIONS = {
    "tamis_names_create": (c_int, [POINTER(c_void_p)]),
    "tamis_names_free": (None, [c_void_p]),
    "tamis_names_count": (c_int64, [c_void_p]),
    "tamis_names_at": (c_char_p, [c_void_p, c_int64]),
    "tamis_names_find": (c_int64, [c_void_p, c_char_p, c_size_t]),
    "tamis_names_add": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_int64)]),
    "tamis_names_copy": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tamis_names_read": (c_int, [c_char_p, POINTER(c_void_p)]),
    "tamis_read_ratings": (c_int, [c_char_p, POINTER(tamis_ratings_options), POINTER(c_void_p), POINTER(c_void_p),
                                   POINTER(c_void_p), POINTER(c_int64)]),
    "tamis_split": (c_int, [POINTER(tamis_sparse), POINTER(tamis_split_options), POINTER(c_void_p), POINTER(c_void_p)]),
    "tamis_batches_open": (c_int, [c_char_p, c_int64, POINTER(c_void_p)]),
    "tamis_batches_close": (None, [c_void_p]),
    "tamis_batches_columns": (c_int64, [c_void_p]),
    "tamis_batches_next": (c_int, [c_void_p, POINTER(POINTER(tamis_sparse))]),
    "tamis_method_name": (c_char_p, [c_int]),
    "tamis_method_from_name": (c_int, [c_char_p, POINTER(c_int)]),
    "tamis_method_count": (c_int, []),
    "tamis_method_at": (c_int, [c_int, POINTER(tamis_method_description)]),
    "tamis_read_data": (c_int, [c_int, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p),
                                POINTER(c_void_p)]),
    "tamis_read_data_found": (c_int, [c_int, c_char_p, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p),
                                      POINTER(c_void_p), POINTER(c_void_p)]),
    "tamis_model_options_init": (c_int, [POINTER(tamis_model_options), c_int]),
    "tamis_model_create": (c_int, [c_void_p, POINTER(tamis_model_options), POINTER(c_void_p)]),
    "tamis_model_copy": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tamis_model_free": (None, [c_void_p]),
    "tamis_model_fit": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_held_out)]),
    "tamis_model_fit_group": (c_int, [c_void_p, c_void_p, POINTER(tamis_sparse), POINTER(tamis_held_out)]),
    "tamis_model_partial_fit": (c_int, [c_void_p, POINTER(tamis_sparse)]),
    "tamis_model_renew": (c_int, [c_void_p]),
    "tamis_model_put_rows": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(c_int64)]),
    "tamis_model_fit_stream": (c_int, [c_void_p, tamis_batch_source, c_void_p, c_int64, POINTER(tamis_held_out)]),
    "tamis_model_transform": (c_int, [c_void_p, POINTER(tamis_sparse), POINTER(tamis_dense)]),
    "tamis_model_shares": (c_int, [c_void_p, POINTER(tamis_dense)]),
    "tamis_model_predict": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(tamis_sparse), POINTER(c_double)]),
    "tamis_model_recommend": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(c_int64), c_int64, POINTER(tamis_sparse),
                                      c_int, POINTER(c_int64), POINTER(c_double)]),
    "tamis_model_recommend_among": (c_int, [c_void_p, POINTER(tamis_dense), POINTER(c_int64), c_int64,
                                            POINTER(tamis_sparse), POINTER(c_bool), c_int, POINTER(c_int64),
                                            POINTER(c_double)]),
    "tamis_model_similar": (c_int, [c_void_p, c_bool, POINTER(c_int64), c_int64, c_int, POINTER(c_int64),
                                    POINTER(c_double)]),
    "tamis_model_topics": (c_int, [c_void_p, c_int, POINTER(c_int64), POINTER(c_double)]),
    "tamis_model_score": (c_int, [c_void_p, POINTER(tamis_held_out), c_bool, c_int, POINTER(tamis_score)]),
    "tamis_baseline": (c_int, [c_int, POINTER(tamis_sparse), POINTER(tamis_sparse), POINTER(c_double)]),
    "tamis_baseline_name": (c_char_p, [c_int]),
    "tamis_model_describe": (c_int, [c_void_p, POINTER(tamis_model_description)]),
    "tamis_model_row_factors": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tamis_model_column_factors": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tamis_model_continue_with": (c_int, [c_void_p, POINTER(tamis_model_options)]),
    "tamis_model_set_names": (c_int, [c_void_p, c_void_p, c_void_p]),
    "tamis_model_row_names": (c_void_p, [c_void_p]),
    "tamis_model_column_names": (c_void_p, [c_void_p]),
    "tamis_model_save": (c_int, [c_void_p, c_char_p]),
    "tamis_model_load": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
}


# of each edge: how S's value enters; f, exp's argument in it (v.e) and df/dx; by src/base/edge_rows.h
EDGE_FORMULAS = {
    TAMIS_EDGE_SCALE: ("multiplies", lambda v: v.x, None, lambda v: 1),
    TAMIS_EDGE_MASK: ("unread", lambda v: v.x, None, lambda v: 1),
    TAMIS_EDGE_RESIDUAL: ("added", lambda v: -v.x, None, lambda v: -1),
    TAMIS_EDGE_QUOTIENT: ("divided", lambda v: 1 / v.select(v.x <= v.epsilon, v.epsilon, v.x), None,
                          lambda v: v.select(v.x <= v.epsilon, 0, -v.f * v.f)),
    TAMIS_EDGE_SIGMOID: ("multiplies", lambda v: v.select(v.y < 0, v.e, 1) / (1 + v.e),
                         lambda v: v.select(v.y < 0, v.y, -v.y), lambda v: v.scale * (v.e / ((1 + v.e) * (1 + v.e)))),
    TAMIS_EDGE_EXP: ("multiplies", lambda v: v.e, lambda v: v.y, lambda v: v.scale * v.e),
    TAMIS_EDGE_LEAKY_RELU: ("multiplies", lambda v: v.select(v.y < 0, v.slope * v.y, v.y), None,
                            lambda v: v.select(v.y < 0, v.slope * v.scale, v.scale)),
    TAMIS_EDGE_SOFTMAX: ("bias", lambda v: v.y, None, lambda v: v.scale),
}
