"""What `make` says before labkit's own message tables can be read: English and Chinese side by side."""

TEXTS = {
    "too-old": (
        "The lab needs Python {need} or newer; {python} is {have}, and no newer one is on the PATH.\n"
        "  try: {mend}, then make again with PYTHON=<that python>",
        "实验需要 Python {need} 或更新版本；{python} 是 {have}，PATH 中没有更新的版本。\n"
        "  请尝试：{mend}，然后用 PYTHON=<该 python> 重新执行 make",
    ),
    "no-tool": (
        "Not found: {tool}. It is needed to {use}.\n  try: {mend}",
        "未找到：{tool}。它用于{use}。\n  请尝试：{mend}",
    ),
    "use-compiler": ("compile the twin and every kernel", "编译孪生机和所有算子"),
    "use-make": ("run this Makefile's targets", "执行本 Makefile 的目标"),
    "active": ("environment: {prefix} (the active one)", "环境：{prefix}（当前激活的环境）"),
    "conda-base": (
        "conda's base environment is active: it is left alone, ./.venv is used. "
        "(conda env create -f environment.yml makes one for the lab.)",
        "当前激活的是 conda 的 base 环境：不改动它，使用 ./.venv。"
        "（可用 conda env create -f environment.yml 为实验创建独立环境。）",
    ),
    "making": ("environment: making {prefix} with {python}", "环境：正在用 {python} 创建 {prefix}"),
    "system-site": (
        "torch_npu is installed for {python}: the new environment sees its packages",
        "{python} 已安装 torch_npu：新环境将沿用其软件包",
    ),
    "no-venv": (
        "{python} can not make a virtual environment: its module ensurepip is missing, and so is virtualenv.\n"
        "  try: {mend}",
        "{python} 无法创建虚拟环境：缺少 ensurepip 模块，也没有 virtualenv。\n  请尝试：{mend}",
    ),
    "no-pip": ("The environment {prefix} has no pip.\n  try: {mend}", "环境 {prefix} 中没有 pip。\n  请尝试：{mend}"),
    "env-too-old": (
        "The active environment {prefix} has Python {have}; the lab needs {need} or newer.\n"
        "  try: leave it (deactivate) and make again, which makes ./.venv",
        "当前激活的环境 {prefix} 是 Python {have}；实验需要 {need} 或更新版本。\n"
        "  请尝试：退出该环境（deactivate）后重新 make，将创建 ./.venv",
    ),
    "env-gone": (
        "The active environment {prefix} has no bin/python.\n  try: deactivate, then make again",
        "当前激活的环境 {prefix} 没有 bin/python。\n  请尝试：deactivate 后重新 make",
    ),
    "ready": ("environment: ready, nothing to install", "环境：已就绪，无需安装"),
    "broken": (
        "environment: installed before, but it no longer works ({why}); installing again",
        "环境：之前已安装，但现在不可用（{why}）；重新安装",
    ),
    "torch-cpu": (
        "download: {requirement}, CPU build, about 200 MB, from {index}",
        "下载：{requirement}，CPU 版，约 200 MB，来自 {index}",
    ),
    "torch-default": (
        "download: {requirement} from pip's default index, because {index} does not answer.\n"
        "  On x86 Linux that build may bring CUDA libraries of several GB, which the lab does not use.\n"
        "  To choose another: LABKIT_TORCH='torch==2.13.0' or a wheel's path or address; "
        "LABKIT_TORCH_INDEX=<index of CPU builds>",
        "下载：{requirement}，来自 pip 的默认源，因为 {index} 没有响应。\n"
        "  在 x86 Linux 上该版本可能带来数 GB 的 CUDA 库，实验并不使用它们。\n"
        "  另选版本：LABKIT_TORCH='torch==2.13.0'，或一个 wheel 的路径或地址；"
        "LABKIT_TORCH_INDEX=<CPU 版的源>",
    ),
    "torch-range": (
        "The active environment has torch {have}; the lab works with {range}.\n"
        "  try: pip install '{requirement}' in it, or leave it and make again, which makes ./.venv",
        "当前激活的环境中是 torch {have}；实验适用于 {range}。\n"
        "  请尝试：在该环境中 pip install '{requirement}'，或退出该环境后重新 make，将创建 ./.venv",
    ),
    "packages": (
        "download: JupyterLab, matplotlib, pandas, transformers, pytest and what they need, about 280 MB (extras "
        "lab and test)",
        "下载：JupyterLab、matplotlib、pandas、transformers、pytest 及其依赖，约 280 MB（extras lab 和 test）",
    ),
    "twin": (
        "build: the twin is compiled meanwhile, about a minute of two cores",
        "构建：同时编译孪生机，约占用两个核一分钟",
    ),
    "pip-failed": (
        "pip stopped with exit code {code}; its message is above.\n"
        "  try: make again (what was downloaded is kept); behind a mirror: pip config set global.index-url <mirror>",
        "pip 以退出码 {code} 停止；其信息见上。\n"
        "  请尝试：重新 make（已下载的内容会保留）；使用镜像：pip config set global.index-url <镜像>",
    ),
    "still-broken": (
        "Everything was installed, but the environment {prefix} does not work: {why}\n  try: {mend}",
        "所有软件包都已安装，但环境 {prefix} 不可用：{why}\n  请尝试：{mend}",
    ),
    "installed": ("environment: installed in {seconds:.0f} s", "环境：安装完成，用时 {seconds:.0f} 秒"),
    "root": (
        "running as root: JupyterLab is started with --allow-root",
        "以 root 运行：JupyterLab 将以 --allow-root 启动",
    ),
    "activate": (
        "for `labkit` and `import labkit` in another terminal: source {script}",
        "在其他终端中使用 `labkit` 和 `import labkit`：source {script}",
    ),
    "lab": (
        "JupyterLab starts; open the address below that begins with http://127.0.0.1 (Ctrl-C twice stops it)",
        "JupyterLab 正在启动；请打开下面以 http://127.0.0.1 开头的地址（按两次 Ctrl-C 停止）",
    ),
}


def text(key, lang="en", **numbers):
    """The sentence `key` in `lang` ("en" or "zh"), its placeholders filled in."""
    english, chinese = TEXTS[key]
    return (chinese if lang == "zh" else english).format(**numbers)
