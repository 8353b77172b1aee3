import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, ModelRequest, ModelResponse, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { eventsOf, isStream, parsed, present, readRecorded } from '../shared/recorded.test-support.ts'
import type { Quirks } from '../target-traits.ts'
import { chatCodec } from './codec.ts'
import { run, type TestContext, testContext } from './context.test-support.ts'

const exchanges = readRecorded('openai-chat')

const contextFor = (request: Partial<ModelRequest> = {}, quirks: Quirks = {}): TestContext =>
  testContext({ request: { output: { includeUsage: true }, ...request }, quirks })

/** Derives the quirks of an exchange's upstream from its recorded request. */
function quirksOf(body: JsonObject): Quirks {
  const text = JSON.stringify(body.messages)
  const field = text.includes('"reasoning_content":"')
    ? 'reasoning_content'
    : text.includes('"reasoning":"')
      ? 'reasoning'
      : undefined
  return {
    cacheControl: true,
    topK: true,
    reasoningObject: isObject(body.reasoning),
    maxTokensField: 'max_tokens' in body ? 'max_tokens' : 'max_completion_tokens',
    ...(field === undefined ? {} : { reasoningField: field }),
  }
}

/**
 * Applies every change that decoding and encoding make to a chat request. Each line keeps the meaning, or the codec
 * reports it as a loss (moved media, the generated name of a schema).
 */
function normalised(body: JsonObject): JsonObject {
  const out = structuredClone(body)
  out.model = 'm'
  if (out.stream === true)
    out.stream_options = { ...(isObject(out.stream_options) ? out.stream_options : {}), include_usage: true }
  if (typeof out.stop === 'string') out.stop = [out.stop]
  if (out.tool_choice === 'any') out.tool_choice = 'required'
  if (isObject(out.tool_choice)) out.tool_choice.type ??= 'function'
  if (Array.isArray(out.tools) && out.tools.length === 0) delete out.tools
  if (out.tools === undefined && typeof out.tool_choice === 'string') delete out.tool_choice
  for (const tool of Array.isArray(out.tools) ? out.tools : [])
    if (isObject(tool) && tool.function !== undefined) tool.type ??= 'function'
  for (const key of ['stream', 'logprobs']) if (out[key] === false) delete out[key]
  if (isObject(out.response_format) && isObject(out.response_format.json_schema))
    out.response_format.json_schema.name ??= 'response'
  out.messages = (out.messages as JsonObject[]).flatMap(normalisedMessage)
  return withoutNulls(out)
}

function normalisedMessage(message: JsonObject): JsonObject[] {
  const moved: JsonObject[] = []
  for (const key of Object.keys(message)) {
    const value = message[key]
    if (key !== 'content' && (value === '' || (Array.isArray(value) && value.length === 0))) delete message[key]
  }
  if (message.reasoning === message.reasoning_content) delete message.reasoning
  for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) if (isObject(call)) delete call.index
  for (const [position, detail] of (Array.isArray(message.reasoning_details)
    ? message.reasoning_details
    : []
  ).entries())
    if (isObject(detail)) detail.index = position
  if (Array.isArray(message.content)) {
    for (const part of message.content)
      if (isObject(part) && typeof part.image_url === 'string') part.image_url = { url: part.image_url }
    if (message.role === 'tool') {
      moved.push(...message.content.filter(isObject).filter((part) => part.type !== 'text'))
      message.content = message.content.filter((part) => isObject(part) && part.type === 'text')
    }
    const [only, second] = message.content
    if (second === undefined && isObject(only) && only.type === 'text' && Object.keys(only).length === 2)
      message.content = only.text ?? ''
    else if (only === undefined) message.content = ''
  }
  if (!message.content) message.content = message.tool_calls || message.function_call ? null : ''
  return moved.length === 0 ? [message] : [message, { role: 'user', content: moved }]
}

/** Drops nulls, which mean the same as absent fields, except as an assistant's content. */
function withoutNulls(body: JsonObject): JsonObject {
  const drop = (node: JsonObject, keep?: string) => {
    for (const key of Object.keys(node)) if (node[key] === null && key !== keep) delete node[key]
  }
  drop(body)
  for (const message of body.messages as JsonObject[]) drop(message, 'content')
  return body
}

/** Azure's grok does not include cached tokens in `prompt_tokens`, so they can exceed it. */
function cachedApart({ prompt_tokens: prompt, prompt_tokens_details: details }: JsonObject): number {
  const cached = isObject(details) ? Number(details.cached_tokens ?? 0) : 0
  return cached > Number(prompt) ? cached : 0
}

