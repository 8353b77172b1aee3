import { defineConfig } from 'vitest/config'

/** `npm run test:installed`: takes minutes and the registry, hence no part of `npm test`. */
export default defineConfig({
  test: {
    include: ['.ci/installed.test.ts'],
    globalSetup: ['.ci/build-first.mjs'],
    reporters: ['default', './.ci/count-reporter.mjs'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
