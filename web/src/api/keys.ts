// Names of what the query cache holds. The live stream writes under the same names (see live/apply.ts).
export const keys = {
  session: ["session"] as const,
  fleet: ["fleet"] as const,
  anySandbox: ["sandbox"] as const,
  sandbox: (id: string) => ["sandbox", id] as const,
  activity: (id: string) => ["activity", id] as const,
  metrics: (id: string) => ["metrics", id] as const,
  links: (id: string) => ["links", id] as const,
  dead: ["dead"] as const,
  templates: ["templates"] as const,
  snapshots: ["snapshots"] as const,
  events: (filter: unknown = {}) => ["events", filter] as const,
  questions: (filter: unknown = {}) => ["questions", filter] as const,
  question: (id: string) => ["question", id] as const,
  node: ["node"] as const,
  version: ["version"] as const,
  keys: ["keys"] as const,
};
