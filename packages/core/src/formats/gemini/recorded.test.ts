import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createReport } from '../../losses.ts'
import { run } from '../chat/context.test-support.ts'
import type { ExchangeContext, SseEvent, TargetTraits } from '../codec.ts'
import type { Json, JsonObject, ModelEvent, ModelRequest, ModelResponse, Part, Report } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { isObject } from '../shared/reader.ts'
import { geminiCodec } from './index.ts'
import { fromOpenApi, lowerTypes } from './json-schema.ts'
import { eventsOf, isStream, parsed, present, readClientRequests, readExchanges } from './recorded.test-support.ts'
import { respell } from './spelling.ts'

const exchanges = readExchanges()
const target: TargetTraits = { model: 'm', quirks: {} }
function contextFor(request: Partial<ModelRequest> = {}): ExchangeContext & { report: Report; target: TargetTraits } {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request: { model: 'm', turns: [], stream: false, ...request },
    target,
  }
}

/**
 * All that decoding and encoding a request changes: each line says the same as what stood there. Keys are camelCase, single
 * items are lists, neighbours of a role are one, and schemas are compared as what they mean.
 */
function normalised(body: JsonObject): JsonObject {
  const { model: _model, stream: _stream, ...out } = respell(structuredClone(body))
  const contents: JsonObject[] = []
  for (const content of list(out.contents)) {
    const { role = 'user', parts } = respell(content as JsonObject)
    const wire = list(parts).map((part) => normalisedPart(part as JsonObject))
    const last = contents.at(-1)
    const same = role === 'model' ? 'model' : 'user'
    if (last?.role === same) joinParts(last.parts as JsonObject[], wire, same)
    else contents.push({ role: same, parts: wire })
  }
  out.contents = contents
  if (isObject(out.systemInstruction)) {
    out.systemInstruction = {
      parts: list(out.systemInstruction.parts).map((part) => normalisedPart(part as JsonObject)),
    }
  } else if (typeof out.systemInstruction === 'string')
    out.systemInstruction = { parts: [{ text: out.systemInstruction }] }
  if (out.tools !== undefined) normaliseTools(out)
  if (isObject(out.toolConfig)) {
    const config = respell(out.toolConfig)
    if (isObject(config.functionCallingConfig)) {
      const calling = respell(config.functionCallingConfig)
      if (typeof calling.mode === 'string') calling.mode = calling.mode.toUpperCase()
      config.functionCallingConfig = calling
    }
    out.toolConfig = config
  }
  normaliseGeneration(out)
  return out
}

/** The model's neighbouring contents are chunks of one answer: a text goes on in the next. */
function joinParts(parts: JsonObject[], [first, ...more]: JsonObject[], role: string): void {
  const last = parts.at(-1)
  const plain = (part: JsonObject | undefined) => typeof part?.text === 'string' && Object.keys(part).length === 1
  if (role === 'model' && plain(last) && plain(first) && last && first) last.text = `${last.text}${first.text}`
  else if (first !== undefined) parts.push(first)
  parts.push(...more)
}

const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])

function normalisedPart(part: JsonObject): JsonObject {
  const out = respell(part)
  for (const key of ['functionCall', 'functionResponse', 'inlineData', 'fileData'])
    if (isObject(out[key])) out[key] = respell(out[key])
  const response = out.functionResponse
  if (isObject(response) && Array.isArray(response.parts))
    response.parts = response.parts.map((inner) => normalisedPart(inner as JsonObject))
  return out
}

const schemaOf = (holder: JsonObject, subset: string, full: string): void => {
  const schema = isObject(holder[full])
    ? lowerTypes(holder[full])
    : isObject(holder[subset])
      ? fromOpenApi(holder[subset])
      : undefined
  delete holder[full]
  delete holder[subset]
  if (schema !== undefined) holder.schema = schema
}

function normaliseTools(out: JsonObject): void {
  const functions: Json[] = []
  const tools: JsonObject[] = []
  for (const tool of list(out.tools)) {
    const { functionDeclarations, ...native } = respell(tool as JsonObject)
    for (const item of list(functionDeclarations)) {
      const declaration = respell(item as JsonObject)
      schemaOf(declaration, 'parameters', 'parametersJsonSchema')
      if (declaration.description === null) delete declaration.description
      if (functions.length === 0) tools.push({ functionDeclarations: functions })
      functions.push(declaration)
    }
    for (const [key, value] of Object.entries(native)) tools.push({ [key]: value })
  }
  if (tools.length === 0) delete out.tools
  else out.tools = tools
}

