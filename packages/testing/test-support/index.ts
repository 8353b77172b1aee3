// Internals that tests and document generators of other packages use. Resolved in this workspace only, never
// published.
export { createRealtimeSession } from '../src/servers/realtime-session.ts'
export { until } from './until.ts'
