// What the codec benchmark takes from core's inside. Bundled at its start: plain Node reads no TypeScript.
export { codecOf } from '../../core/src/formats/codecs.ts'
export { createReport, responseReport } from '../../core/src/formats/loss-report.ts'
export { createSseDecoder } from '../../core/src/http/sse/decode.ts'
export { encodeAllSse } from '../../core/src/http/sse/event.ts'
