import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { isolatedTests } from './.ci/isolated-tests.ts'
import { consoleAssetsForVite } from './packages/console/build/plugins.mjs'

/** Packages are tested from their sources: this condition in their `exports` names `src/index.ts`. */
// Vitest hands them to node itself: 'import' among them would make require() find ES modules.
const conditions = ['@modelgate/source', 'node']
const shared = {
  plugins: [consoleAssetsForVite()],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
}

/** Files share a few processes and the modules in them: loading the sources took 307 s with a process for each file, 110 s now. */
const withoutIsolation = { isolate: false, setupFiles: ['./.ci/shared-worker.ts'] }

export default defineConfig({
  test: {
    // One more than processors: many tests wait for sockets, Redis or a browser.
    maxWorkers: availableParallelism() + 1,
    reporters: ['default', './.ci/count-reporter.mjs'],
    projects: [
      {
        ...shared,
        test: {
          ...withoutIsolation,
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          exclude: ['packages/conformance/**', ...isolatedTests],
          testTimeout: 20_000,
        },
      },
      {
        ...shared,
        test: {
          ...withoutIsolation,
          name: 'conformance',
          include: ['packages/conformance/src/**/*.test.ts'],
          exclude: [...isolatedTests],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'isolated',
          include: [...isolatedTests],
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
          // Installs all packages from their tarballs four times: `npm run test:installed`, and a step of its own in `.ci/run`.
          exclude: ['.ci/installed.test.ts'],
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
