"""Writes a generated set that is as large as asked for, with nothing but the standard library: generated.py ratings USERS ITEMS COUNT
[SEED] prints "user,item,rating" lines, of a few hidden factors and noise, stars from 0.5 to 5; generated.py documents COUNT WORDS LENGTH
[SEED] prints a docword file, each document of two of 100 topics. Items and words are as uneven as films and words are."""
import random
import sys
from bisect import bisect_left
from itertools import accumulate

FACTORS, TOPICS, TOPIC_WORDS, BLOCK = 4, 100, 2000, 1 << 16


def uneven(count):
    """Return cumulative shares; the shares fall with the rank."""
    shares = list(accumulate(1 / (rank + 20) for rank in range(count)))
    return [share / shares[-1] for share in shares]


def ratings(users, items, count, draw):
    shares = uneven(items)
    tastes = [[draw.gauss(0, 0.6) for _ in range(FACTORS)] for _ in range(users)]
    films = [[draw.gauss(0, 0.6) for _ in range(FACTORS)] for _ in range(items)]
    print("user,item,rating")
    for user in range(users):
        mine = count * (user + 1) // users - count * user // users
        lines = []
        seen = set()
        while len(lines) < mine:
            item = bisect_left(shares, draw.random())
            if item in seen:
                continue
            seen.add(item)
            a, b = tastes[user], films[item]
            stars = 3.5 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + draw.gauss(0, 0.5)
            lines.append(f"{user},{item},{min(max(round(2 * stars) / 2, 0.5), 5)}\n")
        sys.stdout.write("".join(lines))


def documents(count, words, length, draw):
    shares = uneven(TOPIC_WORDS)
    topics = [[draw.randrange(words) for _ in range(TOPIC_WORDS)] for _ in range(TOPICS)]
    written = []
    total = 0
    for _ in range(count):  # the header contains the count, so all are drawn twice
        total += document(topics, shares, length, draw, None)
    print(count, words, total, sep="\n")
    draw.seed(draw.first)
    topics = [[draw.randrange(words) for _ in range(TOPIC_WORDS)] for _ in range(TOPICS)]
    for number in range(1, count + 1):
        document(topics, shares, length, draw, (number, written))
        if len(written) > BLOCK:
            sys.stdout.write("".join(written))
            written.clear()
    sys.stdout.write("".join(written))


def document(topics, shares, length, draw, to):
    both = topics[draw.randrange(TOPICS)], topics[draw.randrange(TOPICS)]
    counts = {}
    for rank in draw.choices(range(TOPIC_WORDS), cum_weights=shares, k=length):
        word = both[rank & 1][rank]
        counts[word] = counts.get(word, 0) + 1
    if to:
        number, written = to
        written.extend(f"{number} {word + 1} {counts[word]}\n" for word in sorted(counts))
    return len(counts)


if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    sizes = [int(number) for number in numbers]
    generator = random.Random()
    generator.first = sizes[3] if len(sizes) > 3 else 1
    generator.seed(generator.first)
    {"ratings": ratings, "documents": documents}[kind](*sizes[:3], generator)
