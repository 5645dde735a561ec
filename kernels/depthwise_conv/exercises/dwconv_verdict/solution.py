"""Is b faster than a on a device that drifts?"""
import random

from labkit.bench import judge


def verdict(take, a, b, count, seed):
    """take(a) and take(b) run one of two programs and give its time in us. The verdict of `count` pairs [time of a, time
    of b]: "faster" (b), "slower", "same". What is drawn comes from `draw`: the same seed, the same runs."""
    draw, rows = random.Random(seed), []
    # >>> exercise: `rows`, `count` pairs [time of a, time of b], one run of each in a pair, `count` may be odd; fair on a device that drifts and where the second of two runs slower, nobody knows by how much | `rows`：`count` 对 [a 的时间, b 的时间]，每对中 a、b 各运行一次，`count` 可为奇数；设备会漂移，且相邻两次中后一次更慢，要公平；慢多少不知道
    # stub: for _ in range(count):
    # stub:     rows.append([take(a), take(b)])
    for _ in range(count):
        row = [0.0, 0.0]
        for which in draw.sample((0, 1), 2):
            row[which] = take((a, b)[which])
        rows.append(row)
    # <<<
    return judge(rows).verdict
