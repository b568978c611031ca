import { defineConfig } from "vite";

// What is built has the same bytes wherever it is built: no time, no path and no version of a tool gets into it.
export default defineConfig({
  // Relative, so that the Studio works under whatever prefix the App is mounted at.
  base: "./",
  build: {
    license: { fileName: "licenses.md" },
    outDir: "../src/procession/server/static",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    // The page's CSP allows no data: script and no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
  },
});
