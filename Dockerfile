# syntax=docker/dockerfile:1
#
#   docker build -t strongroom .                      the default, "slim": ONNX Runtime serves the bundled model, no PyTorch
#   docker build --target full -t strongroom:full .   with PyTorch and sentence-transformers: any model by name or path
#
# Slim is the default because it does everything the defaults do in about a quarter of the size: PyTorch is needed to
# load and check another model, not to serve the bundled one.

ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS base
# One thread per model and index call: calls run side by side, and thread pools would fight for the cores.
ENV PATH=/opt/strongroom/bin:$PATH \
    OMP_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1 \
    STRONGROOM_EMBEDDING__MODELS_DIR=/opt/models

# The environment without PyTorch.
FROM base AS build
RUN python -m venv /opt/strongroom
WORKDIR /src
COPY requirements/base.txt requirements/
RUN pip install --no-cache-dir --no-deps -r requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY vaults vaults
COPY auth auth
COPY ops ops
COPY server server
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

# The same with PyTorch, from its CPU index: the default one brings gigabytes of CUDA. The serving copy of the bundled
# model is made here, where it can be compared with the original.
FROM build AS build-full
COPY requirements/full.txt requirements/
RUN pip install --no-cache-dir --no-deps --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 \
 && pip install --no-cache-dir --no-deps -r requirements/full.txt
RUN strongroom model prepare

FROM base AS runtime
RUN groupadd --gid 10001 strongroom \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin strongroom \
 && install -d -o 10001 -g 10001 -m 0700 /data
# The root may be read-only: data in /data, scratch in /tmp, no bytecode written.
ENV STRONGROOM_DATA=/data \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8700 9700
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8700/health/ready', timeout=4)"]
USER 10001:10001
ENTRYPOINT ["strongroom"]
CMD ["serve", "--data", "/data", "--host", "0.0.0.0", "--metrics-host", "0.0.0.0"]

FROM runtime AS full
COPY --from=build-full /opt/models /opt/models
COPY --from=build-full /opt/strongroom /opt/strongroom

FROM runtime AS slim
COPY --from=build-full /opt/models /opt/models
COPY --from=build /opt/strongroom /opt/strongroom
