"""The order of a leaderboard."""


def standing(held, found):
    """Names, the best first; of equal marks in the order of the alphabet. held: the file's entries, dicts with name,
    digest and total. found: for each of them (digest, total) of its source, computed now. An entry whose digest is not
    the file's is not ranked. Both lists stay as they are."""
    # >>> exercise: keep whose digest is right, order by the marks computed now (2 lines) | 保留摘要相符的，按现在算出的分数排序（2 行）
    # stub: return [entry["name"] for entry in held]
    kept = [(-total, entry["name"]) for entry, (digest, total) in zip(held, found) if digest == entry["digest"]]
    return [name for _, name in sorted(kept)]
    # <<<
