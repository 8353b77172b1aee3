import { defineConfig } from 'vitest/config'

/** `npm run test:installed` takes minutes and needs the registry, so it is not part of `npm test`. */
export default defineConfig({
  test: {
    include: ['.ci/installed.test.ts'],
    globalSetup: ['.ci/build-first.mjs'],
    reporters: ['default', './.ci/count-reporter.mjs'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
