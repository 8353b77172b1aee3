// `npm run undici8`: tests the transport with undici 8, which needs Node 22.19 or newer.
import { testOnNode22 } from '../base/node22.mjs'

testOnNode22('undici 8', 'packages/repo-tools/src/undici8/vitest.config.ts')
