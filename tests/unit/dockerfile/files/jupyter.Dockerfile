ARG OWNER=jupyter
ARG BASE=$OWNER/minimal-notebook
FROM $BASE:latest
LABEL maintainer="Data <data@example.com>"
USER root
ARG EXTRA="ffmpeg dvipng"
RUN apt-get update --yes && apt-get install --yes --no-install-recommends $EXTRA && apt-get clean
ENV NB_UID="1000" NB_GID=100 CONDA_DIR=/opt/conda
USER ${NB_UID}
WORKDIR "${HOME:-/home/jovyan}"
COPY --chown=${NB_UID}:${NB_GID} environment.yml /tmp/
RUN mamba env update --name base --file /tmp/environment.yml && fix-permissions "${CONDA_DIR}"
COPY --chown=${NB_UID}:${NB_GID} --exclude=*.ipynb_checkpoints notebooks/ work/
EXPOSE 8888
CMD ["start-notebook.py", "--ServerApp.token=''"]
