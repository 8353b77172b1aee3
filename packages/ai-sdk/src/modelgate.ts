import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai'
import type { Gateway } from '@modelgate/core'
import { placeholderKey, withCredential } from './credentials.ts'
import { formatOfModel, type WireFormat } from './formats.ts'
import { encodeModelName } from './model-path.ts'
import { stateless } from './stateless.ts'
import { wrapModel } from './wrap-model.ts'

/** Options of `createModelgate`. */
export interface ModelgateOptions {
  /**
   * Token of the caller, which the gateway's `auth` checks. A function is called for each request, for example to return the token of the
   * current user. `headers: { Authorization: 'Bearer …' }` of a call replaces it. Keys in environment variables are never used. Omit it if
   * the gateway has `auth: 'none'`.
   */
  readonly apiKey?: string | (() => string | undefined | Promise<string | undefined>)
  /**
   * Format of requests to language models, or a function of the model's name. Default: `messages` for names like `claude-*`, `gemini` for
   * names like `gemini-*`, and `responses` for all others. The gateway translates requests for models whose upstream uses another format.
   */
  readonly format?: WireFormat | ((modelId: string) => WireFormat)
  /** `basePath` of the gateway, if it has one. Default: ''. */
  readonly basePath?: string
  /** Headers of each request, such as `modelgate-on-loss`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A provider of AI SDK for all models of a gateway. Its models call those of the SDK's own providers. */
export interface ModelgateProvider {
  /** Returns a language model, as `languageModel` does. */
  (modelId: string): ReturnType<OpenAIProvider['languageModel']>
  /** Version of the SDK's provider specification. */
  readonly specificationVersion: OpenAIProvider['specificationVersion']
  /** Returns a language model for `generateText`, `streamText` and agents. */
  languageModel(modelId: string): ReturnType<OpenAIProvider['languageModel']>
  /** Returns a model for `embed` and `embedMany`. */
  embeddingModel(modelId: string): ReturnType<OpenAIProvider['embeddingModel']>
  /** The earlier name of `embeddingModel`. */
  textEmbeddingModel(modelId: string): ReturnType<OpenAIProvider['embeddingModel']>
  /** Returns a model for `generateImage`. */
  imageModel(modelId: string): ReturnType<OpenAIProvider['imageModel']>
  /** Returns a model for `transcribe`. */
  transcriptionModel(modelId: string): ReturnType<OpenAIProvider['transcription']>
  /** Returns a model for `generateSpeech`. */
  speechModel(modelId: string): ReturnType<OpenAIProvider['speech']>
}

/**
 * Creates a provider for AI SDK whose models call a gateway in this process, without a server or a socket. It uses `@ai-sdk/openai`,
 * `@ai-sdk/anthropic` and `@ai-sdk/google`, so `providerOptions` have the names that these providers document.
 *
 * The gateway does retries and fallback: pass `maxRetries: 0` to the SDK's functions.
 *
 * @throws TypeError for an unknown `format`, or a `basePath` that does not start with a slash or ends with one. The models' functions throw
 *   it for a name that the path of the format `gemini` cannot contain.
 * @example
 * const modelgate = createModelgate(gateway, { apiKey: 'user-1' })
 * const { text } = await generateText({ model: modelgate('claude-opus-5'), prompt: 'Hello' })
 */
export function createModelgate(gateway: Gateway, options: ModelgateOptions = {}): ModelgateProvider {
  const { apiKey, format = formatOfModel, basePath = '', headers = {} } = options
  if (!/^(?:\/.*[^/])?$/.test(basePath))
    throw new TypeError(`Invalid basePath '${basePath}': it must start with a slash and not end with one, like '/ai'.`)

  const origin = `http://gateway${basePath}`
  const settings = { apiKey: placeholderKey, fetch: withCredential(gateway.fetch, apiKey), headers: { ...headers } }
  const openai = createOpenAI({ ...settings, baseURL: `${origin}/v1` })
  const anthropic = createAnthropic({ ...settings, baseURL: `${origin}/v1` })
  const google = createGoogleGenerativeAI({ ...settings, baseURL: `${origin}/v1beta` })

  const languageModels = {
    responses: (modelId) => stateless(openai.responses(modelId)),
    chat: (modelId) => openai.chat(modelId),
    messages: (modelId) => anthropic(modelId),
    gemini: (modelId) => {
      // The SDK writes the name into the path unencoded, and takes a name with a slash for a path below `/v1beta`.
      const path = encodeModelName(modelId)
      return wrapModel(google(path.includes('/') ? `models/${path}` : path), { modelId })
    },
  } satisfies Record<WireFormat, ModelgateProvider['languageModel']>
  const checked = (name: WireFormat): WireFormat => {
    if (Object.hasOwn(languageModels, name)) return name
    throw new TypeError(`Unknown format '${name}': use one of ${Object.keys(languageModels).join(', ')}.`)
  }
  if (typeof format !== 'function') checked(format)

  const languageModel: ModelgateProvider['languageModel'] = (modelId) =>
    languageModels[checked(typeof format === 'function' ? format(modelId) : format)](modelId)
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: openai.specificationVersion,
    languageModel,
    embeddingModel: (modelId: string) => openai.embeddingModel(modelId),
    textEmbeddingModel: (modelId: string) => openai.embeddingModel(modelId),
    imageModel: (modelId: string) => openai.imageModel(modelId),
    transcriptionModel: (modelId: string) => openai.transcription(modelId),
    speechModel: (modelId: string) => openai.speech(modelId),
  })
}
