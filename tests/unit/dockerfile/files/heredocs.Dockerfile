# syntax=docker/dockerfile:1.4
# escape=\
FROM debian:12
ARG GREETING="hello"
ENV NAME=world
RUN <<EOF
set -e
apt-get update
apt-get install -y python3
echo "$GREETING $NAME"
EOF
RUN <<-SCRIPT
	#!/usr/bin/env python3
	import os
	print(os.environ["NAME"])
	SCRIPT
RUN cat <<A > /etc/a && cat <<'B' > /etc/b
one $NAME
A
two $NAME
B
COPY <<EOF /etc/app.conf
name = "${NAME}"
greeting = '$GREETING'
price = \$5
EOF
COPY --chmod=755 <<"run.sh" <<-other /usr/local/bin/
#!/bin/sh
exec echo "$NAME"
run.sh
	indented by a tab
	other
CMD ["run.sh"]
