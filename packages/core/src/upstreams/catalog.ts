import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock, bedrockMantle } from './bedrock.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { deepseek } from './deepseek.ts'
import { fireworks } from './fireworks.ts'
import { gemini } from './gemini.ts'
import { groq } from './groq.ts'
import { jina } from './jina.ts'
import { llamaCpp, lmStudio, ollama, vllm } from './local-servers.ts'
import { mistral } from './mistral.ts'
import { openai } from './openai.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { together } from './together.ts'
import type { Upstream } from './upstream.ts'
import { vertex } from './vertex.ts'
import { voyage } from './voyage.ts'
import { xai } from './xai.ts'

/** Type of a factory's option in a JSON file. A list accepts one of its words; `someOf` accepts a list of some of its words. */
export type ProviderOptionType =
  | 'text'
  | 'texts'
  | 'flag'
  | 'object'
  | readonly string[]
  | { readonly someOf: readonly string[] }

/** Environment variables that configure a provider, and the models that a gateway then serves. */
export interface ProviderEnvironment {
  /** Variables of the API key. The first one that is set is used. */
  readonly apiKey: readonly [string, ...string[]]
  /** Variable of the base URL, in place of the provider's own. */
  readonly baseURL: string
  /** Other options that the provider requires, with their variables. The first one that is set is used. */
  readonly required?: Readonly<Record<string, readonly [string, ...string[]]>>
  /** Model names that clients use without a prefix. Model lists show those without a `*`. */
  readonly models?: readonly string[]
  /** Model that model lists show as `provider/model`. */
  readonly exampleModel?: string
  /** Pattern of all model names that no other provider serves. */
  readonly otherModels?: string
}

/** One provider of the catalog. */
export interface ProviderEntry {
  /** The provider's name in its own spelling. */
  readonly title: string
  /** URL of its API documentation. */
  readonly documentation: string
  /** Creates the upstream. Accepts the options of the factory that the core package exports under the entry's name. */
  readonly create: (options: never) => Upstream
  /** Options in addition to `apiKey`, `baseURL`, `headers` and `modelRules`, which every factory has, with their types. */
  readonly options?: Readonly<Record<string, ProviderOptionType>>
  /** Names of the required options. */
  readonly required?: readonly string[]
  /** Options for an example, for factories with required options. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Environment variables of the provider. Absent: it cannot be configured by environment variables alone. */
  readonly environment?: ProviderEnvironment
}

const formats = (...someOf: readonly string[]) => ({ formats: { someOf } })

/** Returns the environment variables of most providers: `GROQ_API_KEY`, `GROQ_BASE_URL`. */
const environment = (
  prefix: string,
  models: Pick<ProviderEnvironment, 'models' | 'exampleModel' | 'otherModels'>,
  ...otherKeys: readonly string[]
): { environment: ProviderEnvironment } => ({
  environment: { apiKey: [`${prefix}_API_KEY`, ...otherKeys], baseURL: `${prefix}_BASE_URL`, ...models },
})

/** Infers the union of names from the keys and gives all entries one type. */
const defineCatalog = <Name extends string>(
  entries: Readonly<Record<Name, ProviderEntry>>,
): Readonly<Record<Name, ProviderEntry>> => entries

/**
 * All providers, by the name of their factory. The CLI configures them from JSON and environment variables, and docs/reference/upstreams.md lists
 * them. A gateway that is configured in code does not load this module.
 */
