import { errorKinds } from '../../base/error-kinds.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ClientCodec, UpstreamCodec } from '../codec.ts'
import type { Finish, ModelEvent, ModelRequest, ModelResponse, Part, Tool, Turn, Usage } from '../ir.ts'
import type { Machine } from '../stream-codec.ts'
import { ollamaCodec } from './codec.ts'
import { truncated } from './error.ts'
import { decodeImage } from './media.ts'

// What Ollama's clients write and read, for tests: a client of Ollama as far as the IR knows it. No upstream is called in this format.

/** A client's codec with the other directions: what its clients write, and how they read responses. */
export type RoundTripCodec = ClientCodec &
  Pick<UpstreamCodec, 'encodeRequest' | 'decodeResponse' | 'decodeStream' | 'modelInPath'>

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Reads the parts of a message. */
function partsOf(message: JsonObject): Part[] {
  const parts: Part[] = []
  if (textOf(message.thinking) !== '') parts.push({ type: 'reasoning', text: textOf(message.thinking) })
  for (const image of Array.isArray(message.images) ? message.images : []) {
    const { at: _, ...part } = decodeImage(image, '') ?? { type: 'text' as const, text: '' }
    parts.push(part)
  }
  if (textOf(message.content) !== '') parts.push({ type: 'text', text: textOf(message.content) })
  for (const { id, function: called } of objects(message.tool_calls)) {
    const { name, arguments: input } = isObject(called) ? called : {}
    parts.push({ type: 'tool-call', id: textOf(id), name: textOf(name), input: stringifyExact(input ?? {}) })
  }
  return parts
}

const reasons: Readonly<Record<string, Finish['reason']>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
}

const finishOf = ({ done_reason: word }: JsonObject, hasCalls: boolean): Finish => ({
  reason: word === 'stop' && hasCalls ? 'tool-calls' : (reasons[textOf(word)] ?? 'other'),
})

function usageOf({ prompt_eval_count: input, eval_count: output }: JsonObject): Usage | undefined {
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  return { input: { total: input }, output: { total: output } }
}

const logprobsOf = ({ logprobs }: JsonObject): Json | undefined =>
  Array.isArray(logprobs)
    ? {
        content: objects(logprobs).map((token) => ({ ...token, top_logprobs: token.top_logprobs ?? [] })),
        refusal: null,
      }
    : undefined

const createdOf = ({ created_at: date }: JsonObject): number => Date.parse(textOf(date)) / 1000

function decodeResponse(body: Json): ModelResponse {
  const source = isObject(body) ? body : {}
  const parts = partsOf(isObject(source.message) ? source.message : {})
  const finish = finishOf(
    source,
    parts.some(({ type }) => type === 'tool-call'),
  )
  const choice: ModelResponse['choices'][number] = { parts, finish }
  put(choice, 'logprobs', logprobsOf(source))
  const response: ModelResponse = { id: '', model: textOf(source.model), created: createdOf(source), choices: [choice] }
  put(response, 'usage', usageOf(source))
  return response
}

function decodeStream(): Machine<SseEvent, ModelEvent> {
  let begun = false
  let over = false
  let hasCalls = false
  let next = 0
  /** The open part of reasoning or text. */
  let open: { readonly type: 'reasoning' | 'text'; readonly part: number } | undefined

  function close(): ModelEvent[] {
    if (open === undefined) return []
    const { part } = open
    open = undefined
    return [{ type: 'part-end', choice: 0, part }]
  }
  function write(type: 'reasoning' | 'text', text: string, logprobs: Json | undefined): ModelEvent[] {
    if (text === '' && logprobs === undefined) return []
    const events: ModelEvent[] = []
    if (open?.type !== type) {
      events.push(...close())
      open = { type, part: next++ }
      events.push({ type: 'part-start', choice: 0, part: open.part, value: { type, text: '' } })
    }
    const { part } = open
    const delta = logprobs === undefined ? { type, text } : { type, text, logprobs }
    return [...events, { type: 'part-delta', choice: 0, part, delta }]
  }
  function whole(value: Part): ModelEvent[] {
    const part = next++
    return [...close(), { type: 'part-start', choice: 0, part, value }, { type: 'part-end', choice: 0, part }]
  }

  return {
    push({ data }) {
      if (over) return []
      const line = parseExact(data) as JsonObject
      if (line.error !== undefined) {
        over = true
        const { upstream_error: kind } = errorKinds
        return [{ type: 'error', error: { kind: 'upstream_error', status: kind.status, message: textOf(line.error) } }]
      }
      const events: ModelEvent[] = []
      if (!begun) {
        begun = true
        events.push({ type: 'response-start', id: '', model: textOf(line.model), created: createdOf(line) })
      }
      const message = isObject(line.message) ? line.message : {}
      events.push(...write('reasoning', textOf(message.thinking), undefined))
      events.push(...write('text', textOf(message.content), line.done === true ? undefined : logprobsOf(line)))
      for (const part of partsOf({ ...message, thinking: '', content: '' })) {
        hasCalls ||= part.type === 'tool-call'
        events.push(...whole(part))
      }
      if (line.done !== true) return events
      over = true
      const logprobs = logprobsOf(line)
      const finish = finishOf(line, hasCalls)
      events.push(...close(), {
        type: 'choice-end',
        choice: 0,
        finish,
        ...(logprobs === undefined ? {} : { logprobs }),
      })
      const usage = usageOf(line)
      if (usage !== undefined) events.push({ type: 'usage', usage })
      return [...events, { type: 'response-end' }]
    },
    end() {
      if (over) return []
      over = true
      return [{ type: 'error', error: truncated }]
    },
  }
}

