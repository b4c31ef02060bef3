# The program alone: `docker build -t ptc-workbench .`, then docs/serve.md.
FROM rust:1.95-slim AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked

FROM debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home agent && install -d -o agent /data
COPY --from=build /source/target/release/ptc-workbench /usr/local/bin/ptc-workbench
USER agent
EXPOSE 4142
ENTRYPOINT ["ptc-workbench", "--sessions", "/data"]
