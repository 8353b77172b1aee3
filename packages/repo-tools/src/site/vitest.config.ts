import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const fromHere = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** `npm run docs:check` builds the site, which needs VitePress, so it is not part of `npm test`. */
export default defineConfig({
  root: fromHere('../../../..'),
  test: {
    // As vitest.workspace.ts: the CI run names each test that passed only on its second run.
    retry: process.env.CI === undefined ? 0 : 1,
    include: ['packages/repo-tools/src/site/built/*.test.ts'],
    globalSetup: [fromHere('build-site.mjs')],
    reporters: ['default', fromHere('../vitest/count-reporter.mjs')],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
