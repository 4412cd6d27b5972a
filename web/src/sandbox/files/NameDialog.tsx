import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { messageOf } from "../../api/errors";
import type { Sandbox } from "../../api/types";
import { Button, Dialog, Field, Notice } from "../../ui";
import { makeDirectory, move, write, type Entry } from "../agent/files";
import { join, nameProblem } from "./paths";

interface NameProps {
  sandbox: Sandbox;
  folder: string;
  kind: "folder" | "file" | "rename";
  from?: Entry;
  taken: ReadonlySet<string>;
  onClose: () => void;
  onMade: (path: string) => void;
}

const TITLES = { folder: "New folder", file: "New file", rename: "Rename" } as const;

export function NameDialog({ sandbox, folder, kind, from, taken, onClose, onMade }: NameProps) {
  const [name, setName] = useState(from?.name ?? "");
  const [touched, setTouched] = useState(false);
  const problem = name === from?.name ? null : nameProblem(name, taken);
  const act = useMutation({
    mutationFn: async () => {
      const path = join(folder, name);
      if (kind === "folder") await makeDirectory(sandbox, path);
      else if (kind === "file") await write(sandbox, path, new Blob([]));
      else if (from && from.path !== path) await move(sandbox, from.path, path);
      return path;
    },
    onSuccess: (path) => (onMade(path), onClose()),
  });
  return (
    <Dialog
      title={from ? `Rename ${from.name}` : TITLES[kind]}
      onClose={onClose}
      onSubmit={() => (problem === null ? act.mutate() : setTouched(true))}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={act.isPending}>
            {kind === "rename" ? "Rename" : "Make"}
          </Button>
        </>
      }
    >
      <Field label="Name" hint={`In ${folder}`} problem={touched ? problem : null}>
        {(ids) => (
          <input
            {...ids}
            className="input mono"
            // eslint-disable-next-line jsx-a11y/no-autofocus -- the only field of a dialog that was just asked for
            autoFocus
            autoComplete="off"
            spellCheck={false}
            value={name}
            onChange={(event) => (setName(event.target.value), setTouched(true))}
          />
        )}
      </Field>
      {act.error && <Notice tone="error">{messageOf(act.error)}</Notice>}
    </Dialog>
  );
}
