import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { consoleAssetsForVite } from './packages/console/build/plugins.mjs'
import { isolatedTests } from './packages/repo-tools/src/vitest/isolated-tests.ts'

/** Packages are tested from their sources: this condition in their `exports` names `src/index.ts`. */
// Vitest hands them to node itself: 'import' among them would make require() find ES modules.
const conditions = ['@modelgate/source', 'node']
const shared = {
  plugins: [consoleAssetsForVite()],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
}

/** Files share a few processes and the modules in them: loading the sources took 307 s with a process for each file, 110 s now. */
const withoutIsolation = { isolate: false, setupFiles: ['./packages/repo-tools/src/vitest/check-worker-state.ts'] }

/** Many tests use sockets and child processes on busy machines. The CI run names each test that passed only on its second run. */
const retry = process.env.CI === undefined ? 0 : 1

export default defineConfig({
  test: {
    // One more than processors: many tests wait for sockets, Redis or a browser.
    maxWorkers: availableParallelism() + 1,
    reporters: ['default', './packages/repo-tools/src/vitest/count-reporter.mjs'],
    projects: [
      {
        ...shared,
        test: {
          ...withoutIsolation,
          name: 'unit',
          retry,
          include: ['packages/*/src/**/*.test.ts'],
          exclude: ['packages/{conformance,repo-tools}/**', ...isolatedTests],
          testTimeout: 20_000,
          // The default is 1 second: too short for a browser or Redis on a busy machine.
          expect: { poll: { timeout: 15_000 } },
        },
      },
      {
        ...shared,
        test: {
          ...withoutIsolation,
          name: 'conformance',
          retry,
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
          retry,
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
          retry,
          include: ['packages/repo-tools/src/**/*.test.ts'],
          // Installs all packages from their tarballs four times: `npm run test:installed`, and a step of its own in `.ci/run`.
          // The tests of the built site are `npm run docs:check`, another step.
          exclude: ['packages/repo-tools/src/packed/installed.test.ts', 'packages/repo-tools/src/site/built/**'],
          globalSetup: ['packages/repo-tools/src/vitest/build-packages.mjs'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'examples',
          retry,
          include: ['examples/**/*.test.ts'],
          globalSetup: ['packages/repo-tools/src/vitest/build-packages.mjs'],
          exclude: ['**/node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
