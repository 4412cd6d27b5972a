import { useState } from "react";
import { createLink } from "../../api/calls";
import type { Sandbox, ScreenLink } from "../../api/types";
import { Segments } from "../../ui";
import { titleOf } from "../../fleet/words";
import { LinkDialog } from "../share/LinkDialog";
import { Links } from "../share/Links";

/** Lets people without a key watch or drive, for a while; shows who can, and ends it. */
export function ShareDialog({ sandbox, own, onClose }: { sandbox: Sandbox; own: string | null; onClose: () => void }) {
  const [mode, setMode] = useState<ScreenLink["mode"]>("view");
  return (
    <LinkDialog
      sandbox={sandbox}
      title={`Share the screen of ${titleOf(sandbox)}`}
      says="Whoever has the link can open the screen in a browser, without a key, until it expires or you revoke it. Opening it wakes a sleeping sandbox."
      make={(seconds, label, key) => createLink(sandbox.id, { mode, seconds, label }, key)}
      needsKey={mode === "control"}
      onClose={onClose}
      choices={
        <div className="field">
          <span className="label">May</span>
          <Segments
            label="May"
            value={mode}
            options={[
              { value: "view", label: "Watch" },
              { value: "control", label: "Watch and drive" },
            ]}
            onChange={setMode}
          />
        </div>
      }
    >
      <Links sandbox={sandbox} port={null} own={own} />
    </LinkDialog>
  );
}
