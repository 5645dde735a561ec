"""Who finds the right one among the k best?"""


def recall(scores, k):
    """The share of queries that find their own item among the k best. scores[i][j]: of query i with item j, item i being
    its own. What scores the same as the own item stands before it."""
    # >>> exercise: for each query, how many score at least as high as its own item (2 lines) | 对每个查询，有多少项的分数不低于它自己的那一项（2 行）
    # stub: return 0.5
    found = [sum(score >= row[i] for score in row) <= k for i, row in enumerate(scores)]
    return sum(found) / len(found)
    # <<<
