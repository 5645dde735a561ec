# The lab on a CPU. Built with buildah, on a Debian image with Python 3.11 in the place of Docker's.
#   docker build -t ascend-c-lab . && docker run --rm -p 8888:8888 -v "$PWD/mine:/home/learner/workbook" ascend-c-lab
# The wheel is built in a first stage, with the runtime for this kind of machine in it; build with
# --platform linux/arm64 for aarch64. The second stage keeps g++: a kernel is compiled when it is launched.
# Where another index of packages is nearer: --build-arg TORCH_INDEX=... for torch, PIP_INDEX_URL=... for the rest.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
FROM python:3.11-slim-bookworm AS wheel
ARG TORCH_INDEX
ARG PIP_INDEX_URL=https://pypi.org/simple
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ git \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The same torch in both stages: the simulated device is built for it.
RUN torch="$(sed -n 's/^tested-torch = "\(.*\)"/\1/p' pyproject.toml)" \
 && pip install --no-cache-dir "torch==$torch" --index-url "$TORCH_INDEX" \
 && pip install --no-cache-dir "setuptools>=70.1" \
 && python scripts/platform_wheel.py --out /wheels

FROM python:3.11-slim-bookworm
ARG TORCH_INDEX
ARG PIP_INDEX_URL=https://pypi.org/simple
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ make fonts-wqy-microhei \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 learner
COPY --from=wheel /wheels /wheels
COPY pyproject.toml /wheels/
RUN torch="$(sed -n 's/^tested-torch = "\(.*\)"/\1/p' /wheels/pyproject.toml)" \
 && pip install --no-cache-dir "torch==$torch" --index-url "$TORCH_INDEX" \
 && pip install --no-cache-dir "$(ls /wheels/*.whl)[lab,batch]" \
 && rm -rf /wheels
USER learner
WORKDIR /home/learner
EXPOSE 8888
# The workbook may be a volume: what was changed in it is kept. JupyterLab prints its address with a token.
CMD ["sh", "-c", "labkit init workbook && exec jupyter lab --ip=0.0.0.0 --port=8888 --no-browser workbook"]
