import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { RequestEvent } from '../base/events.ts'
import { short } from '../base/truncate.ts'
import { attr } from '../conventions/names.ts'
import { operationOf } from '../conventions/operations.ts'

// An allow-list: only these fields of a request's body are read, and a value of an unexpected type is ignored. So no prompt, no
// tool and no credential can get into a span, whatever a client sends.

type Body = RequestEvent['body']
type Value = Body[string] | undefined
type Read = (value: Value) => AttributeValue | undefined

/** An attribute and its places in the body; the first place with a value counts. */
type Rule = readonly [name: string, read: Read, ...places: readonly (readonly [string, ...string[]])[]]

const number: Read = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)
const integer: Read = (value) => (Number.isInteger(value) ? (value as number) : undefined)
/** One is the default and is not recorded. */
const several: Read = (value) => (value === 1 ? undefined : integer(value))
const text: Read = (value) => (typeof value === 'string' && value !== '' ? short(value) : undefined)
const texts: Read = (value) => {
  const list = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string')
  return list.length === 0 ? undefined : list.slice(0, 16).map((item) => short(item, 64))
}
/** The requested output type, in the conventions' few values. */
const word =
  (words: Readonly<Record<string, string>>): Read =>
  (value) => {
    for (const item of Array.isArray(value) ? value : [value])
      if (typeof item === 'string' && Object.hasOwn(words, item)) return words[item]
    return undefined
  }

const format = word({ json_object: 'json', json_schema: 'json', text: 'text' })
const modality = word({ image: 'image', IMAGE: 'image', audio: 'speech', AUDIO: 'speech' })
const mimeType = word({ 'application/json': 'json', 'text/plain': 'text' })

/** Both spellings of Google's fields, within the object that holds them. */
const config = (camel: string): readonly (readonly [string, string])[] => {
  const snake = camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const holders = ['generationConfig', 'generation_config']
  return holders.flatMap((holder) => [...new Set([camel, snake])].map((field) => [holder, field] as const))
}

const rules: Readonly<Record<string, readonly Rule[]>> = {
  chat: [
    [attr.maxTokens, integer, ['max_completion_tokens'], ['max_tokens']],
    [attr.temperature, number, ['temperature']],
    [attr.topP, number, ['top_p']],
    [attr.topK, number, ['top_k']],
    [attr.stop, texts, ['stop']],
    [attr.seed, integer, ['seed']],
    [attr.frequencyPenalty, number, ['frequency_penalty']],
    [attr.presencePenalty, number, ['presence_penalty']],
    [attr.choices, several, ['n']],
    [attr.outputType, format, ['response_format', 'type']],
    [attr.outputType, modality, ['modalities']],
    [attr.dimensions, integer, ['dimensions']],
    [attr.encodings, texts, ['encoding_format']],
  ],
  messages: [
    [attr.maxTokens, integer, ['max_tokens']],
    [attr.temperature, number, ['temperature']],
    [attr.topP, number, ['top_p']],
    [attr.topK, number, ['top_k']],
    [attr.stop, texts, ['stop_sequences']],
    [attr.outputType, format, ['output_config', 'format', 'type'], ['output_format', 'type']],
  ],
  gemini: [
    [attr.maxTokens, integer, ...config('maxOutputTokens')],
    [attr.temperature, number, ...config('temperature')],
    [attr.topP, number, ...config('topP')],
    [attr.topK, number, ...config('topK')],
    [attr.stop, texts, ...config('stopSequences')],
    [attr.seed, integer, ...config('seed')],
    [attr.frequencyPenalty, number, ...config('frequencyPenalty')],
    [attr.presencePenalty, number, ...config('presencePenalty')],
    [attr.choices, several, ...config('candidateCount')],
    [attr.outputType, mimeType, ...config('responseMimeType')],
    [attr.outputType, modality, ...config('responseModalities')],
    [attr.dimensions, integer, ['outputDimensionality'], ['output_dimensionality']],
  ],
  responses: [
    [attr.maxTokens, integer, ['max_output_tokens']],
    [attr.temperature, number, ['temperature']],
    [attr.topP, number, ['top_p']],
    [attr.outputType, format, ['text', 'format', 'type']],
    [attr.conversation, text, ['conversation', 'id'], ['conversation']],
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
  const { output } = operationOf(event.operation, event.format)
  if (output !== undefined) attributes[attr.outputType] = output
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
