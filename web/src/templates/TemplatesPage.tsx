import "./templates.css";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Build, Template } from "../api/types";
import { useBuilds, useTemplates } from "../app/queries";
import { Badge, Button, EmptyState, ErrorState, Icon, Loading, Notice, PageHead, Prose, RelativeTime } from "../ui";
import { bytes, clock, plural } from "../ui/format";

const PACKAGES_SHOWN = 14;

export default function TemplatesPage() {
  const templates = useTemplates();
  const builds = useBuilds().data ?? [];
  return (
    <div className="page">
      <PageHead title="Templates">
        What sandboxes are made from: running machines, kept at a moment. A new sandbox is a clone, never a boot.
      </PageHead>
      {templates.isError ? (
        <ErrorState error={templates.error} retry={() => void templates.refetch()} />
      ) : !templates.data ? (
        <Loading />
      ) : templates.data.length + builds.length === 0 ? (
        <EmptyState icon="template" title="No templates yet">
          <p>The server builds them when it starts for the first time. That takes a few minutes.</p>
        </EmptyState>
      ) : (
        <ul className="templates">
          {templates.data.map((template) => (
            <li key={template.id}>
              <TemplateCard template={template} />
            </li>
          ))}
          {builds.map((build) => (
            <li key={build.name}>
              <BuildCard build={build} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function BuildCard({ build }: { build: Build }) {
  return (
    <article className="card template" aria-label={build.name}>
      <div className="row">
        <span className="template-icon">
          <Icon name="clock" size={22} />
        </span>
        <div className="grow">
          <h2>{build.name}</h2>
          <p className="muted small">
            {build.failure === null
              ? "Being made."
              : `Could not be made. Tried again at ${clock(build.again_at ?? build.began_at)}.`}
          </p>
        </div>
      </div>
      {build.failure !== null && (
        <Notice tone="error">
          <Prose text={build.failure} />
        </Notice>
      )}
    </article>
  );
}

function TemplateCard({ template }: { template: Template }) {
  const [all, setAll] = useState(false);
  const { size, packages } = template;
  const shown = all ? packages : packages.slice(0, PACKAGES_SHOWN);
  return (
    <article className="card template" aria-label={template.name}>
      <div className="row">
        <span className="template-icon">
          <Icon name={template.has_desktop ? "screen" : "terminal"} size={22} />
        </span>
        <div className="grow">
          <h2>{template.name}</h2>
          <p className="muted small">{template.description}</p>
        </div>
        <Link to="/" search={{ create: true, from: template.name }} className="button primary">
          <Icon name="plus" /> Create
        </Link>
      </div>
      <dl className="facts">
        <dt>In use</dt>
        <dd>
          <Link to="/" search={{ template: template.name }}>
            {plural(template.sandboxes, "sandbox", "sandboxes")}
          </Link>
        </dd>
        <dt>Size</dt>
        <dd>
          {size.cpus ? `${size.cpus} CPUs` : "all CPUs"},{" "}
          {size.memory_mb ? `${bytes(size.memory_mb * 1024 * 1024)} memory` : "all memory"},{" "}
          {size.disk_mb ? `${bytes(size.disk_mb * 1024 * 1024)} disk` : "no disk limit"}
        </dd>
        <dt>Memory image</dt>
        <dd>{bytes(template.memory_bytes)}</dd>
        <dt>Works as</dt>
        <dd>
          <code>{template.user}</code> in <code>{template.workdir}</code>
        </dd>
        <dt>Built</dt>
        <dd>
          <RelativeTime at={template.created_at} />
        </dd>
      </dl>
      {packages.length > 0 && (
        <div className="row wrap packages">
          {shown.map((name) => (
            <Badge key={name}>{name}</Badge>
          ))}
          {packages.length > PACKAGES_SHOWN && (
            <Button small look="ghost" aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? "Fewer" : `${packages.length - PACKAGES_SHOWN} more`}
            </Button>
          )}
        </div>
      )}
    </article>
  );
}
