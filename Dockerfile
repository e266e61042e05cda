# The operator and the command line in one image. Nothing in the second stage needs a shell:
# PYTHON_IMAGE may be any image whose Python has the same minor version and libc.
ARG PYTHON_IMAGE=python:3.11-slim

FROM python:3.11-slim AS build
WORKDIR /src
RUN pip install --no-cache-dir --upgrade 'pip>=25.1'
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY operator operator
RUN pip install --no-cache-dir --no-compile --target /app . \
    && python -m compileall -q --invalidation-mode unchecked-hash /app

FROM ${PYTHON_IMAGE}
COPY --from=build /app /app
ENV PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# A number, so that the kubelet can see that it is not root.
USER 65532:65532
ENTRYPOINT ["python", "-m", "espalier"]
CMD ["operator"]