describe.skipIf(!present)('recorded chat requests', () => {
  const requests = exchanges.flatMap(({ path, request, response }) =>
    isObject(request.body) ? [{ path, url: request.url, body: request.body, status: response.status }] : [],
  )

  test('are accepted unless the provider rejected them or the URL names the model', () => {
    expect(requests.length).toBeGreaterThan(900)
    for (const { path, url, body, status } of requests) {
      if (status === 400 || (body.model == null && url.includes('/deployments/'))) continue
      expect(() => chatCodec.validateRequest(body), path).not.toThrow()
    }
  })

  test('are unchanged after a round trip through the IR', () => {
    for (const { path, body, status } of requests) {
      if (status === 400 || !Array.isArray(body.messages)) continue
      const context = contextFor({}, quirksOf(body))
      const back = chatCodec.encodeRequest(chatCodec.decodeRequest(structuredClone(body), context), context)
      expect(back, path).toEqual(normalised(body))
      expect(
        context.losses.filter(({ severity, kind }) => severity === 'warn' && kind !== 'moved'),
        path,
      ).toEqual([])
    }
  })

  test('are decoded to turns and parts that name their places in the body', () => {
    for (const { path, body } of requests) {
      if (!Array.isArray(body.messages)) continue
      const { turns } = chatCodec.decodeRequest(structuredClone(body), contextFor())
      const places = turns.flatMap((turn) => [turn.at, ...turn.parts.map((part) => part.at)])
      for (const place of places) expect(valueAt(body, place ?? '?'), `${path} ${place}`).toBeDefined()
    }
  })
})

function valueAt(body: Json, place: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of place.split('/').slice(1))
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  return value
}

/** Returns the text, reasoning, refusal and calls of a response. */
function contentOf(response: ModelResponse) {
  return response.choices.map(({ parts }) => ({
    text: textOf(parts, 'text'),
    reasoning: textOf(parts, 'reasoning').replaceAll('\n', ''),
    refusal: textOf(parts, 'refusal'),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ name: part.name, input: part.input || '{}', custom: part.custom }] : [],
    ),
  }))
}
const textOf = (parts: readonly Part[], type: 'text' | 'reasoning' | 'refusal'): string =>
  parts.map((part) => (part.type === type ? part.text : '')).join('')

describe.skipIf(!present)('recorded chat responses', () => {
  const answers = exchanges.flatMap(({ path, response }) => {
    const body = response.status === 200 && !isStream(response.body) ? parsed(response.body) : undefined
    return body !== undefined && Array.isArray(body.choices) ? [{ path, body }] : []
  })

  test('keep text, calls, reasoning, finish reason and usage through the IR', () => {
    expect(answers.length).toBeGreaterThan(700)
    for (const { path, body } of answers) {
      const first = chatCodec.decodeResponse(structuredClone(body), contextFor())
      const wire = chatCodec.encodeResponse(first, contextFor())
      const second = chatCodec.decodeResponse(structuredClone(wire), contextFor())
      expect(contentOf(second), path).toEqual(contentOf(first))
      expect(second.usage?.input, path).toEqual(first.usage?.input)
      expect(second.usage?.output, path).toEqual(first.usage?.output)
      for (const [position, choice] of (wire.choices as JsonObject[]).entries()) {
        expect(['stop', 'length', 'tool_calls', 'content_filter'], path).toContain(choice.finish_reason)
        const source = (body.choices as JsonObject[])[position]
        const message = (source?.message ?? {}) as JsonObject
        if (typeof message.content === 'string' && message.content !== '')
          expect((choice.message as JsonObject).content, path).toBe(message.content)
        const names = ((message.tool_calls ?? []) as JsonObject[]).map((call) => call.id)
        if (names.length > 0)
          expect(((choice.message as JsonObject).tool_calls as JsonObject[]).map((call) => call.id)).toEqual(names)
      }
      if (isObject(body.usage))
        expect(wire.usage, path).toMatchObject({
          prompt_tokens: Number(body.usage.prompt_tokens) + cachedApart(body.usage),
          total_tokens: Number(body.usage.total_tokens) + cachedApart(body.usage),
        })
    }
  })

  test('throw if they are errors or empty', () => {
    const others = exchanges.filter(
      ({ response }) => response.status !== 200 || response.body.trimStart().startsWith('{"error"'),
    )
    expect(others.length).toBeGreaterThan(20)
    for (const { path, response } of others)
      expect(() => chatCodec.decodeResponse(parsed(response.body) ?? response.body, contextFor()), path).toThrow()
  })
})

