"""The Python side of `tamis bench --peers torch,torch-scatter,scipy`: the program starts it as

    python3 -c TEXT MODULE

with a socket as standard input and output, and a file in memory as descriptor 3. It loads the module and then answers
each line with one: "ok ..." or "no REASON". The commands, with words KEY=VALUE:

    prepare id=N peer=NAME operation=... device=cpu|cuda:N threads=N type=... rows=N cols=N inner=N width=N scale=X
            memory=BYTES
            offsets=TYPE:COUNT:POSITION columns=... [values=...] A=... B=... D=...
                          copies the arrays from the file, tries the ways to compute it; "ok SETUP THREADS WAY"
    run id=N count=N      "ok PROCESSOR SECONDS ...": the processor time of all and the time of each
    fetch id=N            writes the last result to the start of the file
    drop id=N             forgets it

A closed socket ends it, and so does the end of the program.
"""
import sys

sys.path = [folder for folder in sys.path if folder]  # modules are not imported from the working directory

import ctypes  # noqa: E402
import gc  # noqa: E402
import mmap  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import time  # noqa: E402

signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program handles Ctrl-C
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends this process if the program is killed
except (AttributeError, OSError):
    pass  # without it, this process ends at the end of its input, after the current command
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # PyTorch: operands on huge pages, as the program's are

FILE = 3
TRIALS = 3
QUIET = 0.015  # seconds after which idle threads of a pool have stopped spinning


class Declined(Exception):
    """The reason why a peer does not compute a problem."""


def words_of(text):
    return dict(word.split("=", 1) for word in text.split())


class Problem:
    """The base of all peers: a problem. A peer adds ways(): pairs of a name and a function that computes the result."""

    threads = 1

    def __init__(self, words):
        self.operation = words["operation"]
        self.device = words["device"]
        self.type = words["type"]
        self.rows, self.cols, self.inner, self.width, self.memory = (
            int(words[name]) for name in ("rows", "cols", "inner", "width", "memory"))
        self.scale = float(words["scale"])
        self.result = None
        self.function = None

    def take(self, words, load):
        """Copy the arrays in the file; each is copied once, however often it is named. An array that is not named is None."""
        memory, known = mmap.mmap(FILE, 0), {None: None}
        for name in ("offsets", "columns", "values", "A", "B", "D"):
            word = words.get(name)
            if word not in known:
                kind, count, position = word.split(":")
                known[word] = load(memory, kind, int(count), int(position))
            dense = word and len(name) == 1
            setattr(self, name, known[word].reshape(self.rows if name == "A" else self.cols, -1) if dense else known[word])

    def fits(self, wanted, words):
        """Raise Declined if that many bytes exceed a quarter of the free memory."""
        if wanted > self.memory / 4:
            raise Declined(words.format(f"{wanted / 2**30:.3g} GiB") + " a quarter of the free memory")

    def measure(self, count):
        seconds = []
        for _ in range(count):
            self.result = None
            start = time.perf_counter()
            self.result = self.function()
            seconds.append(time.perf_counter() - start)
        return seconds

    def settle(self):
        if self.device == "cpu" and self.threads > 1:
            time.sleep(QUIET)

    def choose(self):
        """Choose the fastest way and return its name. Ways that fail are skipped; raise Declined if all fail."""
        best, reason = None, "it has no way to compute this"
        for name, function in self.ways():
            self.function = function
            try:
                least = self.measure(1)[0]
                if least < 1:
                    least = min(self.measure(TRIALS))
            except Declined:
                raise
            except Exception as error:  # such as an unsupported type or device
                reason = one_line(error)
                continue
            if best is None or least < best[0]:
                best = least, name, function
        self.result = None
        if best is None:
            raise Declined(reason)
        self.function = best[2]
        return best[1]


# ---------------------------------------------------------------------------------------- SciPy


