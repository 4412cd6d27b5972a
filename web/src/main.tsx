import "./ui/index.css";
import "./app/shell.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { makeQueryClient } from "./app/queries";
import { router } from "./app/router";
import { removeServiceWorkers } from "./app/workers";
import { hasUnsaved } from "./sandbox/files/drafts";
import { Toasts } from "./ui";

// A newer server has newer chunks: a page from before finds its own gone, and begins anew.
window.addEventListener("vite:preloadError", (event) => {
  event.preventDefault();
  window.location.reload();
});

void removeServiceWorkers();

const client = makeQueryClient();
window.addEventListener("beforeunload", (event) => {
  if (hasUnsaved(client)) event.preventDefault();
});

const place = document.getElementById("root");
if (!place) throw new Error("index.html has no #root");
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
