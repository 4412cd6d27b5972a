import { defineConfig } from "vitest/config";

// Logic only, without a browser: pages are looked at by tests that drive a real one.
export default defineConfig({ test: { environment: "node", include: ["src/**/*.test.ts"] } });
