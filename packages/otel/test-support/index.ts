// Internals of this package for tests and document generators of other packages. Resolved in this workspace only, never published.
export { createRecorder } from '../src/testing/recorder.ts'
