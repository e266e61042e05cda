# The operator and the command line in one image. Every package is one that requirements.lock names
# by its digest. Nothing in the second stage needs a shell: PYTHON_IMAGE may be any image whose
# Python has the same minor version and libc. Give both images by digest for a build that can be
# repeated: see docs/operations/verify.md.
ARG BUILD_IMAGE=python:3.11-slim
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY requirements-build.lock requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.lock
# Their scripts would be in the way of those of espalier.
RUN pip install --no-cache-dir --no-compile --require-hashes --only-binary :all: --target /app -r requirements.lock \
    && rm -rf /app/bin
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY operator operator
RUN pip install --no-cache-dir --no-compile --no-index --no-deps --no-build-isolation --target /app . \
    && python -m compileall -q --invalidation-mode unchecked-hash /app
COPY LICENSE THIRD-PARTY-NOTICES.txt /app/

FROM ${PYTHON_IMAGE}
COPY --from=build /app /app
ENV PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# A number, so that the kubelet can see that it is not root.
USER 65532:65532
ENTRYPOINT ["python", "-m", "espalier"]
CMD ["operator"]
