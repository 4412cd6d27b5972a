import { useEffect, useState, type RefObject } from "react";

type Tell = (isNear: boolean) => void;

/** One observer for all cards of the same margin: observers are dear, what they watch is cheap. */
const observers = new Map<string, { observer: IntersectionObserver; told: Map<Element, Tell> }>();

function watch(element: Element, margin: string, tell: Tell): () => void {
  let shared = observers.get(margin);
  if (!shared) {
    const told = new Map<Element, Tell>();
    const observer = new IntersectionObserver(
      (entries) => entries.forEach((entry) => told.get(entry.target)?.(entry.isIntersecting)),
      { rootMargin: margin },
    );
    shared = { observer, told };
    observers.set(margin, shared);
  }
  const { observer, told } = shared;
  told.set(element, tell);
  observer.observe(element);
  return () => {
    told.delete(element);
    observer.unobserve(element);
  };
}

/** Whether it is on the screen, or as near to it as `margin` says. */
export function useIsNear(place: RefObject<Element | null>, margin = "400px"): boolean {
  const [isNear, setIsNear] = useState(false);
  useEffect(() => (place.current ? watch(place.current, margin, setIsNear) : undefined), [place, margin]);
  return isNear;
}
