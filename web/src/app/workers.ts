/**
 * Mission Control has no service worker. One that is registered here was put there by a page that should never have been at this
 * address: it goes, and so does the page that it may have changed.
 */
export async function removeServiceWorkers(): Promise<void> {
  if (!("serviceWorker" in navigator)) return; // not over plain http
  const registrations = await navigator.serviceWorker.getRegistrations();
  const removed = await Promise.all(registrations.map((each) => each.unregister()));
  if (removed.includes(true) && navigator.serviceWorker.controller) window.location.reload();
}
