# syntax=docker/dockerfile:1
FROM roost/base:stable AS build
ARG CACHE=/root/.cache
WORKDIR /build
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt,sharing=locked,id=apt-lists \
    apt-get update && apt-get install -y build-essential
COPY Cargo.toml Cargo.lock ./
COPY src src
RUN --mount=type=cache,target=target \
    --mount=type=cache,target=$CACHE/cargo,uid=1000,gid=1000,mode=0700 \
    cargo build --release && cp target/release/app /usr/local/bin/app
RUN --network=none --mount=type=secret,id=signing,target=/run/key,required=true sign --key /run/key /usr/local/bin/app
RUN --mount=type=secret,id=NPM_TOKEN,env=NPM_TOKEN npm install
USER 1000:1000
CMD app --serve
