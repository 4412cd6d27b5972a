FROM debian:bookworm-slim
ENV LANG en_US.utf8
ENV PG_MAJOR 16
ENV PATH $PATH:/usr/lib/postgresql/$PG_MAJOR/bin
RUN set -eux; \
	groupadd -r postgres --gid=999; \
	useradd -r -g postgres --uid=999 --home-dir=/var/lib/postgresql --shell=/bin/bash postgres; \
	install --verbose --directory --owner postgres --group postgres --mode 1777 /var/lib/postgresql
RUN apt-get update && apt-get install -y postgresql-$PG_MAJOR && rm -rf /var/lib/apt/lists/*
ENV PGDATA /var/lib/postgresql/data
RUN mkdir -p "$PGDATA" && chown -R postgres:postgres "$PGDATA"
VOLUME /var/lib/postgresql/data
ADD initdb.tar.gz /docker-entrypoint-initdb.d/
COPY docker-entrypoint.sh /usr/local/bin/
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
HEALTHCHECK CMD pg_isready --host=localhost
CMD ["postgres"]
