import { type ReactNode } from "react";
import { messageOf } from "../api/errors";
import { Button } from "./controls";
import { Icon, type IconName } from "./icons";
import { Prose } from "./Prose";

export function Card({
  title,
  actions,
  children,
  padded = false,
  className = "",
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  padded?: boolean;
  className?: string;
}) {
  return (
    <section className={`card ${padded && !title ? "padded" : ""} ${className}`}>
      {title && (
        <header>
          <h2 className="grow">{title}</h2>
          {actions}
        </header>
      )}
      {title && padded ? <div className="body">{children}</div> : children}
    </section>
  );
}

/** Nothing here yet: what belongs here and how it comes. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="empty">
      <div className="picture">
        <Icon name={icon} size={24} />
      </div>
      <h2>{title}</h2>
      {children}
      {action}
    </div>
  );
}

/** Something failed: the API's own words, and a way to try again. */
export function ErrorState({
  error,
  title = "This could not be loaded",
  retry,
}: {
  error: unknown;
  title?: string;
  retry?: () => void;
}) {
  return (
    <div className="empty" role="alert">
      <div className="picture">
        <Icon name="warning" size={24} />
      </div>
      <h2>{title}</h2>
      <p>
        <Prose text={messageOf(error)} />
      </p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Notice({ tone = "info", children }: { tone?: "info" | "warning" | "error"; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === "error" ? "alert" : undefined}>
      <Icon name={tone === "info" ? "info" : "warning"} />
      <div className="grow">{children}</div>
    </div>
  );
}

export function Skeleton({ width = "100%", height = "1em" }: { width?: string | number; height?: string | number }) {
  return <span className="skeleton" style={{ width, height }} aria-hidden="true" />;
}

/** Placeholder lines while something is on its way; said to screen readers as well. */
export function Loading({ lines = 4, label = "Loading" }: { lines?: number; label?: string }) {
  return (
    <div className="stack tight" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} height="2.4em" width={`${100 - (index % 3) * 8}%`} />
      ))}
    </div>
  );
}

export function Meter({ share, label }: { share: number; label: string }) {
  const percent = Math.min(100, Math.max(0, share * 100));
  const tone = percent > 92 ? "red" : percent > 80 ? "amber" : "";
  return (
    <div
      className={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
    >
      <span style={{ width: `${percent}%` }} />
    </div>
  );
}

export function PageHead({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="page-head">
      <div className="titles">
        <h1>{title}</h1>
        {children && <p className="small">{children}</p>}
      </div>
      {actions}
    </div>
  );
}
