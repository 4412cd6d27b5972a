// The API's records under the names the pages use. All of them are generated: see schema.ts.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type State = Schemas["State"];
export type Sandbox = Schemas["SandboxModel"];
/** With its tokens: only where it was made, or where they were asked for. */
export type Entered = Schemas["EnteredModel"];
export type Driver = Schemas["DriverModel"];
/** A network policy; the pages need and change these four of it. */
export type Network = Pick<Schemas["NetworkModel"], "internet" | "allow" | "deny" | "public"> & Partial<Schemas["NetworkModel"]>;
export type Activity = Schemas["ActivityModel"];
export type Reason = Schemas["ReasonModel"];
export type Policy = Schemas["PolicyFields"];
export type CreateBody = Partial<Schemas["CreateBody"]>;
export type UpdateBody = Partial<Omit<Schemas["UpdateBody"], "network">> & { network?: Partial<Schemas["NetworkBody"]> | null };
export type Resumed = Schemas["ResumedModel"];
export type ForkAnswer = Schemas["ForkAnswer"];
export type Metric = Schemas["MetricModel"];
export type Snapshot = Schemas["SnapshotModel"];
export type SnapshotFile = Schemas["FileModel"];
export type Template = Schemas["TemplateModel"];
export type TemplateList = Schemas["TemplateList"];
export type Build = Schemas["BuildModel"];
/** Its kind may be one that this page is too old to know. */
export type Event = Omit<Schemas["EventModel"], "kind"> & { kind: string };
export type Key = Schemas["KeyModel"];
export type NewKey = Schemas["NewKeyModel"];
export type NodeReport = Schemas["NodeModel"];
export type Version = Schemas["VersionModel"];
export type Session = Schemas["SessionModel"];
export type FleetEntry = Schemas["FleetMember"];
export type Fleet = Schemas["FleetAnswer"];
export type Question = Schemas["QuestionModel"];
/** With the picture that went with it. */
export type QuestionDetail = Schemas["QuestionDetail"];
export type QuestionPage = Schemas["QuestionPage"];
export type Link = Schemas["LinkModel"];
/** Links as they are only where they were made: with their secret. */
export type PortLink = Schemas["NewLinkModel"] & { port: number };
export type ScreenLink = Schemas["NewLinkModel"] & { mode: Schemas["LinkMode"]; websocket: string };
/** What a link to a screen leads to. */
export type Seat = Schemas["SeatModel"];
