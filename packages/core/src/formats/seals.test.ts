import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { Format, SharedFormat } from '../base/names.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Codec } from './codec.ts'
import { codecs } from './codecs.ts'
import type { ModelRequest } from './ir.ts'
import { ollamaRoundTrip, type RoundTripCodec } from './ollama/round-trip.test-support.ts'
import { exchangeOf, readAnswer } from './shared/exchange.test-support.ts'

/**
 * Runs a tool loop of three turns with reasoning for each pair of client and upstream. The issuer must receive its seals
 * byte for byte in their original places. Other vendors must receive none, and the loss is reported.
 */

const models: Readonly<Record<SharedFormat, string>> = {
  chat: 'm',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro-preview',
  responses: 'gpt-5',
  converse: 'anthropic.claude-sonnet-4-5',
}

/** Responses of each upstream in its own format: two turns with calls and a final turn. */
const answers: Readonly<Record<SharedFormat, JsonObject[]>> = {
  messages: [
    [
      { type: 'thinking', thinking: 'first', signature: 'SIG+1==' },
      { type: 'redacted_thinking', data: 'RED+1==' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'call_a', name: 'f', input: { a: 1 } },
    ],
    [
      { type: 'thinking', thinking: '', signature: 'SIG+2==' },
      { type: 'tool_use', id: 'call_b', name: 'f', input: { a: 2 } },
      { type: 'tool_use', id: 'call_c', name: 'g', input: { a: 3 } },
    ],
    [
      { type: 'thinking', thinking: 'third', signature: 'SIG+3==' },
      { type: 'text', text: 'Done.' },
    ],
  ].map((content) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  })),
  gemini: [
    [
      { text: 'first', thought: true },
      { text: 'I look.', thoughtSignature: 'U0lHMQ==' },
      { functionCall: { id: 'call_a', name: 'f', args: { a: 1 } }, thoughtSignature: 'U0lHMg==' },
    ],
    [
      { functionCall: { id: 'call_b', name: 'f', args: { a: 2 } }, thoughtSignature: 'U0lHMw==' },
      { functionCall: { id: 'call_c', name: 'g', args: { a: 3 } } },
    ],
    [{ text: 'Done.' }, { text: '', thoughtSignature: 'U0lHNA==' }],
  ].map((parts) => ({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    modelVersion: 'm',
    responseId: 'r',
  })),
  responses: [
    [
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'first' }],
        encrypted_content: 'ENC+1==',
      },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'f', arguments: '{"a":1}' },
    ],
    [
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'ENC+2==' },
      { type: 'function_call', id: 'fc_2', call_id: 'call_b', name: 'f', arguments: '{"a":2}' },
      { type: 'function_call', id: 'fc_3', call_id: 'call_c', name: 'g', arguments: '{"a":3}' },
    ],
    [
      {
        type: 'reasoning',
        id: 'rs_3',
        summary: [
          { type: 'summary_text', text: 'third' },
          { type: 'summary_text', text: 'fourth' },
        ],
        encrypted_content: 'ENC+3==',
      },
      { type: 'message', id: 'msg_2', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
    ],
  ].map((output) => ({ id: 'resp_1', object: 'response', model: 'm', status: 'completed', created_at: 1, output })),
  converse: [
    [
      { reasoningContent: { reasoningText: { text: 'first', signature: 'SIG+1==' } } },
      { reasoningContent: { redactedContent: 'UkVEMQ==' } },
      { text: 'I look.' },
      { toolUse: { toolUseId: 'call_a', name: 'f', input: { a: 1 } } },
    ],
    [
      { reasoningContent: { reasoningText: { text: '', signature: 'SIG+2==' } } },
      { toolUse: { toolUseId: 'call_b', name: 'f', input: { a: 2 } } },
      { toolUse: { toolUseId: 'call_c', name: 'g', input: { a: 3 } } },
    ],
    [{ reasoningContent: { reasoningText: { text: 'third', signature: 'SIG+3==' } } }, { text: 'Done.' }],
  ].map((content) => ({
    output: { message: { role: 'assistant', content } },
    stopReason: content.some((block) => 'toolUse' in block) ? 'tool_use' : 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    metrics: { latencyMs: 1 },
  })),
  chat: [
    {
      content: 'I look.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'first', signature: 'SIG+1==', format: 'anthropic-claude-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'ENC+1==', id: 'rs_1', format: 'openai-responses-v1', index: 1 },
      ],
      tool_calls: [
        {
          id: 'call_a',
          type: 'function',
          function: { name: 'f', arguments: '{"a":1}' },
          extra_content: { google: { thought_signature: 'U0lHMQ==' } },
        },
      ],
    },
    {
      content: null,
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'ENC+2==', id: 'rs_2', format: 'x', index: 0 }],
      tool_calls: [
        { id: 'call_b', type: 'function', function: { name: 'f', arguments: '{"a":2}' } },
        { id: 'call_c', type: 'function', function: { name: 'g', arguments: '{"a":3}' } },
      ],
    },
    {
      content: 'Done.',
      reasoning_details: [{ type: 'reasoning.text', text: 'third', signature: 'SIG+3==', format: 'x', index: 0 }],
    },
  ].map((message) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        finish_reason: message.tool_calls === undefined ? 'stop' : 'tool_calls',
      },
    ],
  })),
}
const results: string[][] = [['call_a'], ['call_b', 'call_c'], []]
const names: Readonly<Record<string, string>> = { call_a: 'f', call_b: 'f', call_c: 'g' }