/** Writes what Ollama's clients can ask for. Everything else is left out. */
function encodeRequest({ model, turns, stream, sampling = {}, tools, reasoning, output }: ModelRequest): JsonObject {
  const options: JsonObject = {}
  put(options, 'temperature', sampling.temperature)
  put(options, 'top_p', sampling.topP)
  put(options, 'top_k', sampling.topK)
  put(options, 'seed', sampling.seed)
  put(options, 'presence_penalty', sampling.presencePenalty)
  put(options, 'frequency_penalty', sampling.frequencyPenalty)
  put(options, 'stop', sampling.stop)
  put(options, 'num_predict', sampling.maxTokens)
  const body: JsonObject = { model, messages: turns.flatMap(encodeTurn), stream }
  if (Object.keys(options).length > 0) body.options = options
  if (tools !== undefined) body.tools = tools.list.flatMap(encodeTool)
  if (reasoning?.off === true) body.think = false
  else
    put(
      body,
      'think',
      ['low', 'medium', 'high', 'max'].find((level) => level === reasoning?.effort),
    )
  if (output?.format?.type === 'json') body.format = output.format.schema ?? 'json'
  if (output?.logprobs !== undefined) {
    body.logprobs = true
    if (output.logprobs > 0) body.top_logprobs = output.logprobs
  }
  return body
}

function encodeTool(tool: Tool): JsonObject[] {
  if (tool.type !== 'function') return []
  const inner: JsonObject = { name: tool.name }
  put(inner, 'description', tool.description)
  put(inner, 'parameters', tool.schema)
  put(inner, 'strict', tool.strict)
  return [{ type: 'function', function: inner }]
}

function encodeTurn({ role, parts }: Turn): JsonObject[] {
  const results = parts.flatMap((part): JsonObject[] => {
    if (part.type !== 'tool-result') return []
    const message: JsonObject = { role: 'tool', ...contentOf(part.parts), tool_call_id: part.callId }
    put(message, 'tool_name', part.name)
    return [message]
  })
  const others = parts.filter(({ type }) => type !== 'tool-result')
  if (others.length === 0) return results
  const message: JsonObject = { role: role === 'developer' ? 'system' : role, ...contentOf(others) }
  const calls = others.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            id: part.id,
            function: {
              name: part.name,
              arguments: part.custom ? { input: part.input } : (parseExact(part.input) as Json),
            },
          },
        ]
      : [],
  )
  if (calls.length > 0) message.tool_calls = calls
  return [...results, message]
}

function contentOf(parts: readonly Part[]): JsonObject {
  const textsOf = (type: 'text' | 'reasoning'): string =>
    parts.map((part) => (part.type === type ? part.text : '')).join('')
  const out: JsonObject = { content: textsOf('text') }
  if (textsOf('reasoning') !== '') out.thinking = textsOf('reasoning')
  const images = parts.flatMap((part) =>
    part.type === 'media' && part.source.type === 'base64' ? [part.source.data] : [],
  )
  if (images.length > 0) out.images = images
  return out
}

export const ollamaRoundTrip: RoundTripCodec = { ...ollamaCodec, encodeRequest, decodeResponse, decodeStream }
