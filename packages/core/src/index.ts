export type { AwsCredentialSource, AwsCredentials } from './aws/sign.ts'
export type {
  Authenticate,
  AuthRequest,
  BreakerConfig,
  Feature,
  GatewayConfig,
  Identity,
  Limits,
  Logger,
  ModelRoute,
  OnLoss,
  RequestTraits,
  ResponsesConfig,
  RetryConfig,
  RoutePlan,
  Strategy,
  Target,
  TargetLimits,
} from './config.ts'
export type { ErrorKind } from './error-kinds.ts'
export { type ErrorDetails, GatewayError, type RetryHints } from './errors.ts'
export type { EstimatedBy } from './estimate.ts'
export type { Tokenizer } from './estimate-tokenizer.ts'
export type { ExplainedRequest, ExplainedTarget, Explanation } from './explain.ts'
export type { Quirks } from './formats/codec.ts'
export type { Effort, ErrorInfo, Format, Json, JsonObject, Loss, UpstreamFormat, Usage } from './formats/ir.ts'
export type { FormatRule, ModelRule, ModelSetting } from './formats/shared/model-rules.ts'
export { createGateway } from './gateway.ts'
export type { ExplainOptions, Gateway } from './gateway-types.ts'
export { type HealthState, memoryHealthState, type Rest, type RestReason } from './health/state.ts'
export type { BodySink, CutBody, Inbound, PulledBody, Reply, WatchedCall } from './inbound.ts'
export type { FetchedMedia, MediaPolicy } from './media.ts'
export type { Spool } from './operations/multipart/spool.ts'
export type { OperationName } from './operations/operation.ts'
export type {
  Dial,
  DialRequest,
  RealtimeEnding,
  RealtimeOpening,
  RealtimeSession,
} from './operations/realtime-types.ts'
export type {
  Admission,
  AdmitCall,
  Allowance,
  Attempt,
  Cost,
  ExpectedUse,
  FinishEvent,
  Left,
  Plugin,
  PluginRoute,
  RequestEvent,
  SkippedTarget,
  Units,
  UpstreamEvent,
  UsageBasis,
} from './plugin.ts'
export type { ReferenceKind } from './references/places.ts'
export type { ReferenceRule, ReferencesConfig } from './references/policy.ts'
export { isNamed as namesModel } from './route-names.ts'
export type { Match, Operation, RequiredHeader, Route } from './routes.ts'
export { abortSignalOf, type Canceller, createCanceller, type Signal, type SignalListener } from './signal.ts'
export { type MemoryStoreOptions, memoryResponseStore, type ResponseStore } from './state/store.ts'
export type { Transport, TransportRequest, TransportResponse } from './transport.ts'
export type { AccessToken, TokenSource } from './upstreams/access-token.ts'
export { anthropic } from './upstreams/anthropic.ts'
export { type AzureOptions, azure } from './upstreams/azure.ts'
export type { AzureApi, AzureFormat } from './upstreams/azure-paths.ts'
export { type AwsOptions, type BedrockOptions, bedrock } from './upstreams/bedrock.ts'
export { type BedrockMantleOptions, bedrockMantle } from './upstreams/bedrock-mantle.ts'
export { cerebras } from './upstreams/cerebras.ts'
export { cohere } from './upstreams/cohere.ts'
export { deepseek } from './upstreams/deepseek.ts'
export { fireworks } from './upstreams/fireworks.ts'
export { gemini } from './upstreams/gemini.ts'
export { groq } from './upstreams/groq.ts'
export { jina } from './upstreams/jina.ts'
export { llamaCpp } from './upstreams/llama-cpp.ts'
export { lmStudio } from './upstreams/lm-studio.ts'
export { mistral } from './upstreams/mistral.ts'
export { ollama } from './upstreams/ollama.ts'
export { type OpenAIOptions, openai } from './upstreams/openai.ts'
export { type CompatibleOptions, openaiCompatible } from './upstreams/openai-compatible.ts'
export { openrouter } from './upstreams/openrouter.ts'
export { perplexity } from './upstreams/perplexity.ts'
export { together } from './upstreams/together.ts'
export type {
  ApiKey,
  BodyEdit,
  HostedCall,
  Hosting,
  OutgoingCall,
  Upstream,
  UpstreamKey,
  UpstreamOptions,
  WeightedKey,
} from './upstreams/upstream.ts'
export type { FormatOptions } from './upstreams/versioned.ts'
export { type VertexOptions, vertex } from './upstreams/vertex.ts'
export type { GoogleCredentials } from './upstreams/vertex-credentials.ts'
export { vllm } from './upstreams/vllm.ts'
export { voyage } from './upstreams/voyage.ts'
export { xai } from './upstreams/xai.ts'
export { toInbound, toResponse } from './web/request.ts'