function normaliseGeneration(out: JsonObject): void {
  if (!isObject(out.generationConfig)) return
  const config = respell(out.generationConfig)
  schemaOf(config, 'responseSchema', 'responseJsonSchema')
  if (Array.isArray(config.responseModalities))
    config.responseModalities = config.responseModalities.map((modality) => String(modality).toUpperCase())
  if (isObject(config.thinkingConfig)) {
    const thinking = respell(config.thinkingConfig)
    if (thinking.includeThoughts === false) delete thinking.includeThoughts
    if (typeof thinking.thinkingLevel === 'string') {
      thinking.thinkingLevel = thinking.thinkingLevel.toLowerCase()
      if (thinking.thinkingLevel === 'thinking_level_unspecified') delete thinking.thinkingLevel
    }
    config.thinkingConfig = thinking
    if (Object.keys(thinking).length === 0) delete config.thinkingConfig
  }
  out.generationConfig = config
  if (Object.keys(config).length === 0) delete out.generationConfig
}

const requests = exchanges.flatMap(({ path, request, response }) =>
  isObject(request.body) && Array.isArray(request.body.contents)
    ? [{ path, body: request.body, status: response.status }]
    : [],
)
const clientRequests = readClientRequests()
const bodies = [
  ...requests.filter(({ status }) => status !== 400).map(({ path, body }) => ({ path, body })),
  ...clientRequests.map(({ name, body }, position) => ({ path: `${name} ${position}`, body })),
]

describe.skipIf(!present)('recorded gemini requests', () => {
  test('pass the validator and are returned as they came', () => {
    expect(requests.length).toBeGreaterThan(500)
    expect(clientRequests.length).toBeGreaterThan(40)
    for (const { path, body } of bodies) {
      const copy = structuredClone(body)
      expect(geminiCodec.validateRequest(copy), path).toBe(copy)
      expect(copy, path).toEqual(body)
    }
  })

  test('come back from the IR as they were', () => {
    for (const { path, body } of bodies) {
      const context = contextFor()
      const request = geminiCodec.decodeRequest(structuredClone(body), context)
      const back = geminiCodec.encodeRequest(request, context)
      expect(normalised(back), path).toEqual(normalised(body))
      expect(
        context.report.losses.filter(({ severity }) => severity === 'warn'),
        path,
      ).toEqual([])
    }
  })

  test('decode to turns and parts that each say where they stood', () => {
    for (const { path, body } of bodies) {
      const { turns, at = {}, tools } = geminiCodec.decodeRequest(structuredClone(body), contextFor())
      const places = [
        ...turns.flatMap((turn) => [turn.at, ...turn.parts.map((part) => part.at)]),
        ...(tools?.list ?? []).map((tool) => tool.at),
        ...Object.values(at),
      ]
      for (const place of places) expect(valueAt(body, place ?? '?'), `${path} ${place}`).toBeDefined()
    }
  })

  test('give every response the id of its call', () => {
    let pairs = 0
    for (const { path, body } of bodies) {
      const { turns } = geminiCodec.decodeRequest(structuredClone(body), contextFor())
      const parts = turns.flatMap((turn) => turn.parts)
      const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
      expect(new Set(calls.map(({ id }) => id)).size, path).toBe(calls.length)
      for (const part of parts) {
        if (part.type !== 'tool-result') continue
        const call = calls.find(({ id }) => id === part.callId)
        if (call === undefined) continue
        pairs++
        expect(call.name, path).toBe(part.name)
      }
    }
    expect(pairs).toBeGreaterThan(200)
  })
})

function valueAt(body: Json, place: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of place.split('/').slice(1))
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  return value
}

/** Text, calls, thoughts: what an answer says. */
const said = (response: ModelResponse) =>
  response.choices.map(({ parts }) => ({
    text: textOf(parts, 'text'),
    reasoning: textOf(parts, 'reasoning'),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ name: part.name, input: part.input || '{}', seal: part.seal }] : [],
    ),
    seals: parts.flatMap((part) => (part.type === 'reasoning' && part.seal !== undefined ? [part.seal.data] : [])),
    media: parts.flatMap((part) => (part.type === 'media' ? [part.source] : [])),
    natives: parts.flatMap((part) => (part.type === 'native' ? [part.value] : [])),
  }))
