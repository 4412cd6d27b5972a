import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import { Button, KeyField, Notice, Prose } from "../ui";
import { Brand } from "./Brand";
import { keepPreferences } from "./preferences";
import { begin } from "./queries";

/** A key for a session. The key itself is not kept in the browser: the server answers with a cookie no script can read. */
export function SignIn() {
  const client = useQueryClient();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);

  const submit = async () => {
    setBusy(true);
    setFailure(null);
    try {
      // The server has the browser clear what was kept here, in case somebody left something.
      await keepPreferences(() => calls.signIn(key));
      begin(client, await calls.getSession());
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form
        className="card sign-in-card"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Brand large />
        <div>
          <h1>Sign in to Mission Control</h1>
          <p className="muted">Watch your agents&rsquo; computers, step in, hand back.</p>
        </div>
        <KeyField
          value={key}
          onChange={setKey}
          hint={
            <>
              On the server&rsquo;s machine, <code>roost env</code> prints it.
            </>
          }
          takesFocus
        />
        {failure !== null && (
          <Notice tone="error">
            <Prose text={messageOf(failure)} />
          </Notice>
        )}
        <Button type="submit" look="primary" busy={busy} disabled={key === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
