import { createHash } from 'node:crypto'
import { codecOf, type MediaPart, type ModelRequest, type Part, type Tool } from '@modelgate/core/test-support'
import { parsedInput } from '../base/content/content.ts'
import { isObject, type Json, type JsonObject, listOf, objectOf } from '../base/json.ts'
import type { Exchange } from '../base/recorded-traffic.ts'
import { requestOf } from '../recordings/checks.ts'
import { createContext } from './support.ts'

/** Content of a recorded conversation, independent of the format: it must be the same in every format. */
export interface ConversationContent {
  /** Instructions in any role. */
  readonly system: string
  /** Texts and media of the user, in order. */
  readonly userTexts: readonly string[]
  /** Results of tools, in order. */
  readonly results: readonly string[]
  readonly tools: readonly Json[]
  readonly choice: Json
  readonly output: Json
  readonly sampling: Json
  readonly stream: boolean
}
export type Facet = keyof ConversationContent
export const facets: readonly Facet[] = [
  'system',
  'userTexts',
  'results',
  'tools',
  'choice',
  'output',
  'sampling',
  'stream',
]

/** Returns the request of an exchange in the IR; undefined if the recording has none. */
export function decodedRequest(exchange: Exchange): ModelRequest | undefined {
  const body = requestOf(exchange)
  if (body === undefined) return undefined
  const { format, model = 'recorded', stream } = exchange
  const codec = codecOf(format)
  const inPath = codec.modelInPath === undefined ? {} : { model, stream }
  return codec.decodeRequest(structuredClone({ ...body, ...inPath }), createContext())
}

export function spokenIn(request: ModelRequest): ConversationContent {
  const user = request.turns.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts)
  const system = request.turns.filter(({ role }) => role === 'system' || role === 'developer')
  const { tools, output = {}, sampling = {} } = request
  // Messages requires a token limit, which libraries invent there. One choice and full sampling are the defaults.
  const { maxTokens: _maxTokens, choices, topP, ...bounds } = sampling
  return {
    system: system
      .flatMap(({ parts }) => parts.map(describePart))
      .join('\n')
      .trim(),
    userTexts: user.filter(({ type }) => type !== 'tool-result').map((part) => withoutIds(describePart(part))),
    results: user.flatMap((part) =>
      part.type === 'tool-result' ? [unwrapped(part.parts.map(describePart).join('\n'))] : [],
    ),
    tools: (tools?.list ?? []).map(tellTool),
    choice: { choice: (tools?.choice ?? 'auto') as Json, parallel: tools?.parallel ?? true },
    output: tellOutput(output),
    sampling: {
      ...bounds,
      ...(choices === 1 || choices === undefined ? {} : { choices }),
      ...(topP === 1 || topP === undefined ? {} : { topP }),
    } as JsonObject,
    stream: request.stream,
  }
}

const withoutIds = (text: string): string => text.replace(/(Attachments from tool call) [\w-]+/, '$1')

/**
 * Gemini accepts tool results as objects only: each library wraps texts in its own way. The order of keys is
 * irrelevant.
 */
function unwrapped(text: string): string {
  const value = parsedInput(text)
  if (text === '' || !isObject(value)) return text
  const [key, second] = Object.keys(value)
  if (second === undefined && (key === 'return_value' || key === 'result')) return sorted(value[key] ?? null)
  const [only] = listOf(value.content).map(objectOf)
  if (key === 'name' && second === 'content' && typeof only?.text === 'string') return unwrapped(only.text)
  return sorted(value)
}

export const sorted = (value: Json): string =>
  typeof value === 'string'
    ? value
    : JSON.stringify(value, (_, inner: Json) =>
        isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
      )

/** Describes a part as text. */
export function describePart(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return part.text.trim()
    case 'media':
      return tellMedia(part)
    case 'tool-call':
      return `${part.name} ${JSON.stringify(parsedInput(part.input))}`
    case 'tool-result':
      return part.parts.map(describePart).join('\n')
    case 'native':
      return `[${part.format}: ${String(part.value.type ?? Object.keys(part.value)[0])}]`
  }
}

function tellMedia({ kind, source }: MediaPart): string {
  switch (source.type) {
    case 'base64': {
      // The recordings truncate long data: only the beginning is comparable.
      const bytes = Buffer.from(source.data.slice(0, 400), 'base64')
      return `[${kind} ${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}]`
    }
    case 'url':
      return `[${kind} ${source.url}]`
    case 'text':
      return `[${kind} ${source.text}]`
    case 'file':
      return `[${kind} of ${source.seal.issuer}]`
  }
}

/**
 * Describes a tool without strictness, which is a separate setting, and without schema fields that only strictness
 * needs.
 */
function tellTool(tool: Tool): Json {
  if (tool.type === 'native') return `[${tool.format}: ${String(tool.value.type ?? Object.keys(tool.value)[0])}]`
  const { name, description = '' } = tool
  return { name, description, schema: tool.type === 'function' ? bareSchema(tool.schema ?? {}) : (tool.grammar ?? {}) }
}

function bareSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(bareSchema)
  if (!isObject(schema)) return schema
  const { additionalProperties, strict, $schema, ...rest } = schema
  const kept = isObject(additionalProperties) ? { additionalProperties } : {}
  const entries = Object.entries({ ...rest, ...kept }).filter(
    ([, value]) =>
      !(Array.isArray(value) && value.length === 0) && !(isObject(value) && Object.keys(value).length === 0),
  )
  return Object.fromEntries(entries.map(([key, value]): [string, Json] => [key, bareSchema(value)]))
}

function tellOutput({ format }: NonNullable<ModelRequest['output']>): Json {
  if (format === undefined || format.type === 'text') return 'text'
  return { type: 'json', schema: bareSchema(format.schema ?? {}) }
}