const contentText = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
      : ''

describe.skipIf(!present)('recorded chat streams', () => {
  const streams = exchanges.flatMap(({ path, response }) => {
    if (response.status !== 200 || !isStream(response.body)) return []
    const events = eventsOf(response.body)
    if (events.length === 0) return []
    const chunks = events.map(({ data }) => parsed(data)).filter(isObject)
    const broken = events.some(({ event }) => event === 'error') || chunks.some((chunk) => chunk.error)
    const whole = events.some(({ data }) => data === '[DONE]')
    return [{ path, events, chunks, broken, whole }]
  })
  const decode = (events: readonly SseEvent[], quirks: Quirks = {}): ModelEvent[] =>
    run(chatCodec.decodeStream(contextFor({}, quirks)), events)

  test('end normally or with the one error that they hold', () => {
    expect(streams.length).toBeGreaterThan(150)
    for (const { path, events, broken, whole } of streams) {
      const out = decode(events, { doneOptional: !whole })
      expect(out.at(-1)?.type, path).toBe(broken ? 'error' : 'response-end')
      expect(
        out.filter(({ type }) => type === 'error'),
        path,
      ).toHaveLength(broken ? 1 : 0)
    }
  })

  test('fold to the content of their chunks, also after they are encoded again', () => {
    for (const { path, events, chunks, broken, whole } of streams) {
      if (broken) continue
      const out = decode(events, { doneOptional: !whole })
      const folded = foldEvents(out)
      for (const [index, { parts }] of folded.choices.entries()) {
        const text = chunks
          .flatMap((chunk) => (chunk.choices ?? []) as JsonObject[])
          .filter((choice) => (choice.index ?? 0) === index)
          .map(({ delta }) => (isObject(delta) ? contentText(delta.content) : ''))
          .join('')
        if (text !== '') expect(textOf(parts, 'text'), path).toBe(text)
      }
      const counted = chunks.findLast((chunk) => isObject(chunk.usage))?.usage
      if (isObject(counted))
        expect(folded.usage?.input.total, path).toBe(Number(counted.prompt_tokens) + cachedApart(counted))
      const again = foldEvents(decode(run(chatCodec.encodeStream(contextFor({ stream: true })), out)))
      expect(contentOf(again), path).toEqual(contentOf(folded))
      expect(again.usage?.output, path).toEqual(folded.usage?.output)
      expect(
        again.choices.map(({ finish }) => finish.reason),
        path,
      ).toEqual(
        folded.choices.map(({ finish, parts }) =>
          finish.reason === 'other' && parts.length > 0 ? 'stop' : finish.reason,
        ),
      )
    }
  })

  test('end with exactly one error if they are truncated anywhere', () => {
    const whole = streams.filter((stream) => stream.whole && !stream.broken)
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (which, where) => {
          const events = whole[which]?.events ?? []
          const end = events.findIndex(({ data }) => data === '[DONE]')
          const out = decode(events.slice(0, Math.floor(where * end)))
          expect(out.filter(({ type }) => type === 'error')).toHaveLength(1)
          expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
          expect(out.some(({ type }) => type === 'response-end')).toBe(false)
          const sent = run(chatCodec.encodeStream(contextFor({ stream: true })), out)
          expect(sent.filter(({ data }) => data.startsWith('{"error"'))).toHaveLength(1)
          expect(sent.some(({ data }) => data === '[DONE]')).toBe(false)
        },
      ),
      { numRuns: 400 },
    )
  })

  test('report the same usage and finish reason by the tap as by the decoder', () => {
    for (const { path, events, broken, whole } of streams) {
      const tap = chatCodec.tapStream({
        withholdUsage: false,
        target: { model: 'm', quirks: { doneOptional: !whole } },
      })
      for (const event of events) expect(tap.push(event), path).toBe(true)
      const folded = foldEvents(decode(events, { doneOptional: !whole }))
      expect(tap.error !== undefined, path).toBe(broken)
      expect(tap.started, path).toBe(folded.choices.length > 0)
      if (broken) continue
      expect(tap.ended, path).toBe(true)
      expect(tap.usage, path).toEqual(folded.usage)
      const raw = folded.choices[0]?.finish.raw?.value
      if (raw) expect(tap.finish, path).toBe(raw)
    }
  })
})
