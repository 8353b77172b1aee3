import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const fromHere = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** `npm run test:installed` takes minutes and needs the registry, so it is not part of `npm test`. */
export default defineConfig({
  test: {
    // As vitest.workspace.ts: the CI run names each test that passed only on its second run.
    retry: process.env.CI === undefined ? 0 : 1,
    include: ['packages/repo-tools/src/packed/installed.test.ts'],
    globalSetup: [fromHere('../vitest/build-packages.mjs')],
    reporters: ['default', fromHere('../vitest/count-reporter.mjs')],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
