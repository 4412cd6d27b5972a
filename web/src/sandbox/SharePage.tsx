import "./sandbox.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { followSeat, getSeat } from "../api/calls";
import { ApiError } from "../api/errors";
import type { Driver, Seat } from "../api/types";
import { Brand } from "../app/Brand";
import { Button, EmptyState, ErrorState, Loading, RelativeTime } from "../ui";
import { tokenOf } from "./screen/token";
import { isAwake } from "./state";

const SharedScreen = lazy(() => import("./screen/SharedScreen"));

const subscribe = (watcher: () => void): (() => void) => {
  window.addEventListener("hashchange", watcher);
  return () => window.removeEventListener("hashchange", watcher);
};

/** Tells every change of who drives, over lost connections, until the link ends. */
async function follow(token: string, signal: AbortSignal, onSeat: (seat: Seat) => void): Promise<void> {
  for (let lost = 0; !signal.aborted; lost++) {
    try {
      for await (const seat of followSeat(token, signal)) {
        lost = 0;
        onSeat(seat);
      }
      return;
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(15_000, 500 * 2 ** lost)));
  }
}

/** A screen for whoever has a link to it. */
export default function SharePage() {
  const token = tokenOf(useSyncExternalStore(subscribe, () => window.location.hash));
  return (
    <div className="share-page">
      <header className="share-top">
        <Brand />
      </header>
      <main className="page" id="content">
        {token ? (
          <Shared key={token} token={token} />
        ) : (
          <Unopened>
            <EmptyState icon="link" title="This link is not whole">
              <p>Ask whoever sent it for the link again, and copy all of it.</p>
            </EmptyState>
          </Unopened>
        )}
      </main>
    </div>
  );
}

/** While there is no sandbox to name the page after. */
const Unopened = ({ children }: { children: ReactNode }) => (
  <>
    <h1 className="visually-hidden">A shared screen</h1>
    {children}
  </>
);

function Shared({ token }: { token: string }) {
  const client = useQueryClient();
  const queryKey = ["seat", token];
  const found = useQuery({ queryKey, queryFn: ({ signal }) => getSeat(token, signal), retry: false });
  useEffect(() => {
    const left = new AbortController();
    void follow(token, left.signal, (seat) => client.setQueryData(["seat", token], seat)).finally(() => {
      // The stream ends with the link: asking once more tells why.
      if (!left.signal.aborted) void client.invalidateQueries({ queryKey: ["seat", token] });
    });
    return () => left.abort();
  }, [client, token]);
  const [wanted, setWanted] = useState(false);
  if (found.isPending)
    return (
      <Unopened>
        <Loading label="Opening the link" />
      </Unopened>
    );
  if (found.isError) {
    const isOver = found.error instanceof ApiError && found.error.status < 500;
    return (
      <Unopened>
        <ErrorState
          error={found.error}
          title={isOver ? "This link opens nothing any more" : "The screen cannot be opened"}
          retry={isOver ? undefined : () => void found.refetch()}
        />
      </Unopened>
    );
  }
  const seat = found.data;
  const setDriver = (driver: Driver | null, drives: boolean): void => {
    client.setQueryData(queryKey, (known: Seat | undefined) => known && { ...known, driver, drives });
    void client.invalidateQueries({ queryKey });
  };
  const name = seat.sandbox_name ?? seat.sandbox;
  return (
    <>
      <div className="page-head">
        <div className="titles">
          <h1>{name}</h1>
          <p className="small">
            {seat.label ? `For ${seat.label}. ` : ""}You may {seat.mode === "control" ? "watch and drive" : "watch"}; the link
            ends <RelativeTime at={seat.expires_at} />.
          </p>
        </div>
      </div>
      {isAwake(seat) || wanted ? (
        <Suspense fallback={<Loading label="Opening the screen" />}>
          <SharedScreen token={token} seat={seat} name={name} onDriver={setDriver} />
        </Suspense>
      ) : (
        // Opening the screen is what wakes it.
        <EmptyState
          icon="moon"
          title="Asleep"
          action={
            <Button look="primary" icon="sun" onClick={() => setWanted(true)}>
              Wake and watch
            </Button>
          }
        >
          <p>Its windows, tabs and half-typed text are as they were left.</p>
        </EmptyState>
      )}
    </>
  );
}
