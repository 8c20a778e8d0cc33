"""Common parts of the comparisons: data, splits, neutral metrics computed the same way for every library, running the program."""
import argparse
import gzip
import json
import lzma
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy
import scipy.io
import scipy.sparse


def opened(path):
    return {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(path)[1], open)(path, "rt")


def matrix_market(path):
    with opened(path) as file:
        return scipy.sparse.csr_matrix(scipy.io.mmread(file))


def lda_c(path, words):
    rows, columns, counts = [], [], []
    documents = 0
    with opened(path) as file:
        for line in file:
            for pair in line.split()[1:]:
                word, count = pair.split(":")
                rows.append(documents)
                columns.append(int(word))
                counts.append(int(count))
            documents += 1
    return scipy.sparse.csr_matrix((counts, (rows, columns)), shape=(documents, words), dtype=numpy.float64)


def docword(path):
    with opened(path) as file:
        documents, words, _ = (int(next(file)) for _ in range(3))
        table = numpy.loadtxt(file, dtype=numpy.int64)
    return scipy.sparse.csr_matrix((table[:, 2].astype(float), (table[:, 0] - 1, table[:, 1] - 1)), shape=(documents, words))


def visits(path):
    """Read UCI's format: a line C begins a user; each line V is a page visited."""
    rows, columns, pages, users = [], [], {}, -1
    with opened(path) as file:
        for line in file:
            if line[0] == "C":
                users += 1
            elif line[0] == "V":
                rows.append(users)
                columns.append(pages.setdefault(line.split(",")[1], len(pages)))
    return uses_of(rows, columns, (users + 1, len(pages)))


def read(path):
    """Read a file by what its name says of its format; behind the name of one of lda-c stands a colon and the number of words."""
    name, _, words = path.partition(":")
    return lda_c(name, int(words)) if words else docword(path) if "docword" in path else visits(path) if ".data" in path else matrix_market(path)


def uses_of(rows, columns, shape):
    return scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=shape)


# ------------------------------------------------------------------------------------------ splits

def hold_out(matrix, places):
    """Hold out of each row the entries at places(their number). Return (observed, held out)."""
    matrix = matrix.tocsr()
    held = numpy.zeros(matrix.nnz, dtype=bool)
    for begin, end in zip(matrix.indptr, matrix.indptr[1:]):
        held[begin + numpy.asarray(places(end - begin), dtype=int)] = True
    return part(matrix, ~held), part(matrix, held)


def hold_out_entries(matrix, share, seed):
    """Hold out a share of each row's entries, rounded; at least one stays. Return (observed, held out)."""
    draw = numpy.random.default_rng(seed)

    def places(entries):
        count = min(int(round(share * entries)), entries - 1)
        return draw.permutation(entries)[:count] if count > 0 else []
    return hold_out(matrix, places)


def leave_one_out(matrix, seed):
    draw = numpy.random.default_rng(seed)
    return hold_out(matrix, lambda entries: draw.integers(entries) if entries >= 2 else [])


def part(matrix, keep):
    rows = numpy.repeat(numpy.arange(matrix.shape[0]), numpy.diff(matrix.indptr))
    return scipy.sparse.csr_matrix((matrix.data[keep], (rows[keep], matrix.indices[keep])), shape=matrix.shape)


def hold_out_tokens(matrix, share, seed):
    """Hold out each occurrence of a word with probability `share`. Return (observed, held out)."""
    draw = numpy.random.default_rng(seed)
    matrix = matrix.tocsr()
    away = draw.binomial(matrix.data.astype(numpy.int64), share).astype(float)
    observed, held = matrix.copy(), matrix.copy()
    observed.data = matrix.data - away
    held.data = away
    observed.eliminate_zeros()
    held.eliminate_zeros()
    return observed, held


# ------------------------------------------------------------------------------------------ metrics

