import pytest

from tamis_lab import results


@pytest.fixture
def load(tmp_path):
    """Writes each list of lines into a file, and loads the files."""
    def write(*files):
        paths = [tmp_path / f"{number}.jsonl" for number in range(len(files))]
        for path, lines in zip(paths, files):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return results.load(paths)
    return write
