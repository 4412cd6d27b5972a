import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, Outlet, redirect } from "@tanstack/react-router";
import { lazy } from "react";
import { FleetPage } from "../fleet/FleetPage";
import { readSearch } from "../fleet/search";
import { readTabSearch } from "../sandbox/search";
import { EmptyState, ErrorState } from "../ui";
import { Shell } from "./Shell";

const SandboxPage = lazy(() => import("../sandbox/SandboxPage"));
const SharePage = lazyRouteComponent(() => import("../sandbox/SharePage"));

const root = createRootRoute({ component: Outlet, notFoundComponent: Nowhere });
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });

const fleet = createRoute({ getParentRoute: () => shell, path: "/", validateSearch: readSearch, component: FleetPage });
const app = createRoute({
  getParentRoute: () => shell,
  path: "/app",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});

const page = <P extends string>(path: P, load: () => Promise<{ default: () => React.ReactNode }>) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyRouteComponent(load) });

const inbox = page("/app/inbox", () => import("../inbox/InboxPage"));
const templates = page("/app/templates", () => import("../templates/TemplatesPage"));
const snapshots = page("/app/snapshots", () => import("../snapshots/SnapshotsPage"));
const events = page("/app/events", () => import("../events/EventsPage"));
const node = page("/app/node", () => import("../node/NodePage"));
const keys = page("/app/keys", () => import("../keys/KeysPage"));

const sandbox = createRoute({
  getParentRoute: () => shell,
  path: "/app/sandboxes/$id",
  component: function Sandbox() {
    return <SandboxPage key={sandbox.useParams().id} id={sandbox.useParams().id} tab={undefined} />;
  },
});
const sandboxTab = createRoute({
  getParentRoute: () => shell,
  path: "/app/sandboxes/$id/$tab",
  validateSearch: readTabSearch,
  component: function SandboxTab() {
    const { id, tab } = sandboxTab.useParams();
    return <SandboxPage key={id} id={id} tab={tab} />;
  },
});
// For people with a link and no key: outside the shell, no sign-in.
const screen = createRoute({ getParentRoute: () => root, path: "/app/screen", component: SharePage });

function Nowhere() {
  return (
    <main className="splash">
      <h1 className="visually-hidden">Roost</h1>
      <EmptyState
        icon="search"
        title="There is no such page"
        action={
          <Link to="/" className="button">
            To the fleet
          </Link>
        }
      >
        <p>The address may be mistyped, or the page has moved.</p>
      </EmptyState>
    </main>
  );
}

export const router = createRouter({
  routeTree: root.addChildren([
    shell.addChildren([fleet, app, inbox, templates, snapshots, events, node, keys, sandbox, sandboxTab]),
    screen,
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} title="This page broke" retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
