# The image is the source tree beside its locked dependencies; `docker build --build-arg BASE=...` for another base,
# which has to be some Python 3.11 or newer. All processes run from it: `sickbay web`, `worker`, `watch`.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /opt/sickbay
RUN python -m venv /opt/venv
COPY requirements.lock ./
RUN /opt/venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
COPY workers ./workers
COPY simulator ./simulator
COPY config ./config
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && python -m compileall -q app workers simulator

FROM ${BASE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/sickbay /opt/sickbay
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
# Relative paths such as config/policy.yaml start here. Nothing is written: the root file system may be read-only.
WORKDIR /opt/sickbay
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["sickbay"]
CMD ["--help"]