def errors(predicted, held, least, most):
    """Return RMSE and MAE. Predictions are in the order of held's entries, and clamped to the ratings' range for every library."""
    difference = numpy.clip(predicted, least, most) - held.tocoo().data
    return float(numpy.sqrt(numpy.mean(difference ** 2))), float(numpy.mean(numpy.abs(difference)))


def ranking(recommended, held, top=10):
    """Return the mean recall and NDCG over the rows with held-out entries. recommended: rows x top columns, -1 for none."""
    recall, gain = [], []
    discount = 1 / numpy.log2(numpy.arange(2, top + 2))
    for i in range(held.shape[0]):
        relevant = set(held.indices[held.indptr[i]:held.indptr[i + 1]])
        if not relevant:
            continue
        hits = numpy.array([j in relevant for j in recommended[i][:top]])
        recall.append(hits.sum() / min(len(relevant), top))
        gain.append((hits * discount[:len(hits)]).sum() / discount[:min(len(relevant), top)].sum())
    return float(numpy.mean(recall)), float(numpy.mean(gain))


def perplexity(theta, phi, held):
    """Return the perplexity of held-out words, exp(-mean log probability). theta: documents x topics, phi: topics x words."""
    theta = theta / theta.sum(axis=1, keepdims=True)
    phi = phi / phi.sum(axis=1, keepdims=True)
    coo = held.tocoo()
    probability = numpy.einsum("ik,ik->i", theta[coo.row], phi.T[coo.col])
    return float(math.exp(-(coo.data * numpy.log(numpy.maximum(probability, 1e-12))).sum() / coo.data.sum()))


def coherence(tops, documents):
    """Return the mean NPMI of the pairs of each topic's top words, by documents; pairs that never occur together count -1."""
    present = (documents > 0).astype(numpy.float64).tocsc()
    number = documents.shape[0]
    topics = []
    for words in tops:
        columns = present[:, words]
        together = (columns.T @ columns).toarray() / number
        alone = numpy.diag(together)
        values = []
        for i in range(len(words)):
            for j in range(i):
                p = together[i, j]
                values.append(-1 if p == 0 else 1 if p == 1 else math.log(p / (alone[i] * alone[j])) / -math.log(p))
        topics.append(numpy.mean(values))
    return float(numpy.mean(topics))


# ------------------------------------------------------------------------------------------ the program

