# The image of drainhook: webhook, certificates, command line. Built from this folder: docker build -t drainhook:0.1.0 .
# BASE_IMAGE is any Linux image with Python 3.11 or later and its venv module. Both stages use it, so that the
# interpreter that the environment points to is there in the end.
ARG BASE_IMAGE=docker.io/library/python:3.13-slim

FROM ${BASE_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# pip lives in an environment of its own: the one that ships has none.
RUN python3 -m venv /opt/pip && python3 -m venv --without-pip /opt/drainhook
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY drain_scripts drain_scripts
COPY manifests manifests
COPY webhook webhook
# Removed is what nobody imports: the client's asyncio twin (half of its 126 MB) and the tests of dependencies.
# Compiled once here, since the root file system is read-only later; not the client's 1,000 models, of which none is used.
RUN /opt/pip/bin/pip --python /opt/drainhook/bin/python3 install --no-compile '.[serve,cluster]' \
  && find /opt/drainhook -type d '(' -path '*/kubernetes/aio' -o -name tests ')' -prune -exec rm -rf {} + \
  && /opt/drainhook/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
    -x 'kubernetes/client/(api|models)/' /opt/drainhook/lib

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="drainhook" org.opencontainers.image.licenses="Apache-2.0"
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/drainhook /opt/drainhook
USER 65532:65532
EXPOSE 10250 9090
ENTRYPOINT ["/opt/drainhook/bin/drainhook"]
CMD ["serve"]
