import { useEffect, useRef, useSyncExternalStore } from "react";
import { messageOf } from "../api/errors";
import { Icon } from "./icons";
import { Prose } from "./Prose";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "error";
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 6_000;
const WITH_ACTION_MS = 12_000; // an offer to undo needs time to be read
let toasts: readonly Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function set(value: readonly Toast[]): void {
  toasts = value;
  for (const watcher of watchers) watcher();
}

const dismiss = (id: number) => set(toasts.filter((toast) => toast.id !== id));

/** Says something at the edge of the page, with at most one thing to do about it ("Undo"). */
export function notify(text: string, options: { tone?: Toast["tone"]; action?: Toast["action"] } = {}): void {
  const toast: Toast = { id: next++, text, tone: options.tone ?? "plain", action: options.action };
  set([...toasts.slice(-3), toast]);
  setTimeout(() => dismiss(toast.id), toast.action || toast.tone === "error" ? WITH_ACTION_MS : SHOWN_MS);
}

export const notifyError = (error: unknown): void => notify(messageOf(error), { tone: "error" });

/** Where toasts appear: above everything, dialogs too. Said aloud as they come. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    if (element.matches(":popover-open")) element.hidePopover(); // shown anew: on top of dialogs opened since
    if (shown.length > 0) element.showPopover();
  }, [shown]);
  return (
    <div ref={place} className="toasts" role="status" aria-live="polite" popover="manual">
      {shown.map((toast) => (
        <div key={toast.id} className={`toast ${toast.tone}`}>
          <p>
            <Prose text={toast.text} />
          </p>
          {toast.action && (
            <button
              type="button"
              className="act"
              onClick={() => {
                dismiss(toast.id);
                toast.action?.run();
              }}
            >
              {toast.action.label}
            </button>
          )}
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
