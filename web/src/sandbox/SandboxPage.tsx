import "./sandbox.css";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, type ComponentType } from "react";
import { useSandbox } from "../app/queries";
import type { Sandbox } from "../api/types";
import { titleOf } from "../fleet/words";
import { ErrorState, Icon, Loading, type IconName } from "../ui";
import { ActivityTab } from "./activity/ActivityTab";
import { Header } from "./Header";
import { Over } from "./Over";
import { PortsTab } from "./ports/PortsTab";
import { SettingsTab } from "./settings/SettingsTab";
import { isOver, tabOf, TABS, type Tab } from "./state";
import { TimelineTab } from "./timeline/TimelineTab";

// noVNC and xterm are large and not for every visit; files bring an editor along.
const ScreenTab = lazy(() => import("./screen/ScreenTab"));
const TerminalTab = lazy(() => import("./terminal/TerminalTab"));
const FilesTab = lazy(() => import("./files/FilesTab"));

const SHOWN: Record<Tab, { label: string; icon: IconName; component: ComponentType<{ sandbox: Sandbox }> }> = {
  screen: { label: "Screen", icon: "screen", component: ScreenTab },
  terminal: { label: "Terminal", icon: "terminal", component: TerminalTab },
  files: { label: "Files", icon: "folder", component: FilesTab },
  timeline: { label: "Timeline", icon: "clock", component: TimelineTab },
  activity: { label: "Activity", icon: "events", component: ActivityTab },
  ports: { label: "Ports", icon: "plug", component: PortsTab },
  settings: { label: "Settings", icon: "settings", component: SettingsTab },
};

export default function SandboxPage({ id, tab: asked }: { id: string; tab: string | undefined }) {
  const found = useSandbox(id);
  const title = found.data && titleOf(found.data);
  useEffect(() => {
    if (title === undefined) return;
    const before = document.title;
    document.title = `${title} · Roost`;
    return () => {
      document.title = before;
    };
  }, [title]);
  if (found.isPending)
    return (
      <div className="page">
        <Loading label="Loading the sandbox" />
      </div>
    );
  if (found.isError)
    return (
      <div className="page">
        <ErrorState error={found.error} title="This sandbox cannot be shown" retry={() => void found.refetch()} />
      </div>
    );
  const sandbox = found.data;
  const tab = isOver(sandbox) ? "timeline" : tabOf(asked, sandbox);
  const { component: Shown, label } = SHOWN[tab];
  return (
    <div className={`page sandbox-page on-${tab}`}>
      <Header sandbox={sandbox} />
      {isOver(sandbox) ? <Over sandbox={sandbox} /> : <Tabs sandbox={sandbox} tab={tab} />}
      <section aria-label={label} className="sandbox-tab">
        <Suspense fallback={<Loading label={`Loading ${label}`} />}>
          <Shown key={sandbox.id} sandbox={sandbox} />
        </Suspense>
      </section>
    </div>
  );
}

function Tabs({ sandbox, tab }: { sandbox: Sandbox; tab: Tab }) {
  const list = useRef<HTMLElement>(null);
  // On a phone not all of them are in sight.
  useEffect(() => {
    void list.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [tab]);
  return (
    <nav ref={list} className="tabs sandbox-tabs" aria-label={`Parts of ${titleOf(sandbox)}`}>
      {TABS.map((each) => (
        <Link
          key={each}
          to="/app/sandboxes/$id/$tab"
          params={{ id: sandbox.id, tab: each }}
          aria-current={each === tab ? "page" : undefined}
        >
          <Icon name={SHOWN[each].icon} /> {SHOWN[each].label}
        </Link>
      ))}
    </nav>
  );
}
