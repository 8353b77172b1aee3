// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { createRealtimeMachine } from '../src/servers/realtime-session.ts'
export { until } from './until.ts'
