# The image of topicwarden, for CI, schedulers and Spark on Kubernetes. `make image` builds the wheel and this image.
#
# Everything is pinned: base images by version, Python packages and Go modules by hash. The image runs as any user whose
# group is 0, as OpenShift does.

# The bases are arguments, for machines that cannot reach Docker Hub.
ARG GO_IMAGE=golang:1.25.11-bookworm
ARG PYTHON_IMAGE=python:3.12.12-slim-bookworm
ARG JAVA_IMAGE=eclipse-temurin:21.0.8_9-jre

# Pulumi's CLI, built from the modules that go.sum pins by hash, for the platform of the image.
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS pulumi
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY validation/topicwarden/toolchain/go/cli/go.mod validation/topicwarden/toolchain/go/cli/go.sum ./
RUN version="$(go list -m -mod=readonly -f '{{.Version}}' github.com/pulumi/pulumi/pkg/v3)" \
    && CGO_ENABLED=0 GOOS="$TARGETOS" GOARCH="$TARGETARCH" go build -mod=readonly -buildvcs=false -trimpath \
      -ldflags "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=$version" \
      -o /opt/pulumi/bin/pulumi github.com/pulumi/pulumi/pkg/v3/cmd/pulumi

# The locked Python packages, and the wheel that `make wheel` has built.
FROM $PYTHON_IMAGE AS packages
COPY container/requirements.lock /tmp/requirements.lock
RUN python -m venv /opt/topicwarden \
    && /opt/topicwarden/bin/pip install --no-cache-dir --require-hashes --requirement /tmp/requirements.lock
COPY dist/topicwarden-*.whl /tmp/
COPY --from=pulumi /opt/pulumi /opt/pulumi
# Pulumi finds the language host beside its own program. The links have no Python version in their paths.
RUN /opt/topicwarden/bin/pip install --no-cache-dir --no-index --no-deps /tmp/topicwarden-*.whl \
    && /opt/topicwarden/bin/python -c \
      "from pathlib import Path; from topicwarden.deploy.linked_environment import write_language_host; write_language_host(Path('/opt/pulumi/bin'))" \
    && packages="$(/opt/topicwarden/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")" \
    && ln -s "$packages/pyspark" /opt/topicwarden/spark \
    && ln -s "$packages/topicwarden/audit/__main__.py" /opt/topicwarden/audit.py

FROM $JAVA_IMAGE AS java

FROM $PYTHON_IMAGE
ARG VERSION=0.1.0
ARG REVISION=""
LABEL org.opencontainers.image.title="topicwarden" \
      org.opencontainers.image.description="Declare Kafka topics in YAML, deploy them with Pulumi, and audit their live contents with Spark." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/topicwarden/topicwarden" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# Debian keeps only the newest version of a package, so a pinned version would soon be missing.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git libnss-wrapper procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1001 --gid 0 --create-home topicwarden \
    && mkdir /project \
    && chown 1001:0 /project \
    && chmod g=u /home/topicwarden /project
COPY --from=java /opt/java/openjdk /opt/java/openjdk
COPY --from=packages /opt/pulumi /opt/pulumi
COPY --from=packages /opt/topicwarden /opt/topicwarden
COPY --chmod=755 container/entrypoint /usr/local/bin/topicwarden-entrypoint
ENV HOME=/home/topicwarden \
    JAVA_HOME=/opt/java/openjdk \
    PATH=/opt/topicwarden/bin:/opt/pulumi/bin:/opt/java/openjdk/bin:/usr/local/bin:/usr/bin:/bin \
    PULUMI_SKIP_UPDATE_CHECK=true \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SPARK_HOME=/opt/topicwarden/spark
WORKDIR /project
USER 1001:0
ENTRYPOINT ["topicwarden-entrypoint"]
CMD ["--help"]
