import { useState } from "react";
import type { Sandbox } from "../../api/types";
import { Badge, Confirm, EmptyState, format, Icon, Menu, RelativeTime, useNow, type MenuEntry } from "../../ui";
import { remove, type Entry } from "../agent/files";
import { download, downloadFolder } from "./download";
import { isUnsaved, useDrafts } from "./drafts";
import { NameDialog } from "./NameDialog";
import { matching, sorted, type Column, type Order } from "./order";
import { isWithin, parentOf } from "./paths";

interface ListingProps {
  sandbox: Sandbox;
  path: string;
  entries: Entry[];
  selected: string | undefined;
  onOpen: (to: { path?: string; file?: string }) => void;
  onChanged: () => void;
}

const COLUMNS: readonly { column: Column; label: string; className?: string }[] = [
  { column: "name", label: "Name" },
  { column: "size", label: "Size", className: "num" },
  { column: "modified", label: "Changed", className: "num" },
];

/** Rows that are drawn at first: a folder may hold a hundred thousand. */
const MANY = 500;

export function Listing({ sandbox, path, entries, selected, onOpen, onChanged }: ListingProps) {
  const [order, setOrder] = useState<Order>({ column: "name", descending: false });
  const [hidden, setHidden] = useState(false);
  const [asking, setAsking] = useState<{ what: "rename" | "delete"; entry: Entry } | null>(null);
  const [most, setMost] = useState(MANY);
  const sortedOnes = sorted(matching(entries, hidden), order);
  const shown = sortedOnes.slice(0, most);
  const drafts = useDrafts(sandbox.id);
  const hiddenCount = entries.length - matching(entries, false).length;

  const open = (entry: Entry): void => onOpen(entry.kind === "directory" ? { path: entry.path } : { file: entry.path });
  const actions = (entry: Entry): MenuEntry[] => [
    ...(entry.kind === "file"
      ? [{ label: "Download", icon: "download", onSelect: () => download(sandbox, entry.path) } as const]
      : []),
    ...(entry.kind === "directory"
      ? [{ label: "Download as .tar.gz", icon: "download", onSelect: () => downloadFolder(sandbox, entry.path) } as const]
      : []),
    { label: "Rename…", icon: "settings", onSelect: () => setAsking({ what: "rename", entry }) },
    "separator",
    { label: "Delete…", icon: "trash", danger: true, onSelect: () => setAsking({ what: "delete", entry }) },
  ];
  // What is open beside follows: a file that is gone cannot be shown, one that is called otherwise can.
  const deleted = ({ path: gone }: Entry): void => {
    onChanged();
    if (selected && isWithin(selected, gone)) onOpen({});
  };
  const renamed = ({ path: before }: Entry, after: string): void => {
    onChanged();
    if (selected === before) onOpen({ file: after });
    else if (selected && isWithin(selected, before)) onOpen({});
  };
  const sort = (column: Column): void =>
    setOrder({ column, descending: order.column === column ? !order.descending : column !== "name" });

  return (
    <div className="files-body">
      <table className="table files-table">
        <thead>
          <tr>
            {COLUMNS.map(({ column, label, className }) => (
              <th
                key={column}
                className={className}
                aria-sort={order.column === column ? (order.descending ? "descending" : "ascending") : "none"}
              >
                <button type="button" onClick={() => sort(column)}>
                  {label}
                  {order.column === column && <span aria-hidden="true">{order.descending ? " ↓" : " ↑"}</span>}
                </button>
              </th>
            ))}
            <th className="files-mode">Mode</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {path !== "/" && (
            <tr>
              <td colSpan={5}>
                <button type="button" className="files-name" onClick={() => onOpen({ path: parentOf(path) })}>
                  <Icon name="back" /> <span>Up</span>
                </button>
              </td>
            </tr>
          )}
          {shown.map((entry) => (
            <tr key={entry.name} className={entry.path === selected ? "selected" : undefined}>
              <td>
                <button
                  type="button"
                  className={`files-name${entry.kind === "directory" ? " is-directory" : ""}`}
                  title={entry.target ? `${entry.name} → ${entry.target}` : entry.name}
                  onClick={() => open(entry)}
                >
                  <Icon name={entry.target ? "link" : entry.kind === "directory" ? "folder" : "file"} />
                  <span className="truncate">{entry.name}</span>
                  {isUnsaved(drafts, entry.path) && <Badge tone="amber">unsaved</Badge>}
                </button>
              </td>
              <td className="num small muted">{entry.kind === "directory" ? "" : format.bytes(entry.size)}</td>
              <td className="num small muted">
                <Changed at={entry.modifiedAt} />
              </td>
              <td className="files-mode small faint mono" title={`belongs to ${entry.owner}`}>
                {entry.permissions}
              </td>
              <td className="files-actions">
                <Menu label={`Actions for ${entry.name}`} small entries={actions(entry)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length === 0 && (
        <EmptyState icon="folder" title="An empty folder">
          <p>Drop files here to upload them.</p>
        </EmptyState>
      )}
      {sortedOnes.length > most && (
        <button type="button" className="files-hidden small" onClick={() => setMost(most * 4)}>
          Show more ({format.plural(sortedOnes.length - most, "entry is", "entries are")} left)
        </button>
      )}
      {hiddenCount > 0 && (
        <button type="button" className="files-hidden small" onClick={() => setHidden(!hidden)}>
          {hidden ? "Hide" : "Show"} {format.plural(hiddenCount, "hidden entry", "hidden entries")}
        </button>
      )}
      {asking?.what === "rename" && (
        <NameDialog
          sandbox={sandbox}
          folder={path}
          kind="rename"
          from={asking.entry}
          taken={new Set(entries.map(({ name }) => name))}
          onClose={() => setAsking(null)}
          onMade={(path) => renamed(asking.entry, path)}
        />
      )}
      {asking?.what === "delete" && (
        <Confirm
          title={`Delete ${asking.entry.name}?`}
          verb="Delete"
          onClose={() => setAsking(null)}
          onConfirm={() => remove(sandbox, asking.entry.path).then(() => deleted(asking.entry))}
        >
          <p>
            {asking.entry.kind === "directory" && !asking.entry.target
              ? "The folder and everything in it is deleted"
              : "It is deleted"}{" "}
            in the sandbox. It does not go to a bin: only a snapshot that has it brings it back.
          </p>
        </Confirm>
      )}
    </div>
  );
}

const LONG_AGO_MS = 30 * 86_400_000;
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** "4 min ago" for what is new, a date for what is old. */
function Changed({ at }: { at: string }) {
  const now = useNow(3600);
  const when = Date.parse(at);
  return now - when < LONG_AGO_MS ? (
    <RelativeTime at={at} />
  ) : (
    <time dateTime={at} title={format.moment(when)}>
      {DATE.format(when)}
    </time>
  );
}
