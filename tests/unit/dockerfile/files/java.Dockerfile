FROM eclipse-temurin:21-jdk AS build
WORKDIR /workspace
COPY gradlew settings.gradle build.gradle ./
COPY gradle gradle
RUN ./gradlew --no-daemon dependencies
COPY src src
RUN ./gradlew --no-daemon bootJar && java -Djarmode=layertools -jar build/libs/app.jar extract --destination extracted

FROM eclipse-temurin:21-jre
ARG PORT=8080
ENV PORT=${PORT} JAVA_TOOL_OPTIONS='-XX:MaxRAMPercentage=75 -Dapp="orders"'
VOLUME /tmp /var/log/app
WORKDIR /application
COPY --from=0 /workspace/extracted/dependencies/ ./
COPY --from=0 /workspace/extracted/application/ ./
EXPOSE $PORT
HEALTHCHECK --start-period=20s --retries=5 CMD ["curl", "--fail", "http://localhost:8080/actuator/health"]
ENTRYPOINT exec java org.springframework.boot.loader.launch.JarLauncher
