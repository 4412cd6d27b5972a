FROM ruby:3.3-slim-bookworm
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ARG NODE_MAJOR=20
ARG BUNDLE_WITHOUT="development test"
ENV RAILS_ENV="production" \
    BUNDLE_DEPLOYMENT="1" \
    BUNDLE_PATH="/usr/local/bundle" \
    BUNDLE_WITHOUT="${BUNDLE_WITHOUT// /:}"
RUN apt-get update -qq && \
    apt-get install --no-install-recommends -y build-essential git libvips curl && \
    curl -sL https://deb.nodesource.com/setup_${NODE_MAJOR}.x | bash - && \
    rm -rf /var/lib/apt/lists /var/cache/apt/archives
WORKDIR /rails
COPY Gemfile Gemfile.lock ./
RUN bundle install
COPY . .
RUN SECRET_KEY_BASE_DUMMY=1 ./bin/rails assets:precompile
RUN useradd rails --create-home --shell /bin/bash && chown -R rails:rails db log storage tmp
USER rails:rails
ENTRYPOINT ["/rails/bin/docker-entrypoint"]
EXPOSE 3000
CMD ["./bin/rails", "server"]
