FROM debian:12 AS files
RUN mkdir -p /rootfs/etc /rootfs/tmp && chmod 1777 /rootfs/tmp \
 && echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' > /rootfs/etc/passwd

FROM scratch AS runtime
COPY --from=files /rootfs/ /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PATH=/usr/bin:/bin
USER 65532
WORKDIR /home/nonroot

FROM runtime
ADD --checksum=sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03 --chmod=755 https://example.com/releases/tool-1.0 /usr/bin/tool
ADD --keep-git-dir=true https://example.com/team/config.git#v1 /etc/tool
COPY --link tool.yaml /etc/tool.yaml
ENTRYPOINT ["/usr/bin/tool"]
CMD ["--config", "/etc/tool.yaml"]