class Program:
    """Runs `tamis` on files in a temporary folder."""

    def __init__(self, path, device):
        self.path, self.device = os.path.abspath(path), device
        self.folder = tempfile.TemporaryDirectory()
        done = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True)
        said = dict(line.split(None, 1) for line in done.stdout.splitlines() if len(line.split(None, 1)) == 2)
        self.version, self.commit = said["tamis"], said["commit"].strip()[:8]

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, matrix):
        path = self.file(name + ".npz")
        matrix = matrix.tocsr()
        matrix.sort_indices()
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix((matrix.data.astype(numpy.float32), matrix.indices.astype(numpy.int32),
                                                             matrix.indptr.astype(numpy.int32)), shape=matrix.shape))
        return path

    def run(self, *words):
        """Run a command with one thread, as the other libraries have. Return its standard output and the seconds it took."""
        if words[0] != "export":
            words += ("--threads", 1)
        start = time.perf_counter()
        done = subprocess.run([self.path, *(str(word) for word in words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(word) for word in words)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout, time.perf_counter() - start

    def json_lines(self, *words):
        return [json.loads(line) for line in self.run(*words, "--json")[0].splitlines() if line.strip()]

    def train(self, method, matrix, seed, *fixed, **setting):
        """Train a model. Return its file, that of the matrix, and the seconds it took."""
        model, data = self.file("model"), self.write("train", matrix)
        words = [word for name, value in setting.items() for word in (f"--{name}", value)]
        _, seconds = self.run("train", method, data, "-o", model, "--seed", seed, "--quiet", "--device", self.device, *fixed, *words)
        return model, data, seconds


def seconds_of(function, *given, **options):
    start = time.perf_counter()
    function(*given, **options)
    return time.perf_counter() - start


def search(error, ladders, starts):
    """Minimise the error by coordinate search. Each option has a ladder of values; one option at a time moves up or down its ladder
    while the error falls, until no single step lowers it. The search runs from each start (places on the ladders), and the best
    result counts. error(setting) is called once for each setting. Return (setting, its error, number of settings tried)."""
    known = {}

    def of(places):
        if places not in known:
            known[places] = error({name: ladder[place] for (name, ladder), place in zip(ladders.items(), places)})
        return known[places]

    def climb(best):
        moved = True
        while moved:
            moved = False
            for k, ladder in enumerate(ladders.values()):
                for step in (1, -1):
                    while True:
                        other = best[:k] + (best[k] + step,) + best[k + 1:]
                        if not 0 <= other[k] < len(ladder) or of(other) >= of(best):
                            break
                        best, moved = other, True
        return best

    best = min((climb(tuple(start[name] for name in ladders)) for start in starts), key=of)
    setting = {name: ladder[place] for (name, ladder), place in zip(ladders.items(), best)}
    return setting, of(best), len(known)


class Results:
    """A file of JSON lines, one for each measurement, with the commit that the program was built from. Recorded measurements are not
    repeated, so the same command resumes after an interruption. To measure again, delete the lines."""

    def __init__(self, path, program):
        self.path, self.program = path, program
        self.lines = []
        if os.path.exists(path):
            with open(path) as file:
                self.lines = [json.loads(line) for line in file]

    def found(self, **fields):
        return [line for line in self.lines if all(line.get(name) == value for name, value in fields.items())]

    def add(self, **fields):
        line = {**fields, "version": self.program.version, "commit": self.program.commit}
        self.lines.append(line)
        with open(self.path, "a") as out:
            out.write(json.dumps(line) + "\n")
        shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in line.items() if name != "record"}
        print(" ".join(f"{name}={value}" for name, value in shown.items()), file=sys.stderr)


def shape_of(matrix):
    return {"rows": matrix.shape[0], "cols": matrix.shape[1], "nnz": int(matrix.nnz)}


def compare(results, record, name, matrix, contestants, given, trial, measure):
    """Measure each contestant with each seed, at the setting found by `search`. contestants: for each name, its fit function, the
    ladders of its options and the starts of the search. trial(fit, setting) returns the error that the search minimises;
    measure(fit, setting, seed) returns a dictionary of measurements."""
    fields = dict(record=record, data=name, **shape_of(matrix))
    for contestant, (fit, ladders, starts) in chosen(contestants, given.only).items():
        known = results.found(**fields, contestant=contestant)
        left = [seed for seed in given.seeds if seed not in [line["seed"] for line in known]]
        if not left:
            continue
        best, tried = {}, 0
        if known:
            best, tried = known[0]["setting"], known[0]["tried"]
        elif ladders:
            best, _, tried = search(lambda setting: trial(fit, setting), ladders, starts)
        for seed in left:
            results.add(**fields, seed=seed, contestant=contestant, setting=best, tried=tried, **measure(fit, best, seed))


def begun(parser):
    """Return the options, the program, the results so far, and the names and matrices of the data sets, which are read one by one."""
    given = parser.parse_args()
    program = Program(given.program, given.device)
    return given, program, Results(given.out, program), ((name, read(path)) for name, path in (data.split("=", 1) for data in given.data))


def chosen(contestants, names):
    """Return the entries with these names, or all entries if no names are given."""
    return {name: of for name, of in contestants.items() if not names or name in names}


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program")
    parser.add_argument("out", help="lines of JSON; what is there is not measured again")
    parser.add_argument("--data", action="append", default=[], help="NAME=FILE; again for more")
    parser.add_argument("--seeds", default="1,2,3", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", action="append", default=[], help="a contestant's name; again for more")
    return parser

