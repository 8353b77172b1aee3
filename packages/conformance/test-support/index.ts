// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { type Format, formats } from '../src/fixtures.ts'
export { upstreamKey, upstreamOf } from '../src/gateways.ts'
export { install } from '../src/runtimes/install.ts'
export { pins } from '../src/runtimes/pins.ts'
export { formatNames, formats as formatTitles } from '../src/score/check.ts'
export { checks } from '../src/score/checks.ts'
export { anthropicClient, openaiClient } from '../src/sdk.ts'
