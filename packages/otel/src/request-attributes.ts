import type { Attributes, AttributeValue } from '@opentelemetry/api'
import { attributeNames, operationConvention } from './conventions.ts'
import type { FinishEvent, RequestEvent } from './events.ts'

// An allow-list: only these fields of a request's body are read, and a value of an unexpected type is ignored. So no prompt, no
// tool and no credential can get into a span, whatever a client sends.

type Body = RequestEvent['body']
type Value = Body[string] | undefined
type AttributeReader = (value: Value) => AttributeValue | undefined

/** An attribute and its places in the body; the first place with a value counts. */
type Rule = readonly [name: string, read: AttributeReader, ...places: readonly (readonly [string, ...string[]])[]]

const number: AttributeReader = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)
const integer: AttributeReader = (value) => (Number.isInteger(value) ? (value as number) : undefined)
/** One is the default and is not recorded. */
const integerAboveOne: AttributeReader = (value) => (value === 1 ? undefined : integer(value))
const text: AttributeReader = (value) => (typeof value === 'string' && value !== '' ? truncate(value) : undefined)
const texts: AttributeReader = (value) => {
  const list = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string')
  return list.length === 0 ? undefined : list.slice(0, 16).map((item) => truncate(item, 64))
}
/** The requested output type, in the conventions' few values. */
const oneOf =
  (words: Readonly<Record<string, string>>): AttributeReader =>
  (value) => {
    for (const item of Array.isArray(value) ? value : [value])
      if (typeof item === 'string' && Object.hasOwn(words, item)) return words[item]
    return undefined
  }

const format = oneOf({ json_object: 'json', json_schema: 'json', text: 'text' })
const modality = oneOf({ image: 'image', IMAGE: 'image', audio: 'speech', AUDIO: 'speech' })
const mimeType = oneOf({ 'application/json': 'json', 'text/plain': 'text' })

/** Both spellings of Google's fields, within the object that holds them. */
const generationConfigPaths = (camel: string): readonly (readonly [string, string])[] => {
  const snake = camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const holders = ['generationConfig', 'generation_config']
  return holders.flatMap((holder) => [...new Set([camel, snake])].map((field) => [holder, field] as const))
}

const rules: Readonly<Record<string, readonly Rule[]>> = {
  chat: [
    [attributeNames.maxTokens, integer, ['max_completion_tokens'], ['max_tokens']],
    [attributeNames.temperature, number, ['temperature']],
    [attributeNames.topP, number, ['top_p']],
    [attributeNames.topK, number, ['top_k']],
    [attributeNames.stop, texts, ['stop']],
    [attributeNames.seed, integer, ['seed']],
    [attributeNames.frequencyPenalty, number, ['frequency_penalty']],
    [attributeNames.presencePenalty, number, ['presence_penalty']],
    [attributeNames.choices, integerAboveOne, ['n']],
    [attributeNames.outputType, format, ['response_format', 'type']],
    [attributeNames.outputType, modality, ['modalities']],
    [attributeNames.dimensions, integer, ['dimensions']],
    [attributeNames.encodings, texts, ['encoding_format']],
  ],
  messages: [
    [attributeNames.maxTokens, integer, ['max_tokens']],
    [attributeNames.temperature, number, ['temperature']],
    [attributeNames.topP, number, ['top_p']],
    [attributeNames.topK, number, ['top_k']],
    [attributeNames.stop, texts, ['stop_sequences']],
    [attributeNames.outputType, format, ['output_config', 'format', 'type'], ['output_format', 'type']],
  ],
  gemini: [
    [attributeNames.maxTokens, integer, ...generationConfigPaths('maxOutputTokens')],
    [attributeNames.temperature, number, ...generationConfigPaths('temperature')],
    [attributeNames.topP, number, ...generationConfigPaths('topP')],
    [attributeNames.topK, number, ...generationConfigPaths('topK')],
    [attributeNames.stop, texts, ...generationConfigPaths('stopSequences')],
    [attributeNames.seed, integer, ...generationConfigPaths('seed')],
    [attributeNames.frequencyPenalty, number, ...generationConfigPaths('frequencyPenalty')],
    [attributeNames.presencePenalty, number, ...generationConfigPaths('presencePenalty')],
    [attributeNames.choices, integerAboveOne, ...generationConfigPaths('candidateCount')],
    [attributeNames.outputType, mimeType, ...generationConfigPaths('responseMimeType')],
    [attributeNames.outputType, modality, ...generationConfigPaths('responseModalities')],
    [attributeNames.dimensions, integer, ['outputDimensionality'], ['output_dimensionality']],
  ],
  responses: [
    [attributeNames.maxTokens, integer, ['max_output_tokens']],
    [attributeNames.temperature, number, ['temperature']],
    [attributeNames.topP, number, ['top_p']],
    [attributeNames.outputType, format, ['text', 'format', 'type']],
    [attributeNames.conversation, text, ['conversation', 'id'], ['conversation']],
  ],
}

/** Returns the request attributes of the conventions, with the client's own values. */
export function requestAttributes(event: Pick<RequestEvent, 'operation' | 'format' | 'body'>): Attributes {
  const attributes: Attributes = {}
  for (const [name, read, ...places] of rules[event.format] ?? [])
    for (const place of places) {
      const value = read(valueAt(event.body, place))
      if (value === undefined) continue
      attributes[name] = value
      break
    }
  const { output } = operationConvention(event.operation, event.format)
  if (output !== undefined) attributes[attributeNames.outputType] = output
  return attributes
}

function valueAt(body: Body, place: readonly string[]): Value {
  let value: Value = body
  for (const step of place) {
    if (value === null || typeof value !== 'object' || Array.isArray(value) || !Object.hasOwn(value, step))
      return undefined
    value = value[step]
  }
  return value
}

/** Additional attributes that the conventions define for one provider only. */
interface ProviderAttributes {
  ofRequest(body: RequestEvent['body']): Attributes
  /**
   * Returns the attributes of the provider's response.
   *
   * @param format the format used with the provider
   */
  ofResponse(format: FinishEvent['upstreamFormat']): Attributes
}

const apiTypes: Readonly<Record<string, string>> = { chat: 'chat_completions', responses: 'responses' }

const providers: Readonly<Record<string, ProviderAttributes>> = {
  openai: {
    ofRequest({ service_tier: tier }) {
      // Only a plain identifier is recorded: a client can put any text here.
      const isTier = typeof tier === 'string' && tier !== 'auto' && /^[a-z_]{1,32}$/.test(tier)
      return isTier ? { 'openai.request.service_tier': tier } : {}
    },
    ofResponse(format) {
      const type = format === undefined ? undefined : apiTypes[format]
      return type === undefined ? {} : { 'openai.api.type': type }
    },
  },
}

export const providerRequestAttributes = (provider: string, body: RequestEvent['body']): Attributes =>
  Object.hasOwn(providers, provider) ? (providers[provider]?.ofRequest(body) ?? {}) : {}

export const providerResponseAttributes = (provider: string, format: FinishEvent['upstreamFormat']): Attributes =>
  Object.hasOwn(providers, provider) ? (providers[provider]?.ofResponse(format) ?? {}) : {}

/** Cuts a text that a client can make as long as it likes. */
export const truncate = (text: string, chars = 256): string =>
  text.length > chars ? `${text.slice(0, chars - 1)}…` : text
