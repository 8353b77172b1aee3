// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { createRecorder } from '../src/testing/recorder.ts'
