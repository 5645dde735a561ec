"""Which published figures a system reaches."""


def judge(before, after):
    """Whether each figure is reached. before, after: {"latency", "host", "device": us a request; "results", "tables": MB}.

    latency: first issue to last result, 2.8 times as fast. throughput: many requests behind one another, 3.1 times as
    many. results: 45 % less memory for the results of operators. memory: 45 % less for results and tables together.
    Of many requests each takes as long as the slower of host and device. What is met exactly is reached.
    """
    # >>> exercise: four truth values (about 5 lines) | 四个真假值（约 5 行）
    # stub: latency = throughput = results = memory = True
    latency = before["latency"] / after["latency"] >= 2.8
    throughput = max(before["host"], before["device"]) / max(after["host"], after["device"]) >= 3.1
    results = 1 - after["results"] / before["results"] >= 0.45
    whole = after["results"] + after["tables"], before["results"] + before["tables"]
    memory = 1 - whole[0] / whole[1] >= 0.45
    # <<<
    return latency, throughput, results, memory
