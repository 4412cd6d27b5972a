import { MutationCache, QueryCache, QueryClient, queryOptions, replaceEqualDeep, useQuery } from "@tanstack/react-query";
import * as calls from "../api/calls";
import { ApiError, isUnauthenticated } from "../api/errors";
import { keys } from "../api/keys";
import type { Fleet, Sandbox, Session } from "../api/types";
import { newest } from "../live/apply";

/** The cache of everything that was asked. The live stream keeps it fresh, so nothing is asked again by the clock. */
export function makeQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: signedOut }),
    mutationCache: new MutationCache({ onError: signedOut }),
    defaultOptions: {
      queries: {
        staleTime: Infinity,
        refetchOnWindowFocus: false,
        refetchOnReconnect: true,
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
      },
    },
  });
  client.setQueryDefaults(keys.anySandbox, {
    structuralSharing: (known, told) => replaceEqualDeep(known, newest(known as Sandbox | undefined, told as Sandbox)),
  });
  function signedOut(error: unknown): void {
    if (isUnauthenticated(error)) client.setQueryData(keys.session, null);
  }
  return client;
}

/** Another session, or none: nothing of the one before is left. */
export function begin(client: QueryClient, session: Session | null): void {
  client.removeQueries({ predicate: (query) => query.queryKey[0] !== keys.session[0] });
  client.setQueryData(keys.session, session);
}

/** Who is signed in; null: nobody. */
export function useSession() {
  return useQuery({
    queryKey: keys.session,
    queryFn: async ({ signal }): Promise<Session | null> => {
      try {
        return await calls.getSession(signal);
      } catch (error) {
        if (isUnauthenticated(error)) return null;
        throw error;
      }
    },
  });
}

export const useFleet = () => useQuery({ queryKey: keys.fleet, queryFn: ({ signal }) => calls.getFleet(signal) });

/** One sandbox, living or dead; kept fresh by the live stream. */
export const useSandbox = (id: string) =>
  useQuery({ queryKey: keys.sandbox(id), queryFn: ({ signal }): Promise<Sandbox> => calls.getSandbox(id, signal) });

const templates = queryOptions({ queryKey: keys.templates, queryFn: ({ signal }) => calls.listTemplates(signal) });

export const useTemplates = () => useQuery({ ...templates, select: (list) => list.templates });

/** Templates that are not there yet. */
export const useBuilds = () => useQuery({ ...templates, select: (list) => list.being_made });

export const useOpenQuestions = () =>
  useQuery({
    queryKey: keys.questions({ state: "open" }),
    queryFn: async ({ signal }) => (await calls.listQuestions({ state: "open", limit: 100 }, signal)).questions,
  });

/** What to call a sandbox: its name if the fleet knows one, else its id. */
export function useNames(): (id: string) => string {
  const { data } = useQuery({ queryKey: keys.fleet, queryFn: ({ signal }) => calls.getFleet(signal), select: namesOf });
  return (id) => data?.get(id) ?? id;
}

const SNAPSHOT_ID = /^s[a-z0-9]{20}$/;

/** What to call that from which a sandbox was made: a template's name as it is, a snapshot's if it has one. */
export function useSources(templates: readonly string[]): (template: string) => string {
  const { data } = useQuery({
    queryKey: keys.snapshots,
    queryFn: ({ signal }) => calls.allSnapshots(signal),
    enabled: templates.some((template) => SNAPSHOT_ID.test(template)),
  });
  return (template) =>
    SNAPSHOT_ID.test(template) ? (data?.find((snapshot) => snapshot.id === template)?.name ?? "a snapshot") : template;
}

const namesOf = (fleet: Fleet): Map<string, string> =>
  new Map(fleet.sandboxes.flatMap(({ sandbox }) => (sandbox.name ? [[sandbox.id, sandbox.name]] : [])));
