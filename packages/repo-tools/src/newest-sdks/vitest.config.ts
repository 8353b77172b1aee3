// The SDK suites with openai 7 and @google/genai 3 in place of 6 and 2. `npm run newest-sdks` starts them.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const conditions = ['@modelgate/source', 'node']
const { resolve } = createRequire(import.meta.url)

export default defineConfig({
  root: new URL('../../../..', import.meta.url).pathname,
  resolve: {
    conditions,
    alias: [
      { find: /^openai$/, replacement: resolve('openai7').replace(/\.js$/, '.mjs') },
      { find: /^openai\/(.+)$/, replacement: `${dirname(resolve('openai7'))}/$1` },
      { find: /^@google\/genai$/, replacement: join(dirname(resolve('genai3')), 'index.mjs') },
    ],
  },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    name: 'newest SDKs',
    isolate: false,
    retry: process.env.CI === undefined ? 0 : 1,
    reporters: ['default', fileURLToPath(new URL('../vitest/count-reporter.mjs', import.meta.url))],
    include: ['packages/conformance/src/sdks/*.test.ts'],
    // Needs the console's assets, and runs code of SDKs that it installs itself.
    exclude: ['packages/conformance/src/sdks/console-code.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