/** Simulates a client of a format: `ask` creates requests, `keep` and `collect` store whole and streamed responses. */
interface Client {
  ask(history: JsonObject[]): JsonObject
  keep(answer: JsonObject): JsonObject[]
  collect(events: readonly SseEvent[]): JsonObject[]
  results(ids: readonly string[]): JsonObject[]
}

const parse = ({ data }: SseEvent): JsonObject => (data.startsWith('{') ? (JSON.parse(data) as JsonObject) : {})
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
const pick = (source: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (source[key] === undefined ? [] : [[key, source[key]]])))
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }

const chatFields = ['role', 'content', 'tool_calls', 'reasoning_content', 'reasoning_details']
const clients: Readonly<Record<Format, Client>> = {
  chat: {
    ask: (history) => ({
      model: 'm',
      reasoning_effort: 'high',
      tools: ['f', 'g'].map((name) => ({ type: 'function', function: { name, parameters: schema } })),
      messages: [{ role: 'user', content: 'q' }, ...history],
    }),
    keep: ({ choices }) => objects(choices).map(({ message }) => pick(isObject(message) ? message : {}, chatFields)),
    // Same as the official JavaScript SDK: texts grow, calls grow by index, and later values replace all other fields.
    collect(events) {
      const message: JsonObject = { role: 'assistant', content: null }
      const calls: JsonObject[] = []
      for (const chunk of events.map(parse))
        for (const { delta } of objects(chunk.choices)) {
          const { content, tool_calls, role: _, ...rest } = isObject(delta) ? delta : {}
          if (typeof content === 'string') message.content = `${message.content ?? ''}${content}`
          Object.assign(message, rest)
          for (const { index, function: called, ...more } of objects(tool_calls)) {
            const call = calls[Number(index)] ?? { function: { name: '', arguments: '' } }
            calls[Number(index)] = Object.assign(call, more)
            const known = call.function as { [key: string]: string }
            if (isObject(called))
              for (const key of ['name', 'arguments']) known[key] = `${known[key] ?? ''}${called[key] ?? ''}`
          }
        }
      if (calls.length > 0) message.tool_calls = calls
      return [pick(message, chatFields)]
    },
    results: (ids) => ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'r' })),
  },
  messages: {
    ask: (history) => ({
      model: 'm',
      max_tokens: 8000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tools: ['f', 'g'].map((name) => ({ name, input_schema: schema })),
      messages: [{ role: 'user', content: 'q' }, ...history],
    }),
    keep: ({ content }) => [{ role: 'assistant', content: content ?? [] }],
    collect(events) {
      const content: JsonObject[] = []
      const inputs = new Map<JsonObject, string>()
      for (const { type, content_block, delta } of events.map(parse)) {
        if (type === 'content_block_start' && isObject(content_block)) content.push({ ...content_block })
        const block = content.at(-1)
        if (block === undefined || !isObject(delta)) continue
        if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`
        else if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`
        else if (delta.type === 'signature_delta') block.signature = delta.signature ?? null
        else if (delta.type === 'input_json_delta')
          inputs.set(block, `${inputs.get(block) ?? ''}${String(delta.partial_json)}`)
      }
      for (const [block, input] of inputs) block.input = JSON.parse(input) as Json
      return [{ role: 'assistant', content }]
    },
    results: (ids) =>
      ids.length === 0
        ? []
        : [{ role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'r' })) }],
  },
  gemini: {
    ask: (history) => ({
      model: 'm',
      generationConfig: { thinkingConfig: { thinkingBudget: 2000, includeThoughts: true } },
      tools: [{ functionDeclarations: ['f', 'g'].map((name) => ({ name, parametersJsonSchema: schema })) }],
      contents: [{ role: 'user', parts: [{ text: 'q' }] }, ...history],
    }),
    keep: ({ candidates }) =>
      objects(candidates).map(({ content }) => ({
        role: 'model',
        parts: objects(isObject(content) ? content.parts : []).map((part) =>
          pick(part, ['text', 'thought', 'thoughtSignature', 'functionCall']),
        ),
      })),
    // The chats of the SDK keep each chunk as a separate content.
    collect: (events) => events.flatMap((event) => clients.gemini.keep(parse(event))),
    results: (ids) =>
      ids.length === 0
        ? []
        : [
            {
              role: 'user',
              parts: ids.map((id) => ({ functionResponse: { id, name: names[id] ?? '', response: { output: 'r' } } })),
            },
          ],
  },
  responses: {
    ask: (history) => ({
      model: 'm',
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high', summary: 'auto' },
      tools: ['f', 'g'].map((name) => ({ type: 'function', name, parameters: schema })),
      input: [{ role: 'user', content: 'q' }, ...history],
    }),
    keep: ({ output }) =>
      objects(output).map((item) =>
        pick(item, ['type', 'id', 'role', 'content', 'summary', 'encrypted_content', 'call_id', 'name', 'arguments']),
      ),
    collect: (events) =>
      clients.responses.keep({
        output: events
          .map(parse)
          .flatMap(({ type, item }) => (type === 'response.output_item.done' && isObject(item) ? [item] : [])),
      }),
    results: (ids) => ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'r' })),
  },
  ollama: {
    ask: (history) => ({
      model: 'm',
      think: 'high',
      tools: ['f', 'g'].map((name) => ({ type: 'function', function: { name, parameters: schema } })),
      messages: [{ role: 'user', content: 'q' }, ...history],
    }),
    keep: ({ message }) => [isObject(message) ? message : {}],
    // Its clients add up texts, and collect calls.
    collect(events) {
      const whole = { role: 'assistant', content: '', thinking: '', tool_calls: [] as JsonObject[] }
      for (const { message } of events.map(parse)) {
        const { content, thinking, tool_calls: calls } = isObject(message) ? message : {}
        whole.content += typeof content === 'string' ? content : ''
        whole.thinking += typeof thinking === 'string' ? thinking : ''
        whole.tool_calls.push(...objects(calls))
      }
      return [whole]
    },
    results: (ids) => ids.map((id) => ({ role: 'tool', tool_name: names[id] ?? '', content: 'r' })),
  },
  converse: {
    ask: (history) => ({
      model: 'm',
      inferenceConfig: { maxTokens: 8000 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000 } },
      toolConfig: { tools: ['f', 'g'].map((name) => ({ toolSpec: { name, inputSchema: { json: schema } } })) },
      messages: [{ role: 'user', content: [{ text: 'q' }] }, ...history],
    }),
    // AWS's SDKs know a fixed set of members, and drop all others.
    keep: ({ output }) => {
      const { message } = isObject(output) ? output : {}
      return isObject(message)
        ? [{ role: 'assistant', content: objects(message.content).map((block) => knownMembers(block)) }]
        : []
    },
    collect(events) {
      const content: JsonObject[] = []
      const blocks = new Map<Json | undefined, JsonObject>()
      const inputs = new Map<JsonObject, string>()
      for (const { contentBlockIndex, start, delta } of events.map(parse)) {
        let block = blocks.get(contentBlockIndex)
        if (block === undefined && (isObject(start) || isObject(delta))) {
          block = {}
          blocks.set(contentBlockIndex, block)
          content.push(block)
        }
        if (block === undefined) continue
        if (isObject(start)) Object.assign(block, structuredClone(start))
        const { text, reasoningContent, toolUse } = isObject(delta) ? delta : {}
        if (typeof text === 'string') block.text = `${block.text ?? ''}${text}`
        if (isObject(toolUse)) inputs.set(block, `${inputs.get(block) ?? ''}${String(toolUse.input)}`)
        if (!isObject(reasoningContent)) continue
        const { redactedContent, text: piece = '', ...signature } = reasoningContent
        const known = isObject(block.reasoningContent) ? block.reasoningContent.reasoningText : undefined
        const before = isObject(known) ? known : {}
        const joined = { ...before, text: `${before.text ?? ''}${String(piece)}`, ...signature }
        block.reasoningContent = redactedContent === undefined ? { reasoningText: joined } : { redactedContent }
      }
      for (const [block, input] of inputs)
        block.toolUse = { ...(block.toolUse as JsonObject), input: JSON.parse(input) as Json }
      return [{ role: 'assistant', content: content.map((block) => knownMembers(block)) }]
    },
    results: (ids) =>
      ids.length === 0
        ? []
        : [{ role: 'user', content: ids.map((id) => ({ toolResult: { toolUseId: id, content: [{ text: 'r' }] } })) }],
  },
}

