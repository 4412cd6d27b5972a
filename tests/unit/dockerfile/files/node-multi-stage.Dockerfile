ARG NODE_VERSION=22
ARG VARIANT=alpine

FROM node:${NODE_VERSION}-${VARIANT} AS base
WORKDIR /app
ENV NODE_ENV=production

FROM base AS dependencies
COPY package.json package-lock.json* ./
RUN npm ci --omit=dev

FROM base AS builder
COPY package.json package-lock.json* ./
RUN NODE_ENV=development npm ci
COPY . .
ARG API_URL=http://localhost:3000
ARG NODE_VERSION
RUN API=$API_URL NODE=$NODE_VERSION npm run build

FROM base AS lint
COPY --from=builder /app /app
RUN npm run lint

FROM base
COPY --from=dependencies --chown=node:node /app/node_modules ./node_modules
COPY --from=builder --chown=node:node /app/dist ./dist
COPY --from=builder /app/package.json .
USER node
EXPOSE 3000/tcp
STOPSIGNAL SIGINT
CMD ["node", "dist/server.js"]
