export type {
  Attempt,
  Authenticate,
  AuthRequest,
  FinishEvent,
  GatewayConfig,
  Identity,
  Limits,
  Logger,
  ModelRoute,
  OnLoss,
  Plugin,
  ResponsesConfig,
  Target,
  Units,
} from './config.ts'
export { GatewayError } from './errors.ts'
export type { EstimatedBy } from './estimate.ts'
export type { Tokenizer } from './estimate-tokenizer.ts'
export type { ExplainedRequest, ExplainedTarget, Explanation } from './explain.ts'
export type { Quirks } from './formats/codec.ts'
export type { ErrorInfo, ErrorKind, Format, Loss, Usage } from './formats/ir.ts'
export { createGateway } from './gateway.ts'
export type { Gateway } from './gateway-types.ts'
export type { Inbound, Reply } from './inbound.ts'
export type { Spool } from './operations/multipart/spool.ts'
export type {
  Dial,
  DialRequest,
  RealtimeEnding,
  RealtimeOpening,
  RealtimeSession,
} from './operations/realtime-types.ts'
export type { Match, Operation, Route } from './routes.ts'
export { abortSignalOf, type Canceller, createCanceller, type Signal, type SignalListener } from './signal.ts'
export { type MemoryStoreOptions, memoryResponseStore, type ResponseStore } from './state/store.ts'
export type { Transport, TransportRequest, TransportResponse } from './transport.ts'
export { anthropic } from './upstreams/anthropic.ts'
export { cohere } from './upstreams/cohere.ts'
export { gemini } from './upstreams/gemini.ts'
export { jina } from './upstreams/jina.ts'
export { type OpenAIOptions, openai } from './upstreams/openai.ts'
export { type CompatibleOptions, openaiCompatible } from './upstreams/openai-compatible.ts'
export type { Upstream, UpstreamOptions } from './upstreams/upstream.ts'
export { voyage } from './upstreams/voyage.ts'