function knownMembers({ text, reasoningContent, toolUse }: JsonObject): JsonObject {
  if (isObject(toolUse)) return { toolUse: pick(toolUse, ['toolUseId', 'name', 'input']) }
  return reasoningContent === undefined ? { text: text ?? '' } : { reasoningContent }
}

const bare: ModelRequest = { model: 'm', turns: [], stream: false }

/** Runs the loop between a client and an upstream; returns the client's last request. */
function history(client: RoundTripCodec, upstream: Codec, stream: boolean): JsonObject {
  const { ask, keep, collect, results: respond } = clients[client.format]
  const turns: JsonObject[] = []
  for (const [turn, body] of answers[upstream.format].entries()) {
    const exchange = exchangeOf(client, { ...ask(turns), stream }, upstream, models[upstream.format])
    const parts = readAnswer(upstream, body, bare)
    turns.push(...(stream ? collect(exchange.stream(parts)) : keep(exchange.answer(parts))))
    turns.push(...respond(results[turn] ?? []))
  }
  const last: Readonly<Record<Format, JsonObject>> = {
    chat: { role: 'user', content: 'more' },
    messages: { role: 'user', content: 'more' },
    gemini: { role: 'user', parts: [{ text: 'more' }] },
    responses: { role: 'user', content: 'more' },
    ollama: { role: 'user', content: 'more' },
    converse: { role: 'user', content: [{ text: 'more' }] },
  }
  return JSON.parse(JSON.stringify(ask([...turns, last[client.format]]))) as JsonObject
}

