# One image for every process: the command chooses which (`migrate`, `api`, `worker --pools step`).
ARG NODE_IMAGE=node:20-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No install script is needed: the image brings no embedded database into use.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY drizzle ./drizzle
COPY package.json LICENSE ./
RUN chmod +x dist/cli/main.js && ln -s /app/dist/cli/main.js /usr/local/bin/turnwright
# uid and gid 1000, which the base image brings.
USER node
ENV TURNWRIGHT_HOST=0.0.0.0 TURNWRIGHT_PORT=4080
EXPOSE 4080
# Of the API. A worker answers no requests: compose switches this off for workers.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TURNWRIGHT_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["api"]