const textOf = (parts: readonly Part[], type: 'text' | 'reasoning'): string =>
  parts.map((part) => (part.type === type ? part.text : '')).join('')

/** An answer as the wire has it, without what says nothing. */
function normalisedAnswer(body: JsonObject): JsonObject {
  const out = structuredClone(body)
  for (const [position, candidate] of list(out.candidates).entries()) {
    if (!isObject(candidate)) continue
    candidate.index = position
    candidate.finishReason ??= 'STOP' // an answer without a reason ended well, if it says anything
    if (typeof candidate.finishReason === 'number')
      candidate.finishReason = ['', 'STOP', 'MAX_TOKENS'][candidate.finishReason] ?? ''
    const content = isObject(candidate.content) ? candidate.content : {}
    candidate.content = content
    content.role = 'model'
    content.parts = list(content.parts).filter(
      (part) => !(isObject(part) && part.text === '' && Object.keys(part).length === 1),
    )
    for (const part of list(content.parts)) {
      if (!isObject(part)) continue
      if (isObject(part.functionCall)) part.functionCall = { id: 'made up', args: {}, ...part.functionCall }
      if (isObject(part.functionResponse)) delete part.functionResponse.id
    }
    const { citationMetadata: recited } = candidate
    if (isObject(recited) && Array.isArray(recited.citations))
      candidate.citationMetadata = { citationSources: recited.citations }
    normaliseSources(candidate)
  }
  return out
}

