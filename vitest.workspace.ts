import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { consoleAssetsForVite } from './packages/console/build/plugins.mjs'

/** Packages are tested from their sources: this condition in their `exports` names `src/index.ts`. */
// Vitest hands them to node itself: 'import' among them would make require() find ES modules.
const conditions = ['@modelgate/source', 'node']
const shared = {
  plugins: [consoleAssetsForVite()],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
}

export default defineConfig({
  test: {
    // Vitest leaves one processor free for itself, and would have one worker where there are two; most tests here wait for sockets.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: ['default', './.ci/count-reporter.mjs'],
    projects: [
      {
        ...shared,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          exclude: ['packages/conformance/**'],
          testTimeout: 20_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'conformance',
          include: ['packages/conformance/src/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          // The repository itself: its build, its lint rules, its documents.
          name: 'repository',
          include: ['.ci/**/*.test.ts'],
          globalSetup: ['.ci/build-first.mjs'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'examples',
          include: ['examples/**/*.test.ts'],
          globalSetup: ['.ci/build-first.mjs'],
          exclude: ['**/node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
