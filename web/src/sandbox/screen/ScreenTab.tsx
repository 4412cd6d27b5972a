import "./screen.css";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { takeOver } from "../../api/calls";
import { keys } from "../../api/keys";
import type { Driver, Sandbox } from "../../api/types";
import { useSources } from "../../app/queries";
import { Button, EmptyState, ErrorState, Loading, notifyError } from "../../ui";
import { clipboard } from "../agent/desktop";
import { Asleep } from "../Asleep";
import { isAwake } from "../state";
import { titleOf } from "../../fleet/words";
import { DriveDialog } from "./DriveDialog";
import { Screen } from "./Screen";
import { ShareDialog } from "./ShareDialog";
import { useLink } from "./useLink";

/** The sandbox's screen. Looking at a sleeping one does not wake it; the button does. */
export default function ScreenTab({ sandbox }: { sandbox: Sandbox }) {
  const client = useQueryClient();
  const awake = isAwake(sandbox);
  // Its link is made before anybody asks, and the way opened as soon as it is asked to wake: it is there when the screen is.
  const [opened, setOpened] = useState(awake);
  if (awake && !opened) setOpened(true);
  const { link, error, renew, makeDriving } = useLink(sandbox, sandbox.has_desktop);
  const [asking, setAsking] = useState<"share" | "key" | null>(null);
  const sourceOf = useSources([sandbox.template]);

  if (!sandbox.has_desktop) {
    return (
      <EmptyState
        icon="screen"
        title="This sandbox has no screen"
        action={
          <Link className="button" to="/app/sandboxes/$id/$tab" params={{ id: sandbox.id, tab: "terminal" }}>
            Open a terminal
          </Link>
        }
      >
        <p>
          It was made from {sourceOf(sandbox.template)}, which has no desktop. Sandboxes of the template <code>desktop</code> have
          one.
        </p>
      </EmptyState>
    );
  }
  if (!opened)
    return (
      <Asleep sandbox={sandbox} verb="Wake and watch" onWake={() => setOpened(true)} onFailed={() => setOpened(false)}>
        Its windows, tabs and half-typed text are as they were left.
      </Asleep>
    );
  if (error) return <ErrorState error={error} title="The screen cannot be opened" retry={renew} />;
  if (!link) return <Loading label="Opening the screen" />;

  const setDriver = (driver: Driver | null): void =>
    void client.setQueryData(keys.sandbox(sandbox.id), (known: Sandbox | undefined) => known && { ...known, driver });
  const drive = async (key: string): Promise<void> => {
    const { token } = await makeDriving(key);
    // Somebody else may drive: then the button asks whether to take it from them.
    await takeOver(token).then(setDriver, notifyError);
  };
  return (
    <>
      <Screen
        name={titleOf(sandbox)}
        link={link}
        driver={sandbox.driver}
        driving={sandbox.driver?.link === link.id}
        over={awake ? null : <Asleep sandbox={sandbox} verb="Wake and watch" />}
        onDriver={setDriver}
        onWantsToDrive={link.mode === "view" ? () => setAsking("key") : undefined}
        onLinkOver={() => <Button onClick={renew}>Open it again</Button>}
        readClipboard={() => clipboard(sandbox, { quiet: true })}
        tools={
          <Button small icon="share" onClick={() => setAsking("share")}>
            Share
          </Button>
        }
      />
      {asking === "share" && <ShareDialog sandbox={sandbox} own={link.id} onClose={() => setAsking(null)} />}
      {asking === "key" && <DriveDialog name={titleOf(sandbox)} drive={drive} onClose={() => setAsking(null)} />}
    </>
  );
}