export const providerCatalog = defineCatalog({
  openai: {
    title: 'OpenAI',
    documentation: 'https://platform.openai.com/docs/api-reference',
    create: openai,
    options: { ...formats('chat', 'responses'), webSocket: 'flag' },
    ...environment('OPENAI', { models: ['gpt-5', 'gpt-*', 'chatgpt-*', 'codex-*', 'o1*', 'o3*', 'o4*'] }),
  },
  anthropic: {
    title: 'Anthropic',
    documentation: 'https://docs.anthropic.com/en/api',
    create: anthropic,
    ...environment('ANTHROPIC', { models: ['claude-opus-5', 'claude-*'] }),
  },
  gemini: {
    title: 'Google Gemini API',
    documentation: 'https://ai.google.dev/api',
    create: gemini,
    ...environment('GEMINI', { models: ['gemini-3-flash', 'gemini-*'] }, 'GOOGLE_API_KEY'),
  },
  mistral: {
    title: 'Mistral',
    documentation: 'https://docs.mistral.ai/api',
    create: mistral,
    ...environment('MISTRAL', {
      models: ['mistral-large-latest', 'mistral-*', 'ministral-*', 'codestral-*', 'magistral-*'],
    }),
  },
  deepseek: {
    title: 'DeepSeek',
    documentation: 'https://api-docs.deepseek.com',
    create: deepseek,
    ...environment('DEEPSEEK', { models: ['deepseek-chat', 'deepseek-*'] }),
  },
  xai: {
    title: 'xAI',
    documentation: 'https://docs.x.ai/docs/api-reference',
    create: xai,
    options: { ...formats('responses', 'chat'), webSocket: 'flag' },
    ...environment('XAI', { models: ['grok-4', 'grok-*'] }),
  },
  cohere: {
    title: 'Cohere',
    documentation: 'https://docs.cohere.com/reference/about',
    create: cohere,
    ...environment(
      'COHERE',
      { models: ['command-a-03-2025', 'command-*', 'embed-v4.0', 'embed-*', 'rerank-v3.5', 'rerank-*'] },
      'CO_API_KEY',
    ),
  },
  perplexity: {
    title: 'Perplexity',
    documentation: 'https://docs.perplexity.ai/api-reference',
    create: perplexity,
    ...environment('PERPLEXITY', { models: ['sonar', 'sonar-*'] }),
  },
  voyage: {
    title: 'Voyage AI',
    documentation: 'https://docs.voyageai.com/reference',
    create: voyage,
    ...environment('VOYAGE', { models: ['voyage-3.5', 'voyage-*'] }),
  },
  jina: {
    title: 'Jina AI',
    documentation: 'https://api.jina.ai/redoc',
    create: jina,
    ...environment('JINA', { models: ['jina-embeddings-v3', 'jina-*'] }),
  },
  groq: {
    title: 'Groq',
    documentation: 'https://console.groq.com/docs/api-reference',
    create: groq,
    options: formats('chat', 'responses'),
    ...environment('GROQ', { exampleModel: 'openai/gpt-oss-120b' }),
  },
  cerebras: {
    title: 'Cerebras',
    documentation: 'https://inference-docs.cerebras.ai/api-reference',
    create: cerebras,
    ...environment('CEREBRAS', { exampleModel: 'gpt-oss-120b' }),
  },
  together: {
    title: 'Together',
    documentation: 'https://docs.together.ai/reference',
    create: together,
    options: formats('chat', 'messages'),
    ...environment('TOGETHER', { exampleModel: 'openai/gpt-oss-120b' }),
  },
  fireworks: {
    title: 'Fireworks',
    documentation: 'https://docs.fireworks.ai/api-reference/introduction',
    create: fireworks,
    options: formats('chat', 'responses', 'messages'),
    ...environment('FIREWORKS', { exampleModel: 'accounts/fireworks/models/gpt-oss-120b' }),
  },
  azure: {
    title: 'Azure OpenAI and Azure AI Foundry',
    documentation: 'https://learn.microsoft.com/azure/ai-foundry/openai/reference',
    create: azure,
    options: {
      resource: 'text',
      api: ['v1', 'deployments', 'inference'],
      apiVersion: 'text',
      ...formats('chat', 'responses', 'messages'),
      webSocket: 'flag',
    },
    example: { resource: 'resource', apiKey: 'key', formats: ['chat', 'responses', 'messages'] },
    environment: {
      apiKey: ['AZURE_OPENAI_API_KEY'],
      baseURL: 'AZURE_OPENAI_ENDPOINT',
      required: { baseURL: ['AZURE_OPENAI_ENDPOINT'] },
    },
  },
  vertex: {
    title: 'Google Vertex AI',
    documentation: 'https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest',
    create: vertex,
    options: {
      project: 'text',
      location: 'text',
      keyFile: 'text',
      credentials: 'object',
      apiVersion: ['v1', 'v1beta1'],
    },
    example: { project: 'project', token: () => 'token' },
  },
  bedrock: {
    title: 'Amazon Bedrock',
    documentation: 'https://docs.aws.amazon.com/bedrock/latest/APIReference',
    create: bedrock,
    required: ['region'],
    options: { region: 'text', credentials: 'object', ...formats('messages', 'converse'), betas: 'texts' },
    example: { region: 'region' },
    environment: {
      apiKey: ['AWS_BEARER_TOKEN_BEDROCK'],
      baseURL: 'BEDROCK_BASE_URL',
      required: { region: ['AWS_REGION', 'AWS_DEFAULT_REGION'] },
    },
  },
  bedrockMantle: {
    title: 'Amazon Bedrock, OpenAI-compatible',
    documentation: 'https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html',
    create: bedrockMantle,
    required: ['region'],
    options: { region: 'text', credentials: 'object', surface: ['v1', 'openai'] },
    example: { region: 'region' },
  },
  openrouter: {
    title: 'OpenRouter',
    documentation: 'https://openrouter.ai/docs/api-reference/overview',
    create: openrouter,
    options: formats('chat', 'messages', 'responses'),
    // OpenRouter names every model `vendor/model`.
    ...environment('OPENROUTER', { exampleModel: 'openrouter/auto', otherModels: '*/*' }),
  },
  ollama: {
    title: 'Ollama',
    documentation: 'https://docs.ollama.com/api',
    create: ollama,
    options: formats('chat', 'messages', 'responses'),
  },
  vllm: {
    title: 'vLLM',
    documentation: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server',
    create: vllm,
    options: formats('chat', 'responses', 'messages'),
  },
  llamaCpp: {
    title: 'llama.cpp',
    documentation: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    create: llamaCpp,
    options: formats('chat', 'messages', 'responses'),
  },
  lmStudio: {
    title: 'LM Studio',
    documentation: 'https://lmstudio.ai/docs/developer',
    create: lmStudio,
    options: formats('chat', 'responses', 'messages'),
  },
  openaiCompatible: {
    title: 'Any other compatible server',
    documentation: 'https://platform.openai.com/docs/api-reference',
    create: openaiCompatible,
    required: ['baseURL'],
    options: {
      ...formats('chat', 'messages', 'responses'),
      countTokens: { someOf: ['messages', 'responses'] },
      operations: {
        someOf: [
          'completions',
          'embeddings',
          'moderations',
          'rerank',
          'images',
          'image-edits',
          'image-variations',
          'transcriptions',
          'translations',
          'speech',
        ],
      },
      webSocket: 'flag',
      realtime: 'flag',
      compaction: { someOf: ['path', 'trigger'] },
    },
    example: { baseURL: 'https://the-server/v1' },
  },
})

/** Name of a provider in the catalog, which is also the name of its factory. */
export type ProviderName = keyof typeof providerCatalog

/** Creates a provider's upstream with the options of its example, or with its defaults. */
export const createExample = ({ create, example = {} }: ProviderEntry): Upstream =>
  (create as (options: object) => Upstream)(example)
