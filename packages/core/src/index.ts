export { abortSignalOf, type Canceller, createCanceller, type Signal, type SignalListener } from './base/async.ts'
export type { ErrorKind } from './base/error-kinds.ts'
export {
  type Allowance,
  type ContextSize,
  type ErrorDetails,
  type ErrorInfo,
  GatewayError,
  type QuotaState,
  type RetryHints,
} from './base/errors.ts'
export type { Json, JsonObject } from './base/json/json.ts'
export type { Format, ObjectOperation, Operation, OperationName, SharedFormat, UpstreamFormat } from './base/names.ts'
export type { Admission, AdmitCall, CallerBudget, ExpectedUse } from './config/admission.ts'
export type { BodyLimits, CallBodies, CapturedAttempt, CapturedBody, CapturedBodyKind } from './config/call-bodies.ts'
export type {
  Authenticate,
  AuthRequest,
  BreakerConfig,
  CompactionConfig,
  Feature,
  GatewayConfig,
  HoldUntil,
  Logger,
  ModelCardsConfig,
  ModelRoute,
  ObjectsConfig,
  RequestTraits,
  ResponsesConfig,
  RetryConfig,
  RoutePlan,
  Strategy,
  Target,
  TargetCondition,
  Tokenizer,
} from './config/config.ts'
export type { ExplainedRequest, ExplainedTarget, Explanation } from './config/explanation.ts'
export type {
  Attempt,
  Cost,
  EstimatedBy,
  FailureCause,
  FinishEvent,
  SkippedTarget,
  UsageBasis,
} from './config/finish-event.ts'
export type { Identity, OnLoss } from './config/identity.ts'
export type { Limits, TargetLimits } from './config/limits.ts'
export { toLogger } from './config/logger.ts'
export type { FetchedMedia, MediaPolicy } from './config/media-policy.ts'
export type {
  CallRejected,
  CircuitChanged,
  CooldownStarted,
  DrainStarted,
  GatewayNotice,
  Reconfigured,
} from './config/notices.ts'
export type {
  GatewayStatus,
  Plugin,
  PluginHost,
  PluginRoute,
  RequestEvent,
  UpstreamEvent,
  UpstreamStatus,
} from './config/plugin.ts'
export type {
  ClientMessage,
  PendingSession,
  RealtimeAcceptance,
  RealtimeClosing,
  RealtimeConnection,
  RealtimeCut,
  RealtimeEnding,
  RealtimeOpening,
  RealtimeSession,
  RealtimeTransport,
  RealtimeTransportRequest,
} from './config/realtime.ts'
export type { ReferenceRule, ReferencesConfig } from './config/references.ts'
export type {
  ClientSocket,
  ResponsesSocket,
  ResponsesSocketOpening,
  UpstreamDial,
  UpstreamSocket,
  UpstreamSocketRequest,
} from './config/responses-socket.ts'
export type { Cooldown, CooldownReason, HealthState, ResponseStore } from './config/stores.ts'
export type { AdaptationName } from './formats/adaptations/adaptations.ts'
export type { HostedBody } from './formats/codec.ts'
export type { BillableUnits, Billed, Effort, Loss, ModelRun, Usage } from './formats/ir.ts'
export type {
  Modality,
  ModelCapabilities,
  ModelCard,
  ModelCardPrices,
  ModelCardRow,
  ModelCardTable,
  ModelDescription,
  ModelModalities,
  ModelPrice,
} from './formats/model-card.ts'
export type { ReferenceKind } from './formats/references/places.ts'
export type { FormatRule, ModelRule, ModelSetting, Quirks } from './formats/target-traits.ts'
export { createGateway } from './gateway/create-gateway.ts'
export type { ExplainOptions, Gateway } from './gateway/gateway.ts'
export type { FramingName } from './http/framing/framing.ts'
export type { BodySink, CutBody, Inbound, PulledBody, PulledResult, Reply, WatchedCall } from './http/inbound.ts'
export type { Spool } from './http/spool.ts'
export type { Transport, TransportRequest, TransportResponse } from './http/transport.ts'
export { toInbound, toResponse } from './http/web-request.ts'
export { type MemoryStoreOptions, memoryResponseStore } from './operations/responses/store.ts'
export type { RequiredHeader, Route, RouteMatch } from './operations/route.ts'
export { memoryHealthState } from './routing/health/cooldowns.ts'
export { matchesModel } from './routing/model-patterns.ts'
export type { AccessToken, TokenSource } from './upstreams/access-token.ts'
export { anthropic } from './upstreams/anthropic.ts'
export type { AwsCredentialSource, AwsCredentials } from './upstreams/aws/sign.ts'
export { type AzureApi, type AzureFormat, type AzureOptions, azure } from './upstreams/azure.ts'
export {
  type AwsOptions,
  type BedrockMantleOptions,
  type BedrockOptions,
  bedrock,
  bedrockMantle,
} from './upstreams/bedrock.ts'
export { cerebras } from './upstreams/cerebras.ts'
export { cohere } from './upstreams/cohere.ts'
export { deepseek } from './upstreams/deepseek.ts'
export { fireworks } from './upstreams/fireworks.ts'
export { gemini } from './upstreams/gemini.ts'
export type { GoogleCredentials } from './upstreams/google-account.ts'
export { groq } from './upstreams/groq.ts'
export { jina } from './upstreams/jina.ts'
export { llamaCpp, lmStudio, ollama, vllm } from './upstreams/local-servers.ts'
export { mistral } from './upstreams/mistral.ts'
export { type OpenAIOptions, openai } from './upstreams/openai.ts'
export {
  type CompactionWay,
  type CompatibleOptions,
  type FormatOptions,
  openaiCompatible,
} from './upstreams/openai-compatible.ts'
export { openrouter } from './upstreams/openrouter.ts'
export { perplexity } from './upstreams/perplexity.ts'
export { together } from './upstreams/together.ts'
export type {
  ApiKey,
  BodyEdit,
  HostedCall,
  Hosting,
  ObjectKind,
  OutgoingCall,
  Upstream,
  UpstreamKey,
  UpstreamOptions,
  WeightedKey,
} from './upstreams/upstream.ts'
export { type VertexOptions, vertex } from './upstreams/vertex.ts'
export { voyage } from './upstreams/voyage.ts'
export { type XaiOptions, xai } from './upstreams/xai.ts'
