// Internals that tests and document generators of other packages use. Resolved in this workspace only, never
// published.

export { upstreamKey, upstreamOf } from '../src/base/gateways.ts'
export { type Format, formats } from '../src/base/recorded-traffic.ts'
export { anthropicClient, openaiClient } from '../src/base/sdk-clients.ts'
export { install } from '../src/runtimes/install.ts'
export { pins } from '../src/runtimes/pins.ts'
export { formatNames, formats as formatTitles } from '../src/score/check.ts'
export { checks } from '../src/score/checks.ts'
export { allFamilies } from '../src/sdks/families/all.ts'
