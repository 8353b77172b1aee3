import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { run } from '../chat/context.test-support.ts'
import type { ModelEvent, ModelResponse, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { geminiCodec } from './codec.ts'
import {
  contextFor,
  eventsOf,
  isStream,
  list,
  parsed,
  present,
  readExchanges,
  target,
} from './recorded.test-support.ts'

const exchanges = readExchanges()

/** The text, calls and thoughts of a response. */
const outputOf = (response: ModelResponse) =>
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

/** A response without members that have no meaning. */
function normalisedAnswer(body: JsonObject): JsonObject {
  const out = structuredClone(body)
  for (const [position, candidate] of list(out.candidates).entries()) {
    if (!isObject(candidate)) continue
    candidate.index = position
    candidate.finishReason ??= 'STOP' // a response with content and without a reason is complete
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

/** Grounding metadata with chunks in any order, and each support with its chunks in place of their numbers. */
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
      // Some of Google's offsets lie beyond the end of the text.
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

describe.skipIf(!present)('recorded gemini responses', () => {
  const answers = exchanges.flatMap(({ path, response }) => {
    const body = response.status === 200 && !isStream(response.body) ? parsed(response.body) : undefined
    return isObject(body) && body.candidates !== undefined ? [{ path, body }] : []
  })

  test('survive a round trip through the IR', () => {
    expect(answers.length).toBeGreaterThan(500)
    for (const { path, body } of answers) {
      const context = contextFor()
      const decoded = geminiCodec.decodeResponse(structuredClone(body), context)
      if (decoded.choices.every(({ parts, finish }) => parts.length === 0 && finish.raw?.value === '')) {
        // Neither content nor a reason: this is not a response.
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

  test('decode to the same response as a stream of one chunk', () => {
    for (const { path, body } of answers) {
      const whole = geminiCodec.decodeResponse(structuredClone(body), contextFor())
      if (whole.choices.some(({ finish }) => finish.raw?.value === '')) continue
      const folded = foldEvents(
        run(geminiCodec.decodeStream(contextFor({ stream: true })), [{ data: JSON.stringify(body) }]),
      )
      expect(outputOf(folded), path).toEqual(outputOf(whole))
      expect(folded.usage, path).toEqual(whole.usage)
      expect(
        folded.choices.map(({ finish }) => finish),
        path,
      ).toEqual(whole.choices.map(({ finish }) => finish))
    }
  })

  test('include thoughts and tool use in the totals of their usage', () => {
    for (const { path, body } of answers) {
      const { usage } = geminiCodec.decodeResponse(structuredClone(body), contextFor())
      const counted = body.usageMetadata
      if (usage === undefined || !isObject(counted) || counted.totalTokenCount === undefined) continue
      const sum = usage.input.total + usage.output.total
      // The totals of three recordings are inconsistent.
      if (Math.abs(sum - Number(counted.totalTokenCount)) > 1000) continue
      expect(usage.input.total, path).toBe(
        Number(counted.promptTokenCount ?? 0) + Number(counted.toolUsePromptTokenCount ?? 0),
      )
    }
  })

  test('throw if they hold an error or no candidate', () => {
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

  test('end with response-end, or with the one error they hold', () => {
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

  test('fold to the content of their chunks, before and after a round trip', () => {
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
      expect(unmarked(outputOf(again)), path).toEqual(unmarked(outputOf(folded)))
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

  test('end in exactly one error wherever they are cut', () => {
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

  test('give the tap the usage and the ending that they decode to', () => {
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
      // The decoder also keeps fields of earlier chunks.
      expect({ usage: folded.usage }, path).toMatchObject({ usage: tap.usage })
      expect(tap.finish, path).toBe(folded.choices[0]?.finish.raw?.value)
    }
  })
})

const citationsOf = (parts: readonly Part[]) =>
  parts.flatMap((part) => (part.type === 'text' ? (part.citations ?? []) : []))

/** The encoder moves a text's signature to an empty text after it. */
const unmarked = (choices: ReturnType<typeof outputOf>) =>
  choices.map((choice) => ({ ...choice, seals: choice.seals.map((seal) => seal.replace(/^@(text|empty):/, '')) }))
