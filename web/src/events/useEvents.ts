import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import * as calls from "../api/calls";
import { keys } from "../api/keys";
import type { EventFilter } from "../live/apply";

const PAGE = 100;

/** Events, newest first, older ones page by page. New ones come in by the live stream. */
export function useEvents(filter: EventFilter) {
  const events = useInfiniteQuery({
    queryKey: keys.events(filter),
    queryFn: ({ pageParam, signal }) =>
      calls.listEvents({ ...filter, before: pageParam, newest_first: true, limit: PAGE }, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => (page.events.length < PAGE ? undefined : page.events.at(-1)?.sequence),
  });
  const all = useMemo(() => events.data?.pages.flatMap((page) => page.events), [events.data]);
  return { ...events, events: all };
}