class Scipy(Problem):
    """SpMM by SciPy. SciPy has no SDDMM; NumPy computes it in blocks of gathered rows."""

    def __init__(self, words):
        super().__init__(words)
        import numpy
        import scipy.sparse
        self.numpy = numpy
        types = {"fp32": numpy.float32, "fp64": numpy.float64, "int32": numpy.int32, "int64": numpy.int64}
        if self.type not in types:
            raise Declined("it computes in fp32 and fp64 only")

        def load(memory, kind, count, position):
            return numpy.frombuffer(memory, types[kind], count, position).copy()

        self.take(words, load)
        offsets, values = self.offsets, self.values
        start = time.perf_counter()
        if values is None or self.operation != "spmm":
            values = numpy.ones(len(self.columns), types[self.type])
        if self.operation != "spmm":
            self.row_of = numpy.repeat(numpy.arange(self.rows), numpy.diff(offsets))
            self.column_of = self.columns.astype(numpy.intp)
        self.S = scipy.sparse.csr_matrix((values, self.columns, offsets), shape=(self.rows, self.cols))
        self.setup = time.perf_counter() - start

    def gather(self, dense, which, room):
        return self.numpy.take(dense, which, axis=0, out=room[:len(which)], mode="clip")

    def sample(self, room):
        """Compute the samples into the values of S. `room` holds the gathered rows of A and B."""
        samples, some = self.S.data, len(room[0])
        for begin in range(0, len(samples), some):
            part = slice(begin, begin + some)
            self.numpy.einsum("ij,ij->i", self.gather(self.A, self.row_of[part], room[0]),
                              self.gather(self.B, self.column_of[part], room[1]), out=samples[part])
        return samples

    def ways(self):
        if self.operation == "spmm":
            return [("S @ B", lambda: self.S @ self.B)]
        found = []
        for mebibytes in (1, 8):
            some = max(1, mebibytes * 2**20 // (2 * self.inner * self.S.data.itemsize))
            room = self.numpy.empty((2, some, self.inner), self.S.data.dtype)
            name = f"einsum, {mebibytes} MiB at a time"
            if self.operation == "sddmm":
                found.append((name, lambda room=room: self.sample(room)))
            else:
                found.append((name + "; S @ D", lambda room=room: (self.sample(room), self.S @ self.D)[1]))
        return found

    def write(self, memory):
        result = self.numpy.ascontiguousarray(self.result).reshape(-1)
        self.numpy.frombuffer(memory, result.dtype, result.size)[:] = result


# ---------------------------------------------------------------------------------------- PyTorch


class Torch(Problem):
    """PyTorch's sparse matrices."""

    def __init__(self, words):
        super().__init__(words)
        import torch
        self.torch = torch
        types = {"fp32": torch.float32, "fp64": torch.float64, "fp16": torch.float16, "bf16": torch.bfloat16,
                 "int32": torch.int32, "int64": torch.int64}
        self.element = types[self.type]
        self.cuda = self.device != "cpu"
        if self.cuda:
            if not torch.cuda.is_available():
                raise Declined("this PyTorch has no CUDA device")
            torch.cuda.set_device(self.device)
            self.memory = torch.cuda.mem_get_info()[0]
        else:
            self.threads = int(words["threads"])
            torch.set_num_threads(self.threads)

        def load(memory, kind, count, position):
            return torch.frombuffer(memory, dtype=types[kind], count=count, offset=position).clone().to(self.device)

        self.take(words, load)
        self.wait()
        start = time.perf_counter()
        self.bias = self.values
        if self.values is None or self.operation != "spmm":
            self.values = torch.ones(len(self.columns), dtype=self.element, device=self.device)
        self.arrange()
        self.wait()
        self.setup = time.perf_counter() - start

    def arrange(self):
        """Create S and the memory of the result."""
        if self.operation == "fused" and self.type in ("fp16", "bf16"):
            raise Declined("what it stores between SDDMM and SpMM would be rounded to 16 bits")
        if self.offsets.dtype != self.columns.dtype:
            self.offsets, self.columns = self.offsets.long(), self.columns.long()
        self.S = self.torch.sparse_csr_tensor(self.offsets, self.columns, self.values, size=(self.rows, self.cols))
        if self.operation != "spmm":
            self.P = self.S.clone()
        if self.operation != "sddmm":
            self.out = self.torch.empty(self.rows, self.width, dtype=self.element, device=self.device)

    def rows_of(self, counts):
        """The row of each nonzero."""
        return self.torch.repeat_interleave(self.torch.arange(self.rows, device=self.device), counts)

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def measure(self, count):
        if not self.cuda:
            if self.torch.get_num_threads() != self.threads:
                self.torch.set_num_threads(self.threads)
            return super().measure(count)
        pairs = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for begin, end in pairs:
            self.result = None
            begin.record()
            self.result = self.function()
            end.record()
        self.wait()
        return [begin.elapsed_time(end) / 1e3 for begin, end in pairs]

    def samples(self):
        sampled = self.torch.sparse.sampled_addmm
        return [("sampled_addmm", lambda: sampled(self.S, self.A, self.B.t(), beta=0.0)),
                ("sampled_addmm into its output",
                 lambda: sampled(self.S, self.A, self.B.t(), beta=0.0, out=self.P))]

    def products(self, dense):
        return [("S @ B", lambda S: S @ dense),
                ("addmm into its output", lambda S: self.torch.addmm(self.out, S, dense, beta=0, out=self.out))]

    def ways(self):
        if self.operation == "sddmm":
            return self.samples()
        if self.operation == "spmm":
            return [(name, lambda product=product: product(self.S)) for name, product in self.products(self.B)]
        return [(f"{first}; {second}", lambda sample=sample, product=product: product(sample()))
                for first, sample in self.samples() for second, product in self.products(self.D)]

    def write(self, memory):
        result = self.result.values() if self.result.layout == self.torch.sparse_csr else self.result
        result = result.detach().reshape(-1).cpu()
        self.torch.frombuffer(memory, dtype=result.dtype, count=result.numel())[:] = result


class Scatter(Torch):
    """PyTorch without sparse matrices: gathers the rows of each nonzero and adds their products to the rows of the result.
    16-bit numbers are summed in fp32."""

    def arrange(self):
        self.short = self.type in ("fp16", "bf16")
        self.sum = self.torch.float32 if self.short else self.element
        self.fits(len(self.columns) * max(self.inner, self.width) * 3 * (8 if self.type == "fp64" else 4), "its gathered rows of {} do not fit")
        self.row_of = self.rows_of(self.offsets.diff().long())
        self.columns = self.columns.long()
        self.values = self.values.to(self.sum)

    def sample(self, gather):
        first, second = gather(self.A, self.row_of), gather(self.B, self.columns)
        return ((first.float() if self.short else first) * second).sum(-1)

    def add(self, gather, values, dense):
        result = self.torch.zeros(self.rows, dense.shape[1], dtype=self.sum, device=self.device)
        return result.index_add_(0, self.row_of, values.unsqueeze(1) * gather(dense, self.columns)).to(self.element)

    def compute(self, gather):
        if self.operation == "spmm":
            return self.add(gather, self.values, self.B)
        samples = self.sample(gather)
        return samples.to(self.element) if self.operation == "sddmm" else self.add(gather, samples, self.D)

    def ways(self):
        added = "" if self.operation == "sddmm" else ", index_add_"
        return [("dense[rows]" + added, lambda: self.compute(lambda dense, rows: dense[rows])),
                ("index_select" + added, lambda: self.compute(lambda dense, rows: dense.index_select(0, rows)))]


class Attention(Torch):
    """PyTorch's attention with a dense mask: computes every product, also those that the mask discards."""

    def arrange(self):
        torch = self.torch
        self.fits(self.rows * self.cols * (4 if self.bias is not None else 1), "its dense mask of {} does not fit")
        counts = self.offsets.diff().long()
        if self.rows and int(counts.min()) == 0:
            raise Declined("a row that attends to nothing comes out as NaN")
        row_of = self.rows_of(counts)
        if self.bias is not None:
            self.mask = torch.full((self.rows, self.cols), -torch.inf, dtype=self.element, device=self.device)
            self.mask[row_of, self.columns.long()] = self.bias
        else:
            self.mask = torch.zeros(self.rows, self.cols, dtype=torch.bool, device=self.device)
            self.mask[row_of, self.columns.long()] = True

    def ways(self):
        product = self.torch.nn.functional.scaled_dot_product_attention

        return [("scaled_dot_product_attention",
                 lambda: product(self.A[None, None], self.B[None, None], self.D[None, None], attn_mask=self.mask, scale=self.scale)[0, 0])]


# ---------------------------------------------------------------------------------------- answering

PEERS = {"scipy": Scipy, "torch": Torch, "torch-scatter": Scatter, "torch-attention": Attention}
problems = {}


def one_line(error):
    return " ".join(str(error).split())[:200] or type(error).__name__


def forget():
    """Free unused memory, also on the device, which the program shares."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def attempt(words):
    problem = PEERS[words["peer"]](words)
    way = problem.choose()
    problems[words["id"]] = problem
    return f"{problem.setup:.9f} {problem.threads} {way}"


def prepare(words):
    try:
        return attempt(words)
    except Exception as error:
        reason = one_line(error)
    forget()  # outside of the except block, in which the exception still refers to the problem
    raise Declined(reason)


def find(words):
    if words["id"] not in problems:
        raise Declined("it has no such problem")
    return problems[words["id"]]


def run(words):
    problem = find(words)
    before = time.process_time()
    problem.settle()
    seconds = problem.measure(int(words["count"]))
    problem.settle()
    return " ".join(f"{number:.9f}" for number in [time.process_time() - before, *seconds])


def fetch(words):
    memory = mmap.mmap(FILE, 0)
    find(words).write(memory)
    return ""


def drop(words):
    problems.pop(words["id"], None)
    forget()
    return ""


def main():
    # The output of libraries must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import warnings
    warnings.filterwarnings("ignore")

    def answer(function, *arguments):
        try:
            answers.write(f"ok {function(*arguments)}".rstrip() + "\n")
        except Exception as error:
            answers.write("no " + one_line(error) + "\n")

    def load():
        return getattr(__import__(sys.argv[1]), "__version__", "?")

    commands = {"prepare": prepare, "run": run, "fetch": fetch, "drop": drop}
    answer(load)
    gc.disable()
    for line in sys.stdin:
        command, _, rest = line.partition(" ")
        answer(commands[command.strip()], words_of(rest))


main()
