// Names from the OpenTelemetry semantic conventions for generative AI 1.41, the last published version. (Its successor lives in
// its own repository, has no release yet, and still renames things.) They are kept here as text because the package with these
// constants marks all of them as removed from its later versions.

export const schemaUrl = 'https://opentelemetry.io/schemas/1.41.1'

export const attributeNames = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  outputType: 'gen_ai.output.type',
  requestModel: 'gen_ai.request.model',
  stream: 'gen_ai.request.stream',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  stop: 'gen_ai.request.stop_sequences',
  seed: 'gen_ai.request.seed',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
  choices: 'gen_ai.request.choice.count',
  encodings: 'gen_ai.request.encoding_formats',
  dimensions: 'gen_ai.embeddings.dimension.count',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreation: 'gen_ai.usage.cache_creation.input_tokens',
  reasoning: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  errorType: 'error.type',
  status: 'http.response.status_code',
} as const

/** Names for everything the conventions do not cover. Durations are in seconds, as in the conventions. */
export const modelgateNames = {
  requestId: 'modelgate.request.id',
  operation: 'modelgate.operation',
  clientFormat: 'modelgate.client.format',
  outcome: 'modelgate.outcome',
  lane: 'modelgate.lane',
  attempts: 'modelgate.attempt.count',
  losses: 'modelgate.loss.count',
  notes: 'modelgate.note.count',
  lossKinds: 'modelgate.loss.kinds',
  lossKind: 'modelgate.loss.kind',
  lossSeverity: 'modelgate.loss.severity',
  lossSide: 'modelgate.loss.side',
  upstream: 'modelgate.upstream.name',
  upstreamModel: 'modelgate.upstream.model',
  upstreamFormat: 'modelgate.upstream.format',
  upstreamRequestId: 'modelgate.upstream.request_id',
  attempt: 'modelgate.attempt.number',
  reason: 'modelgate.attempt.reason',
  key: 'modelgate.attempt.key',
  basis: 'modelgate.usage.basis',
  wait: 'modelgate.attempt.wait',
  latency: 'modelgate.attempt.latency',
} as const

export const metricNames = {
  duration: 'gen_ai.client.operation.duration',
  tokens: 'gen_ai.client.token.usage',
  firstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  callDuration: 'modelgate.call.duration',
  callFirstEvent: 'modelgate.call.time_to_first_event',
  attempts: 'modelgate.attempts',
  losses: 'modelgate.losses',
} as const

/** Powers of two from 10 ms, as the conventions advise. */
export const secondBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** Calls with retries and whole streams take longer than the conventions' buckets reach. */
export const callBuckets = [...secondBuckets, 163.84, 327.68, 655.36]
/** Powers of four, as the conventions advise. */
export const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power)

/** Name of an operation in the conventions, and its output type where the request cannot change it. */
interface OperationConvention {
  readonly name: string
  readonly output?: 'text' | 'image' | 'speech'
}

/** The gateway's operations. An operation unknown to the conventions keeps the gateway's name, written in their style. */
const operations: Readonly<Record<string, OperationConvention>> = {
  completions: { name: 'text_completion' },
  embeddings: { name: 'embeddings' },
  images: { name: 'generate_content', output: 'image' },
  'image-edits': { name: 'generate_content', output: 'image' },
  'image-variations': { name: 'generate_content', output: 'image' },
  speech: { name: 'generate_content', output: 'speech' },
  transcriptions: { name: 'generate_content', output: 'text' },
  translations: { name: 'generate_content', output: 'text' },
}

/** Chat generation is named after the client's format. */
const generation: Readonly<Record<string, OperationConvention>> = {
  gemini: { name: 'generate_content' },
}

export function operationConvention(operation: string, format: string): OperationConvention {
  if (operation === 'generate') return generation[format] ?? { name: 'chat' }
  return operations[operation] ?? { name: operation.replaceAll('-', '_') }
}

/** The conventions' well-known values of `gen_ai.provider.name`. */
const wellKnownProviders: ReadonlySet<string> = new Set([
  'anthropic',
  'aws.bedrock',
  'azure.ai.inference',
  'azure.ai.openai',
  'cohere',
  'deepseek',
  'gcp.gemini',
  'gcp.gen_ai',
  'gcp.vertex_ai',
  'groq',
  'ibm.watsonx.ai',
  'mistral_ai',
  'openai',
  'perplexity',
  'x_ai',
])

/** Common upstream names of providers whose well-known value is spelled otherwise. */
const commonUpstreamNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  claude: 'anthropic',
  gemini: 'gcp.gemini',
  google: 'gcp.gen_ai',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
}

/**
 * Creates a function that returns the provider of an upstream: the configured one, else the one its name implies, else the name itself.
 * The format does not identify a provider: most providers use another provider's format.
 */
export function createProviderLookup(given: Readonly<Record<string, string>> = {}): (upstream: string) => string {
  return (upstream) => {
    if (Object.hasOwn(given, upstream)) return given[upstream] ?? upstream
    const name = upstream.toLowerCase()
    if (wellKnownProviders.has(name)) return name
    return Object.hasOwn(commonUpstreamNames, name) ? (commonUpstreamNames[name] ?? upstream) : upstream
  }
}