const sealKeys: ReadonlySet<string> = new Set([
  'signature',
  'data',
  'encrypted_content',
  'thoughtSignature',
  'thought_signature',
  'redactedContent',
])

/** Lists the seals of a body in order, each with the text or name that holds it. */
function sealsIn(value: Json, holder = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => sealsIn(item, holder))
  if (!isObject(value)) return []
  const candidates = [
    value.thinking,
    value.text,
    nameIn(value.functionCall),
    nameIn(value.function),
    textsIn(value.summary),
  ]
  const own = candidates.find((part) => typeof part === 'string')
  const here = own ?? holder
  return Object.entries(value).flatMap(([key, inner]) =>
    sealKeys.has(key) && typeof inner === 'string' ? [`${here} ${key} ${inner}`] : sealsIn(inner, here),
  )
}
/** Joins summary texts, because some client streams do not separate them. */
const textsIn = (list: Json | undefined): string | undefined =>
  Array.isArray(list)
    ? objects(list)
        .map(({ text }) => text)
        .join('')
    : undefined
const nameIn = (call: Json | undefined): Json | undefined => (isObject(call) ? call.name : undefined)

/**
 * Google signs texts; in a stream, an empty text after them holds the signature. A chat client keeps one text for both, so
 * the comparison ignores which of the two holds the signature.
 */
