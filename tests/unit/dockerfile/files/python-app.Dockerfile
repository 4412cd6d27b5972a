# syntax=docker/dockerfile:1
ARG PYTHON=3.12
FROM python:${PYTHON}-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1
ARG APP_HOME=/srv/app
ENV HOME=$APP_HOME PATH="$APP_HOME/bin:$PATH"

RUN apt-get update \
 && apt-get install -y --no-install-recommends libpq5 \
 # the lists are large
 && rm -rf /var/lib/apt/lists/*
RUN groupadd --system app && useradd --system --gid app --home-dir "$HOME" app

WORKDIR $APP_HOME
COPY requirements.txt constraints*.txt ./
RUN pip install --requirement requirements.txt
COPY --chown=app:app . .

USER app
EXPOSE 8000
LABEL org.opencontainers.image.title="orders" \
      org.opencontainers.image.description="Takes orders, \"quickly\""
HEALTHCHECK --interval=10s --timeout=3s CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz')"
ENTRYPOINT ["python", "-m", "uvicorn"]
CMD ["orders.main:app", "--host", "0.0.0.0", "--port", "8000"]
