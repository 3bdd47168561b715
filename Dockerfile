# One image for each process: docker build --target agent -t fairlead/agent:0.1.0 .
# Each holds Node and the bundle of one app (docs/adr/0019); nothing that builds or installs.

# Whoever wants it by digest, or from a registry of their own, says so: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
# Scripts stay off: none of the packages that a server runs needs one, and Node is already here.
RUN npm ci --ignore-scripts \
 && node node_modules/typescript/bin/tsc -b \
 && for app in agent api gateway gitops installer keys registration setup; do node tools/image/assemble.mjs "$app" "/out/$app"; done

FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn*
ENV NODE_ENV=production
WORKDIR /app
USER 65532:65532
# Buffers count as part of the whole heap's limit: otherwise each 20 to 30 MB that pass through a tunnel cost a full collection.
# A small young generation lets go of buffers that have passed early; full collections wait until 128 MB are there.
ENTRYPOINT ["node", "--enable-source-maps", "--external-memory-accounted-in-global-limit", "--max-semi-space-size=4", "--initial-heap-size=128"]

FROM runtime AS api
COPY --from=build /out/api /app
CMD ["apps/api/dist/bundle/main.js"]

FROM runtime AS gateway
# Gives back to the system what a flood took; glibc keeps it (docs/adr/0049).
USER root
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/* \
 && ln -s /usr/lib/*-linux-gnu/libjemalloc.so.2 /usr/local/lib/libjemalloc.so.2
USER 65532:65532
ENV LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0
COPY --from=build /out/gateway /app
CMD ["apps/gateway/dist/bundle/main.js"]

FROM runtime AS gitops
COPY --from=build /out/gitops /app
CMD ["apps/gitops/dist/bundle/main.js"]

FROM runtime AS installer
COPY --from=build /out/installer /app
CMD ["apps/installer/dist/bundle/main.js"]

FROM runtime AS keys
# Reads PKCS#12 when a CA is imported (docs/adr/0024).
USER root
RUN apt-get update && apt-get install -y --no-install-recommends openssl && rm -rf /var/lib/apt/lists/*
USER 65532:65532
COPY --from=build /out/keys /app
CMD ["apps/keys/dist/bundle/main.js"]

FROM runtime AS registration
COPY --from=build /out/registration /app
CMD ["apps/registration/dist/bundle/main.js"]

# Makes the Secrets of the chart's single profile, and sets its NATS and Postgres up.
FROM runtime AS setup
COPY --from=build /out/setup /app
CMD ["apps/setup/dist/bundle/main.js"]

# The last one is what `docker build .` makes: the image that managed clusters run.
FROM runtime AS agent
# Four names are resolved at a time: three for raw TCP targets and one that is always left to the agent itself.
ENV UV_THREADPOOL_SIZE=8
COPY --from=build /out/agent /app
CMD ["apps/agent/dist/bundle/main.js"]
