// The tests of everything that stands on undici, with undici 8 in place of 7. `npm run undici8` starts them.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const conditions = ['@modelgate/source', 'node']
const undici8 = createRequire(import.meta.url).resolve('undici8')

export default defineConfig({
  root: new URL('../../../..', import.meta.url).pathname,
  resolve: { conditions, alias: [{ find: /^undici$/, replacement: undici8 }] },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    name: 'undici 8',
    reporters: ['default', fileURLToPath(new URL('../vitest/count-reporter.mjs', import.meta.url))],
    include: ['packages/node/src/{transport,media}/*.test.ts', 'packages/node/src/{end-to-end,gateway,upload}.test.ts'],
    env: { MODELGATE_UNDICI: '8' },
    testTimeout: 20_000,
  },
})
