import { useState } from "react";
import { Confirm, KeyAgain } from "../../ui";

interface DriveDialogProps {
  name: string;
  /** Raises what is wrong with the key. */
  drive: (key: string) => Promise<void>;
  onClose: () => void;
}

/** Asks for the key before this tab gets a link that drives. */
export function DriveDialog({ name, drive, onClose }: DriveDialogProps) {
  const [key, setKey] = useState("");
  return (
    <Confirm
      title={`Take over ${name}`}
      verb="Take over"
      tone="primary"
      disabled={key === ""}
      onConfirm={() => drive(key)}
      onClose={onClose}
    >
      <p>Your keys and clicks go to its screen, and its agent&rsquo;s are refused, until you hand back.</p>
      <KeyAgain value={key} onChange={setKey} what="The link that drives" />
      <p className="small muted">You are asked once for as long as you stay at this screen.</p>
    </Confirm>
  );
}
