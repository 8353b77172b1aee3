// Internals of core for the codec benchmark. Bundled when it starts, because Node 20 runs no TypeScript.
export { codecOf } from '../../core/src/formats/codecs.ts'
export { createReport } from '../../core/src/formats/loss-report.ts'
export { responseReport } from '../../core/src/formats/shared/response-losses.ts'
export { encodeAllSse } from '../../core/src/http/sse/encode.ts'
export { createSseDecoder } from '../../core/src/http/sse/sse.ts'
