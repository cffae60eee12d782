"""Write tests/english/remaining.json, and print how many hard sentences and short docstrings there are."""

from tests.english.remaining import found_now, write

if __name__ == "__main__":
    numbers, _ = found_now()
    write(numbers)
    print(  # noqa: T201  the result of the command
        f"{sum(numbers.hard_sentences.values())} hard sentences in {len(numbers.hard_sentences)} files, "
        f"{sum(numbers.short_docstrings.values())} short docstrings"
    )