const holder =
  (way: string, client: Format) =>
  (seal: string): string =>
    way === 'streamed' || client === 'chat'
      ? seal.replace(/^(I look\.|Done\.)? thoughtSignature/, ' thoughtSignature')
      : seal

/**
 * A messages stream cannot seal text that was already sent, because clients would read another block as content.
 * This affects only the seal at the end of a response, and the loss is reported.
 */
const isTooLate = (seal: string, way: string, client: Format, issuer: Format): boolean =>
  way === 'streamed' && client === 'messages' && issuer === 'gemini' && seal.endsWith(' U0lHNA==')

/** Excludes the placeholder for "unsigned", which is not a seal. */
const isReal = (seal: string): boolean => !seal.endsWith('skip_thought_signature_validator')

const ways = codecs.flatMap((client) =>
  codecs.flatMap((upstream) =>
    [false, true].map(
      (stream) => [client.format, upstream.format, stream ? 'streamed' : 'whole', client, upstream] as const,
    ),
  ),
)

describe.each(ways)(
  'seals in a loop of a %s client with a %s upstream, %s',
  (_client, issuer, way, client, upstream) => {
    const body = history(client, upstream, way === 'streamed')
    const given = answers[issuer]
      .flatMap((answer) => sealsIn(answer))
      .map(holder(way, client.format))
      .filter((seal) => !isTooLate(seal, way, client.format, upstream.format))

    test('return to their issuer in their original places', () => {
      const { sent } = exchangeOf(client, body, upstream, models[issuer])
      expect(sealsIn(sent).map(holder(way, client.format))).toEqual(given)
      expect(JSON.stringify(sent)).not.toMatch(/mgs1\.|bWdzMS5/)
    })

    test.each(codecs.filter((codec) => codec !== upstream))('are withheld from $format and reported', (other) => {
      const { sent, losses } = exchangeOf(client, body, other, models[other.format])
      expect(sealsIn(sent).filter(isReal)).toEqual([])
      const text = JSON.stringify(sent)
      for (const seal of given) expect(text).not.toContain(seal.slice(seal.lastIndexOf(' ') + 1))
      expect(text).not.toMatch(/mgs1\.|bWdzMS5/)
      expect(losses.filter(({ detail }) => /withheld|by its issuer only/.test(detail)).length).toBeGreaterThan(0)
    })
  },
)

const ollamaWays = codecs.flatMap((upstream) =>
  [false, true].map((stream) => [upstream.format, stream ? 'streamed' : 'whole', upstream, stream] as const),
)

describe.each(ollamaWays)(
  'seals in a loop of an ollama client with a %s upstream, %s',
  (format, _way, upstream, stream) => {
    const body = history(ollamaRoundTrip, upstream, stream)

    test('are not sent to clients, which have no field for them', () => {
      const sealed = answers[format].flatMap((answer) => sealsIn(answer))
      expect(sealed.length).toBeGreaterThan(0)
      for (const seal of sealed) expect(JSON.stringify(body)).not.toContain(seal.slice(seal.lastIndexOf(' ') + 1))
    })

    test.each(codecs)('are not missed by $format: the conversation continues with all calls and results', (other) => {
      const { sent, request } = exchangeOf(ollamaRoundTrip, body, other, models[other.format])
      expect(
        sealsIn(sent)
          .filter(isReal)
          .filter((seal) => !seal.endsWith(' ')),
      ).toEqual([])
      const calls = request.turns.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])),
      )
      const answered = request.turns.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'tool-result' ? [part.callId] : [])),
      )
      expect(calls).toHaveLength(3)
      expect(answered).toEqual(calls)
      expect(JSON.stringify(sent)).not.toMatch(/mgs1\.|bWdzMS5/)
    })

    test('are reported as lost with each response', () => {
      for (const answer of answers[format]) {
        const exchange = exchangeOf(ollamaRoundTrip, clients.ollama.ask([]), upstream, models[format])
        const parts = readAnswer(upstream, answer, bare)
        if (stream) exchange.stream(parts)
        else exchange.answer(parts)
        const isSealed = sealsIn(answer).length > 0
        expect(exchange.losses.some(({ detail }) => /no field for a signature|withheld reasoning/.test(detail))).toBe(
          isSealed,
        )
      }
    })
  },
)
