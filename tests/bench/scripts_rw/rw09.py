from functools import partial

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)
行数, 宽度, 取数, 样本数 = 32768, 256, 8192, 60


def 测量(任务):
    """每次调用夹一对事件，全部下发之后才读取。返回首次与其余样本（微秒）。"""
    事件 = []
    for _ in range(样本数 + 1):
        起, 止 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        起.record()
        任务()
        止.record()
        事件.append((起, 止))
    torch.npu.synchronize()
    微秒 = np.array([起.elapsed_time(止) for 起, 止 in 事件]) * 1e3
    return 微秒[0], 微秒[1:]


torch.manual_seed(19)
表 = torch.randn(行数, 宽度, dtype=torch.float16).npu()
乱序 = torch.randperm(行数)[:取数]
有序 = 乱序.sort().values
随机下标, 升序下标 = 乱序.npu(), 有序.npu()
任务表 = {
    "随机次序": partial(torch.index_select, 表, 0, 随机下标),
    "升序": partial(torch.index_select, 表, 0, 升序下标),
}
torch.npu.synchronize()
结果 = {名: 测量(任务) for 名, 任务 in 任务表.items()}

# 取的是同一批行，只是次序不同
assert torch.equal(任务表["随机次序"]()[torch.argsort(随机下标)].cpu(), 任务表["升序"]().cpu())

print(f"index_select：{行数} x {宽度} float16 的表（{表.nbytes / 2**20:.0f} MiB），取同样的 {取数} 行，两种次序")
for 名, (首次, 其余) in 结果.items():
    p50, p90 = np.percentile(其余, [50, 90])
    print(f"{名}\t首次 {首次:.2f} us（单列，不计入统计）\t其后 {len(其余)} 次：P50 {p50:.2f} us，P90 {p90:.2f} us，最长 {其余.max():.2f} us")
print("设备事件计时。“随机次序”先跑，只有它的首次可能含算子加载；两组的首次不可互比。")
print("表和下标反复使用，能放进 L2，以上是缓存热的结果，不代表从 HBM 取行。")
