// Internals of this package for tests and document generators of other packages. Resolved in this workspace only, never published.

export { concatBytes } from '../src/base/bytes.ts'
export { errorKinds, type RetryScope } from '../src/base/error-kinds.ts'
export { spliceJson } from '../src/base/json/edit.ts'
export type { JsonObject } from '../src/base/json/json.ts'
export { nestsDeeper, scanJson } from '../src/base/json/json.ts'
export type { OperationName } from '../src/base/names.ts'
export { errorReply } from '../src/calls/reply.ts'
export { defaultLimits } from '../src/config/limits.ts'
export {
  type RequestFeature,
  type RequestSupport as RequestRow,
  type ResponseFeature as AnswerFeature,
  type ResponseSupport as AnswerRow,
  type Verdict,
  verdictWord,
} from '../src/formats/capabilities.ts'
export type {
  ClientCodec,
  Codec,
  CodecContext,
  ExchangeContext,
  TargetTraits,
  UpstreamCodec,
} from '../src/formats/codec.ts'
export { clientCodecs, codecOf, codecs, upstreamCodecs } from '../src/formats/codecs.ts'
export { streamedEvents, wholeAnswer } from '../src/formats/converse/responses.test-support.ts'
export { geminiCodec } from '../src/formats/gemini/codec.ts'
export type {
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
export { lossHeader } from '../src/formats/loss-header.ts'
export { createReport } from '../src/formats/loss-report.ts'
export { ollamaGenerateCodec } from '../src/formats/ollama/codec.ts'
export {
  type ReferencePlace,
  type ReferenceScheme,
  referenceKinds,
  referencePlaces,
} from '../src/formats/references/places.ts'
export { responsesCodec } from '../src/formats/responses/codec.ts'
export { type RoundTripCodec, roundTripCodecs } from '../src/formats/round-trip.test-support.ts'
export { foldEvents } from '../src/formats/shared/fold.test-support.ts'
export type { ModelPlaceList, ModelPlaces } from '../src/formats/shared/model-places.ts'
export { responseReport as answerSide } from '../src/formats/shared/response-losses.ts'
export { applySettingsChanges as settleChanges } from '../src/formats/shared/settings-changes.ts'
export { readCredential } from '../src/gateway/authenticate.ts'
export { createFrameDecoder as frameDecoder } from '../src/http/frames/frame-decoder.ts'
export { encodeFrame, encodeHeaders } from '../src/http/frames/frame-encoder.ts'
export { eventFrame, exceptionFrame, frame, inPieces, textHeader } from '../src/http/frames/frames.test-support.ts'
export { chunkFrames, namedFrames } from '../src/http/framing/event-frames.ts'
export { memorySpool } from '../src/http/spool.ts'
export { encodeAllSse } from '../src/http/sse/encode.ts'
export type { SseEvent } from '../src/http/sse/sse.ts'
export { createSseDecoder } from '../src/http/sse/sse.ts'
export { translateLane } from '../src/lanes/generation-translation.ts'
export type { Lane } from '../src/lanes/lane.ts'
export { agentFamilies, type Mount, mounts } from '../src/operations/families.ts'
export { createMatcher } from '../src/operations/match-route.ts'
export { placesOf } from '../src/operations/model-operations.ts'
export { parseForm, readDisposition } from '../src/operations/multipart/parse-form.ts'
export { realtimePlaces } from '../src/operations/realtime/messages.ts'
export { routes } from '../src/operations/routes.ts'
export { defaultBreaker } from '../src/routing/health/circuit-breaker.ts'
export { fillStars, namePattern } from '../src/routing/model-patterns.ts'
export { defaultRetry, retryScope } from '../src/routing/retry-policy.ts'
export { framesToEvents } from '../src/upstreams/aws/bedrock-events.ts'
export { allFieldsExcept } from '../src/upstreams/chat-fields.ts'
export { callUrl, speaks } from '../src/upstreams/outgoing-call.ts'
export { redactorOf } from '../src/upstreams/redaction/redactor.ts'
export { retryAfterMs } from '../src/upstreams/upstream-error.ts'
export { loadLazyModules } from './load-lazy-modules.ts'
