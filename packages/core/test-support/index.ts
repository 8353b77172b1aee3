// What tests and document generators of other packages use of this one's internals. Resolved in this workspace only, never published.
export { readCredential } from '../src/auth.ts'
export { eventFrame, exceptionFrame, frame, inPieces, textHeader } from '../src/aws/frames.test-support.ts'
export { framesToEvents } from '../src/aws/frames-to-events.ts'
export { concatBytes } from '../src/bytes.ts'
export { defaultLimits } from '../src/check-config.ts'
export { errorKinds, type RetryScope } from '../src/error-kinds.ts'
export {
  type AnswerFeature,
  type AnswerRow,
  type RequestFeature,
  type RequestRow,
  type Verdict,
  verdictWord,
} from '../src/formats/carries.ts'
export type {
  Codec,
  CodecContext,
  ExchangeContext,
  SseEvent,
  TargetTraits,
  UpstreamCodec,
} from '../src/formats/codec.ts'
export { streamedEvents, wholeAnswer } from '../src/formats/converse/answers.test-support.ts'
export { geminiCodec } from '../src/formats/gemini/index.ts'
export { codecOf, codecs, upstreamCodecs } from '../src/formats/index.ts'
export type {
  JsonObject,
  MediaPart,
  ModelEvent,
  ModelRequest,
  ModelResponse,
  Part,
  SettingsChange,
  Tool,
  ToolCallPart,
  Turn,
} from '../src/formats/ir.ts'
export { responsesCodec } from '../src/formats/responses/index.ts'
export { foldEvents } from '../src/formats/shared/fold.test-support.ts'
export type { ModelPlaceList, ModelPlaces } from '../src/formats/shared/model-places.ts'
export { settleChanges } from '../src/formats/shared/settings-changes.ts'
export { wireCodecOf } from '../src/formats/wire.ts'
export { nestsDeeper, scanJson } from '../src/json/scan.ts'
export { spliceJson } from '../src/json/splice.ts'
export type { Lane } from '../src/lanes/lane.ts'
export { translateLane } from '../src/lanes/translate.ts'
export { answerSide, createReport, lossHeader } from '../src/losses.ts'
export { placesOf } from '../src/operations/model-places.ts'
export { readDisposition } from '../src/operations/multipart/disposition.ts'
export { parseForm } from '../src/operations/multipart/parse-form.ts'
export { memorySpool } from '../src/operations/multipart/spool.ts'
export type { OperationName } from '../src/operations/operation.ts'
export { realtimePlaces } from '../src/operations/realtime-places.ts'
export { redactorOf } from '../src/redaction/redactor.ts'
export { type ReferencePlace, type ReferenceScheme, referencePlaces } from '../src/references/places.ts'
export { errorReply } from '../src/reply.ts'
export { retryScope } from '../src/retry.ts'
export { fillStars, namePattern } from '../src/route-names.ts'
export { createMatcher, routes } from '../src/routes.ts'
export { createSseDecoder } from '../src/sse/decode.ts'
export { encodeAllSse } from '../src/sse/encode.ts'
export { retryAfterMs } from '../src/upstream-error.ts'
export { callUrl } from '../src/upstreams/call-url.ts'
export { allBut } from '../src/upstreams/chat-fields.ts'
export { speaks } from '../src/upstreams/formats-for.ts'
export { loadLazyModules } from './load-lazy-modules.ts'
