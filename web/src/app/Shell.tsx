import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import * as calls from "../api/calls";
import { forgetTokens } from "../api/tokens";
import type { Session } from "../api/types";
import { useLive } from "../live/useLive";
import type { LiveStatus } from "../live/stream";
import { Dialog, ErrorState, Icon, IconButton, Loading, notifyError } from "../ui";
import { Brand } from "./Brand";
import { begin, useFleet, useOpenQuestions, useSession } from "./queries";
import { PLACES, useShortcuts } from "./shortcuts";
import { SignIn } from "./SignIn";
import { setTheme, useTheme, type Theme } from "./theme";

/** Everything behind the sign-in: navigation, the live stream, and the page itself. */
export function Shell() {
  const session = useSession();
  if (session.isPending)
    return (
      <main className="splash" aria-busy="true">
        <Brand large />
      </main>
    );
  if (session.isError)
    return (
      <main className="splash">
        <ErrorState error={session.error} title="Mission Control cannot start" retry={() => void session.refetch()} />
      </main>
    );
  return session.data ? <SignedIn session={session.data} /> : <SignIn />;
}

function SignedIn({ session }: { session: Session }) {
  const fleet = useFleet();
  const status = useLive(fleet.isSuccess);
  const navigate = useNavigate();
  const [help, setHelp] = useState(false);
  const [more, setMore] = useState(false);
  useShortcuts((command) => {
    if (command === "help") setHelp(true);
    else if (command === "create") void navigate({ to: "/", search: { create: true } });
    else if (command === "search") document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    else void navigate({ to: command.go });
  });
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <aside className="side">
        <Link to="/" className="home" aria-label="Roost, to the fleet">
          <Brand />
        </Link>
        <nav aria-label="Main">
          <ul>
            {PLACES.map((place) => (
              <li key={place.key}>
                <Place place={place} />
              </li>
            ))}
          </ul>
        </nav>
        <div className="side-foot">
          <Live status={status} />
          <div className="row between">
            <ThemeButton />
            <IconButton icon="keyboard" label="Keyboard shortcuts (?)" small onClick={() => setHelp(true)} />
            <SignOut />
          </div>
          <p className="who truncate" title={`Key ${session.key.name}, ending in ${session.key.hint}`}>
            {session.key.name} <span className="faint">· {session.version}</span>
          </p>
        </div>
      </aside>
      <header className="top">
        <Link to="/" aria-label="Roost, to the fleet">
          <Brand />
        </Link>
        <span className="grow" />
        <Live status={status} />
        <ThemeButton />
      </header>
      <main id="content" className="content" tabIndex={-1}>
        <Suspense
          fallback={
            <div className="page">
              <Loading />
            </div>
          }
        >
          <Outlet />
        </Suspense>
      </main>
      <nav className="bottom" aria-label="Main">
        {PLACES.filter((place) => "fise".includes(place.key)).map((place) => (
          <Place key={place.key} place={place} />
        ))}
        <button type="button" aria-haspopup="dialog" onClick={() => setMore(true)}>
          <Icon name="more" size={18} />
          <span>More</span>
        </button>
      </nav>
      {more && (
        <Dialog title="More" onClose={() => setMore(false)}>
          {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions -- closes after the links inside */}
          <div className="more-places" onClick={() => setMore(false)}>
            {PLACES.map((place) => (
              <Place key={place.key} place={place} />
            ))}
          </div>
          <div className="row between">
            <span className="muted small truncate">Signed in with {session.key.name}</span>
            <SignOut />
          </div>
        </Dialog>
      )}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function Place({ place }: { place: (typeof PLACES)[number] }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isHere = place.to === "/" ? path === "/" || path.startsWith("/app/sandboxes") : path.startsWith(place.to);
  return (
    <Link to={place.to} className="place" aria-current={isHere ? "page" : undefined}>
      <Icon name={place.icon} size={18} />
      <span>{place.label}</span>
      {place.key === "i" && <InboxCount />}
    </Link>
  );
}

function InboxCount() {
  const count = useOpenQuestions().data?.length ?? 0;
  return count === 0 ? null : (
    <span className="count" aria-label={`${count} open`}>
      {count}
    </span>
  );
}

const LIVE: Record<LiveStatus, [tone: string, text: string, long: string]> = {
  live: ["green", "Live", "Changes appear as they happen."],
  connecting: ["amber", "Connecting", "Asking the server for changes."],
  lost: ["red", "Reconnecting", "The server does not answer. What you see may be old; this page tries again by itself."],
};

function Live({ status }: { status: LiveStatus }) {
  const [tone, text, long] = LIVE[status];
  return (
    <span className={`live ${tone}`} role="status" title={long}>
      <span className="dot" aria-hidden="true" /> {text}
    </span>
  );
}

const NEXT: Record<Theme, [next: Theme, icon: "auto" | "sun" | "moon", label: string]> = {
  system: ["light", "auto", "Theme: as the system. Change to light"],
  light: ["dark", "sun", "Theme: light. Change to dark"],
  dark: ["system", "moon", "Theme: dark. Change to the system's"],
};

function ThemeButton() {
  const [next, icon, label] = NEXT[useTheme()];
  return <IconButton icon={icon} label={label} small onClick={() => setTheme(next)} />;
}

function SignOut() {
  const client = useQueryClient();
  const leave = async () => {
    try {
      forgetTokens();
      await calls.signOut();
      begin(client, null);
    } catch (error) {
      notifyError(error);
    }
  };
  return <IconButton icon="signout" label="Sign out" small onClick={() => void leave()} />;
}

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="facts keys">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>Search on this page</dd>
        <dt>
          <kbd>c</kbd>
        </dt>
        <dd>Create a sandbox</dd>
        {PLACES.map((place) => (
          <div key={place.key} className="pair">
            <dt>
              <kbd>g</kbd> <kbd>{place.key}</kbd>
            </dt>
            <dd>{place.label}</dd>
          </div>
        ))}
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>Close what is open</dd>
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>This list</dd>
      </dl>
    </Dialog>
  );
}