const sortedText = (chunk: Json): string =>
  JSON.stringify(chunk, (_, value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  )

const bytesOfText = ({ content }: JsonObject): number =>
  Buffer.byteLength(
    list(isObject(content) ? content.parts : [])
      .map((part) => (isObject(part) && part.thought !== true ? (part.text ?? '') : ''))
      .join(''),
  )

/** Chunks in any order, supports as what they rest on. */
function normaliseSources(candidate: JsonObject): void {
  const { groundingMetadata: meta, citationMetadata: recited } = candidate
  if (isObject(meta)) {
    const chunks = list(meta.groundingChunks)
    const used = new Set<Json>()
    for (const support of list(meta.groundingSupports)) {
      if (!isObject(support)) continue
      for (const index of list(support.groundingChunkIndices)) used.add(chunks[Number(index)] ?? null)
      support.groundingChunkIndices = list(support.groundingChunkIndices).map((index) => chunks[Number(index)] ?? null)
      if (isObject(support.segment)) support.segment.startIndex ??= 0
      if (isObject(support.segment)) support.segment.partIndex ??= 0
      // Some of Google's own places lie behind the end of the text.
      if (isObject(support.segment) && typeof support.segment.endIndex === 'number')
        support.segment.endIndex = Math.min(support.segment.endIndex, bytesOfText(candidate))
    }
    if (chunks.length > 0) meta.groundingChunks = [...new Set(chunks.map(sortedText))].sort()
    if (Array.isArray(meta.groundingSupports)) meta.groundingSupports = meta.groundingSupports.map(sortedText).sort()
    for (const key of Object.keys(meta)) if (Array.isArray(meta[key]) && meta[key].length === 0) delete meta[key]
    if (Object.keys(meta).length === 0) delete candidate.groundingMetadata
  }
  for (const source of isObject(recited) ? list(recited.citationSources) : []) {
    if (!isObject(source) || typeof source.endIndex !== 'number') continue
    source.startIndex ??= 0
    source.endIndex = Math.min(source.endIndex, bytesOfText(candidate))
    source.startIndex = Math.min(Number(source.startIndex), source.endIndex)
  }
}

describe.skipIf(!present)('recorded gemini answers', () => {
  const answers = exchanges.flatMap(({ path, response }) => {
    const body = response.status === 200 && !isStream(response.body) ? parsed(response.body) : undefined
    return isObject(body) && body.candidates !== undefined ? [{ path, body }] : []
  })

  test('come back from the IR as they were', () => {
    expect(answers.length).toBeGreaterThan(500)
    for (const { path, body } of answers) {
      const context = contextFor()
      const decoded = geminiCodec.decodeResponse(structuredClone(body), context)
      if (decoded.choices.every(({ parts, finish }) => parts.length === 0 && finish.raw?.value === '')) {
        // Neither content nor a reason: an answer that is none.
        expect(() => geminiCodec.encodeResponse(decoded, context), path).toThrow()
        continue
      }
      const back = normalisedAnswer(geminiCodec.encodeResponse(decoded, context))
      const expected = normalisedAnswer(body)
      expected.modelVersion ??= 'm'
      expected.responseId ??= expect.any(String) as unknown as string
      for (const candidate of list(expected.candidates))
        for (const part of isObject(candidate) && isObject(candidate.content) ? list(candidate.content.parts) : [])
          if (isObject(part) && isObject(part.functionCall) && part.functionCall.id === 'made up')
            part.functionCall.id = expect.any(String) as unknown as string
      expect(back, path).toEqual(expected)
      expect(context.report.losses, path).toEqual([])
    }
  })

  test('say the same as a stream of one chunk', () => {
    for (const { path, body } of answers) {
      const whole = geminiCodec.decodeResponse(structuredClone(body), contextFor())
      if (whole.choices.some(({ finish }) => finish.raw?.value === '')) continue
      const folded = foldEvents(
        run(geminiCodec.decodeStream(contextFor({ stream: true })), [{ data: JSON.stringify(body) }]),
      )
      expect(said(folded), path).toEqual(said(whole))
      expect(folded.usage, path).toEqual(whole.usage)
      expect(
        folded.choices.map(({ finish }) => finish),
        path,
      ).toEqual(whole.choices.map(({ finish }) => finish))
    }
  })

  test('count thoughts and tools in their totals', () => {
    for (const { path, body } of answers) {
      const { usage } = geminiCodec.decodeResponse(structuredClone(body), contextFor())
      const counted = body.usageMetadata
      if (usage === undefined || !isObject(counted) || counted.totalTokenCount === undefined) continue
      const sum = usage.input.total + usage.output.total
      // Three recordings do not add up themselves.
      if (Math.abs(sum - Number(counted.totalTokenCount)) > 1000) continue
      expect(usage.input.total, path).toBe(
        Number(counted.promptTokenCount ?? 0) + Number(counted.toolUsePromptTokenCount ?? 0),
      )
    }
  })

  test('that are errors or nothing at all throw', () => {
    const others = exchanges.filter(
      ({ response }) =>
        response.status !== 200 || response.body.includes('"this"') || response.body.includes('"totalTokens"'),
    )
    expect(others.length).toBeGreaterThan(15)
    for (const { path, response } of others) {
      const body = isStream(response.body) ? eventsOf(response.body)[0]?.data : response.body
      expect(() => geminiCodec.decodeResponse(parsed(body ?? '') ?? '', contextFor()), path).toThrow()
    }
  })
})

describe.skipIf(!present)('recorded gemini streams', () => {
  const streams = exchanges.flatMap(({ path, response }) => {
    if (response.status !== 200) return []
    const array = response.body.trimStart().startsWith('[') ? parsed(response.body) : undefined
    const events: SseEvent[] = Array.isArray(array)
      ? array.map((chunk) => ({ data: JSON.stringify(chunk) }))
      : isStream(response.body)
        ? eventsOf(response.body)
        : []
    if (events.length === 0 || response.body.includes('"this"')) return []
    const chunks = events.map(({ data }) => parsed(data)).filter(isObject)
    const broken = chunks.some((chunk) => chunk.error)
    const whole = chunks.some((chunk) => /"(finishReason|blockReason)"/.test(JSON.stringify(chunk)))
    return [{ path, events, chunks, broken, whole }]
  })
  const decode = (events: readonly SseEvent[]): ModelEvent[] =>
    run(geminiCodec.decodeStream(contextFor({ stream: true })), events)

  test('end well, or in the one error they hold', () => {
    expect(streams.length).toBeGreaterThan(80)
    for (const { path, events, broken, whole } of streams) {
      const out = decode(events)
      expect(out.at(-1)?.type, path).toBe(broken || !whole ? 'error' : 'response-end')
      expect(
        out.filter(({ type }) => type === 'error'),
        path,
      ).toHaveLength(broken || !whole ? 1 : 0)
    }
  })

  test('fold to what their chunks say, and again after being written anew', () => {
    for (const { path, events, chunks, broken, whole } of streams) {
      if (broken || !whole) continue
      const out = decode(events)
      const folded = foldEvents(out)
      const parts = chunks
        .flatMap((chunk) => list(chunk.candidates).slice(0, 1))
        .flatMap((candidate) =>
          isObject(candidate) && isObject(candidate.content) ? list(candidate.content.parts) : [],
        )
        .filter(isObject)
      const text = parts.map((part) => (part.thought === true ? '' : (part.text ?? ''))).join('')
      expect(textOf(folded.choices[0]?.parts ?? [], 'text'), path).toBe(text)
      const signatures = parts.flatMap((part) => (part.thoughtSignature === undefined ? [] : [part.thoughtSignature]))
      const kept = (folded.choices[0]?.parts ?? []).flatMap((part) =>
        part.type === 'native'
          ? [part.value.thoughtSignature]
          : 'seal' in part && part.seal !== undefined
            ? [part.seal.data.replace(/^@[a-z]+:/, '')]
            : [],
      )
      expect(kept.filter(Boolean), path).toEqual(signatures)
      const counted = chunks.findLast((chunk) => isObject(chunk.usageMetadata))?.usageMetadata
      if (isObject(counted) && counted.promptTokenCount !== undefined)
        expect(folded.usage?.input.total, path).toBe(
          Number(counted.promptTokenCount) + Number(counted.toolUsePromptTokenCount ?? 0),
        )
      const sent = run(geminiCodec.encodeStream(contextFor({ stream: true })), out)
      const again = foldEvents(decode(sent))
      expect(unmarked(said(again)), path).toEqual(unmarked(said(folded)))
      expect(again.usage?.output, path).toEqual(folded.usage?.output)
      expect(
        again.choices.map(({ finish }) => finish.reason),
        path,
      ).toEqual(folded.choices.map(({ finish }) => finish.reason))
      for (const event of sent.slice(0, -1)) expect(event.data, path).not.toContain('finishReason')
      const extras = out.flatMap((event) => (event.type === 'choice-end' ? [event.extra] : []))
      const extrasAgain = decode(sent).flatMap((event) => (event.type === 'choice-end' ? [event.extra] : []))
      expect(extrasAgain, path).toEqual(extras)
      expect(
        again.choices.map((choice) => citationsOf(choice.parts)),
        path,
      ).toEqual(folded.choices.map((choice) => citationsOf(choice.parts)))
    }
  })

  test('cut anywhere end in exactly one error and no ending', () => {
    const sound = streams.filter((stream) => stream.whole && !stream.broken && stream.events.length > 1)
    fc.assert(
      fc.property(
        fc.nat(sound.length - 1),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (which, where) => {
          const events = sound[which]?.events ?? []
          const end = events.findIndex(({ data }) => /"(finishReason|blockReason)"/.test(data))
          const out = decode(events.slice(0, Math.floor(where * end)))
          expect(out.filter(({ type }) => type === 'error')).toHaveLength(1)
          expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
          expect(out.some(({ type }) => type === 'response-end' || type === 'choice-end')).toBe(false)
          const sent = run(geminiCodec.encodeStream(contextFor({ stream: true })), out)
          expect(sent.filter(({ data }) => data.startsWith('{"error"'))).toHaveLength(1)
          expect(sent.some(({ data }) => data.includes('finishReason'))).toBe(false)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('are tapped with the same usage and ending as they decode to', () => {
    for (const { path, events, broken, whole } of streams) {
      const tap = geminiCodec.tapStream({ withholdUsage: false, target })
      for (const event of events) expect(tap.push(event), path).toBe(true)
      expect(tap.ended, path).toBe(false)
      tap.end?.()
      const folded = foldEvents(decode(events))
      expect(tap.error !== undefined, path).toBe(broken)
      expect(tap.ended, path).toBe(whole && !broken)
      if (broken || !whole) continue
      expect(tap.started, path).toBe(true)
      expect(tap.usage, path).toEqual(folded.usage)
      expect(tap.finish, path).toBe(folded.choices[0]?.finish.raw?.value)
    }
  })
})

const citationsOf = (parts: readonly Part[]) =>
  parts.flatMap((part) => (part.type === 'text' ? (part.citations ?? []) : []))

/** Written anew, a signature on a text stands on an empty text behind it. */
const unmarked = (choices: ReturnType<typeof said>) =>
  choices.map((choice) => ({ ...choice, seals: choice.seals.map((seal) => seal.replace(/^@(text|empty):/, '')) }))
