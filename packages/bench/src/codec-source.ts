// What the codec benchmark takes from core's inside. Bundled at its start: plain Node reads no TypeScript.
export { codecOf } from '../../core/src/formats/index.ts'
export { answerSide, createReport } from '../../core/src/losses.ts'
export { createSseDecoder } from '../../core/src/sse/decode.ts'
export { encodeAllSse } from '../../core/src/sse/encode.ts'
