import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button, IconButton } from "./controls";
import { Icon, type IconName } from "./icons";

export type MenuEntry =
  { label: string; icon?: IconName; danger?: boolean; disabled?: boolean; onSelect: () => void } | "separator";

interface MenuProps {
  label: string;
  entries: readonly MenuEntry[];
  /** With `children` the button shows them; without, it is three dots. */
  children?: ReactNode;
  icon?: IconName;
  small?: boolean;
}

/** A menu button. The list is a native popover: above everything, closed by Escape or a click elsewhere. */
export function Menu({ label, entries, children, icon = "more", small }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const anchor = useRef<HTMLSpanElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    if (!open) return;
    const close = () => list.current?.hidePopover();
    window.addEventListener("scroll", close, { capture: true, passive: true });
    window.addEventListener("resize", close);
    return () => {
      window.removeEventListener("scroll", close, { capture: true });
      window.removeEventListener("resize", close);
    };
  }, [open]);

  const show = () => {
    const popover = list.current;
    const place = anchor.current?.getBoundingClientRect();
    if (!popover || !place) return;
    popover.showPopover();
    const { width, height } = popover.getBoundingClientRect();
    const below = place.bottom + 4 + height <= window.innerHeight;
    popover.style.top = `${below ? place.bottom + 4 : Math.max(8, place.top - height - 4)}px`;
    popover.style.left = `${Math.max(8, Math.min(place.right - width, window.innerWidth - width - 8))}px`;
    popover.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const items = [...(list.current?.querySelectorAll<HTMLElement>("button:not(:disabled)") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length]?.focus();
  };
  const button = { "aria-haspopup": "menu" as const, "aria-expanded": open, "aria-controls": id, onClick: show };
  return (
    <span ref={anchor}>
      {children ? (
        <Button small={small} {...button}>
          {children}
          <Icon name="down" size={12} />
        </Button>
      ) : (
        <IconButton icon={icon} label={label} small={small} {...button} />
      )}
      <div
        ref={list}
        id={id}
        className="menu"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        popover="auto"
        onKeyDown={move}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {entries.map((entry, index) =>
          entry === "separator" ? (
            <hr key={index} />
          ) : (
            <button
              key={entry.label}
              type="button"
              role="menuitem"
              className={entry.danger ? "danger" : undefined}
              disabled={entry.disabled}
              onClick={() => {
                list.current?.hidePopover();
                entry.onSelect();
              }}
            >
              {entry.icon && <Icon name={entry.icon} />}
              {entry.label}
            </button>
          ),
        )}
      </div>
    </span>
  );
}
