# One image for each process: docker build --target agent -t localhost/fairlead/agent:0.1.0 .
# Each holds Node and the bundle of one app (docs/adr/0019); nothing that builds or installs.

# Whoever wants it by digest, or from a registry of their own, says so: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
ARG KUBECTL_IMAGE=registry.k8s.io/kubectl:v1.34.4

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
# Scripts stay off: none of the packages that a server runs needs one, and Node is already here.
RUN npm ci --ignore-scripts \
 && node node_modules/typescript-7/bin/tsc -b --checkers 1 \
 && for app in access agent api audit cli demo gateway gitops installer keys registration setup; do node tools/image/assemble.mjs "$app" "/out/$app"; done

FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn*
# The release script says which they are (tools/image/release.mjs).
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.vendor="Fairlead" org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
# glibc copies records of TLS by an instruction that is slow on AMD's Zen 3 and 4; up to 1 GiB it does not (docs/adr/0085).
ENV GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824
WORKDIR /app
USER 65532:65532
# Buffers count as part of the whole heap's limit: otherwise each 20 to 30 MB that pass through a tunnel cost a full collection.
# A small young generation lets go of buffers that have passed early; full collections wait until 128 MB are there.
ENTRYPOINT ["node", "--enable-source-maps", "--external-memory-accounted-in-global-limit", "--max-semi-space-size=4", "--initial-heap-size=128"]

FROM runtime AS api
LABEL org.opencontainers.image.title="fairlead-api" org.opencontainers.image.description="The HTTP admin API"
COPY --from=build /out/api /app
CMD ["apps/api/dist/bundle/main.js"]

# For docker-compose.yml: joins its demo cluster, and has kubectl and the fairlead command for a first tour.
FROM ${KUBECTL_IMAGE} AS kubectl
FROM runtime AS demo
COPY --from=kubectl /bin/kubectl /usr/local/bin/kubectl
COPY --from=build /src/tools/image/fairlead.sh /usr/local/bin/fairlead
COPY --from=build /out/cli /app
COPY --from=build /out/demo /app
CMD ["apps/demo/dist/bundle/main.js", "join"]

FROM runtime AS gateway
LABEL org.opencontainers.image.title="fairlead-gateway" org.opencontainers.image.description="Doors, agent links and relay"
# Gives back to the system what a flood took; glibc keeps it (docs/adr/0081).
USER root
RUN apt-get update && apt-get install -y --no-install-recommends libmimalloc2.0 && rm -rf /var/lib/apt/lists/* \
 && ln -s /usr/lib/*-linux-gnu/libmimalloc.so.2 /usr/local/lib/libmimalloc.so.2
USER 65532:65532
ENV LD_PRELOAD=/usr/local/lib/libmimalloc.so.2
COPY --from=build /out/gateway /app
CMD ["apps/gateway/dist/bundle/main.js"]

FROM runtime AS access
LABEL org.opencontainers.image.title="fairlead-access" org.opencontainers.image.description="Who may do what: API tokens"
COPY --from=build /out/access /app
CMD ["apps/access/dist/bundle/main.js"]

FROM runtime AS audit
LABEL org.opencontainers.image.title="fairlead-audit" org.opencontainers.image.description="Who did what: the audit log of each tenant"
COPY --from=build /out/audit /app
CMD ["apps/audit/dist/bundle/main.js"]

FROM runtime AS gitops
LABEL org.opencontainers.image.title="fairlead-gitops" org.opencontainers.image.description="The desired state of clusters' GitOps tools"
COPY --from=build /out/gitops /app
CMD ["apps/gitops/dist/bundle/main.js"]

FROM runtime AS installer
LABEL org.opencontainers.image.title="fairlead-installer" org.opencontainers.image.description="Installs and repairs a cluster's GitOps tool"
COPY --from=build /out/installer /app
CMD ["apps/installer/dist/bundle/main.js"]

FROM runtime AS keys
LABEL org.opencontainers.image.title="fairlead-keys" org.opencontainers.image.description="The CA, and the deploy keys of Git hosts"
# Reads PKCS#12 when a CA is imported (docs/adr/0024).
USER root
RUN apt-get update && apt-get install -y --no-install-recommends openssl && rm -rf /var/lib/apt/lists/*
USER 65532:65532
COPY --from=build /out/keys /app
CMD ["apps/keys/dist/bundle/main.js"]

FROM runtime AS registration
LABEL org.opencontainers.image.title="fairlead-registration" org.opencontainers.image.description="Clusters, enrolment and tokens"
COPY --from=build /out/registration /app
CMD ["apps/registration/dist/bundle/main.js"]

# Makes the Secrets of the chart's single profile and of docker-compose.yml, and sets their NATS and Postgres up.
FROM runtime AS setup
LABEL org.opencontainers.image.title="fairlead-setup" org.opencontainers.image.description="What the chart's single profile needs before the others start"
COPY --from=build /out/setup /app
CMD ["apps/setup/dist/bundle/main.js"]

# The last one is what `docker build .` makes: the image that managed clusters run.
FROM runtime AS agent
LABEL org.opencontainers.image.title="fairlead-agent" org.opencontainers.image.description="A managed cluster's agent, which dials out"
# Four names are resolved at a time: three for raw TCP targets and one that is always left to the agent itself.
ENV UV_THREADPOOL_SIZE=8
COPY --from=build /out/agent /app
CMD ["apps/agent/dist/bundle/main.js"]
