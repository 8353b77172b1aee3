// Internals of core for the codec benchmark. Bundled when it starts, because Node 20 runs no TypeScript.
export { codecOf } from '../../core/src/formats/codecs.ts'
export { createReport, responseReport } from '../../core/src/formats/loss-report.ts'
export { createSseDecoder } from '../../core/src/http/sse/decode.ts'
export { encodeAllSse } from '../../core/src/http/sse/event.ts'
