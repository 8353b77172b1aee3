// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { buildRequest } from '../src/ui/playground/formats/build-request.ts'
export type { ApiRequest, Settings, Turn } from '../src/ui/playground/formats/format.ts'
export { formats } from '../src/ui/playground/formats/index.ts'
export { snippetsOf } from '../src/ui/playground/inspect/snippets.ts'
