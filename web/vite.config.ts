import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// For `npm run dev`: the server that answers /v1, and the address that its cookies and checks are made for.
const server = process.env.ROOST_URL ?? "http://127.0.0.1:4700";

export default defineConfig({
  base: "/app/",
  html: { cspNonce: "ROOST_NONCE" }, // api/web.py puts a fresh one there for every page it serves
  plugins: [react()],
  server: { proxy: { "/v1": { target: server, changeOrigin: false } } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the content security policy allows no inlined fonts or styles
    cssCodeSplit: true,
    sourcemap: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        // Named for scripts/bundle-size.mjs: it counts all but the last two.
        manualChunks: (id) =>
          /node_modules\/(react|react-dom|scheduler|@tanstack)\//.test(id)
            ? "vendor"
            : /node_modules\/@(novnc|xterm)\//.exec(id)?.[1],
      },
    },
  },
});
