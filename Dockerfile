# The program alone: `docker build -t ptc-workbench .`, then docs/serve.md. Both stages are of one Debian release: the program uses its libc.
FROM rust:1.95-slim-trixie AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home agent && install -d -o agent /data
COPY --from=build /source/target/dist/ptc-workbench /usr/local/bin/ptc-workbench
ENV LANG=C.UTF-8
USER agent
EXPOSE 4142
ENTRYPOINT ["ptc-workbench", "--sessions", "/data"]
