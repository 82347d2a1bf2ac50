# The image is the source tree beside its locked dependencies; web, worker and watch all run from it. Another base has to
# be some Debian-like Python 3.11 or newer: `docker build --build-arg BASE=registry.example/python@sha256:… .`
ARG BASE=docker.io/library/python:3.13.7-slim-bookworm

FROM ${BASE} AS build
WORKDIR /opt/sickbay
RUN python3 -m venv /opt/venv
COPY requirements.lock ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-compile --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
COPY workers ./workers
COPY simulator ./simulator
COPY config ./config
# Compiled here, since nothing can be written later. pip has done its work.
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && /opt/venv/bin/pip uninstall --yes pip \
    && python3 -m compileall -q -j 0 /opt/venv/lib app workers simulator

FROM ${BASE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/sickbay /opt/sickbay
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Relative paths such as config/policy.yaml start here. Nothing is written: the root file system may be read-only. (The
# demo, which brings a store of its own, wants a /tmp to write to.)
WORKDIR /opt/sickbay
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["sickbay"]
CMD ["--help"]
