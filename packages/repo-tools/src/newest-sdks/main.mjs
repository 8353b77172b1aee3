// `npm run newest-sdks`: runs the SDK suites with the newest major versions of the SDKs that need Node 22. `npm test` runs them with the
// versions that support Node 20.
import { testOnNode22 } from '../base/node22.mjs'

testOnNode22('newest SDKs', 'packages/repo-tools/src/newest-sdks/vitest.config.ts')
