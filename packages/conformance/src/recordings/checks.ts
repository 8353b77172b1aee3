import { type Gateway, openaiCompatible } from '@modelgate/core'
import { expect } from 'vitest'
import type { ResponseContent } from '../base/content/content.ts'
import { readRecording } from '../base/content/recording.ts'
import { gatewayTo } from '../base/gateways.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import type { Exchange } from '../base/recorded-traffic.ts'
import type { ServedBytes } from '../base/upstream-fetch.ts'

/** These vendors end streams with the finish reason only; a quirk of the upstream configures this. */
const vendorsWithoutDone = new Set(['perplexity', 'gpustack'])

/** Use of a recording: a response to compare, a broken response that must stay broken, or neither. */
export type Use =
  | { kind: 'answer'; read: ResponseContent }
  | { kind: 'broken'; why: string }
  | { kind: 'excluded'; why: string }

export function useOf(exchange: Exchange): Use {
  const { features, method, stream, answer, format } = exchange
  if (features.has('concatenated_streams')) return { kind: 'excluded', why: 'several streams in one file' }
  if (method !== 'POST') return { kind: 'excluded', why: 'not a generation call' }
  if (stream && (answer.match(/"type": ?"message_start"/g) ?? []).length > 1)
    return { kind: 'excluded', why: 'several messages in one stream' }
  if (format === 'gemini' && stream && answer.trimStart().startsWith('['))
    return { kind: 'excluded', why: 'an array, which the gateway never requests of an upstream' }
  if (stream && !/^(data|event|:)/m.test(answer))
    return { kind: 'broken', why: 'documentation instead of an event stream' }
  if (format === 'gemini' && !stream && endsInFault(answer))
    return { kind: 'broken', why: 'a failure that other formats can only express as an error' }
  // The text of their events differs from that of their final event.
  if (exchange.path.includes('openai-shell-container') && stream)
    return { kind: 'excluded', why: 'handwritten and inconsistent' }
  const read = readRecording(exchange, vendorsWithoutDone.has(exchange.vendor))
  if (read !== undefined) return { kind: 'answer', read }
  return { kind: 'broken', why: stream ? 'ends in an error or without an end' : 'the body is not a response' }
}

/** Returns true if the model made an invalid call, or the server ended the response for its own reason. */
function endsInFault(answer: string): boolean {
  const candidate = objectOf(listOf(objectOf(parseJson(answer)).candidates)[0])
  return (
    candidate.finishReason === 'UNEXPECTED_TOOL_CALL' ||
    (candidate.finishReason === 'OTHER' && candidate.content === undefined)
  )
}

/** Creates a gateway with an upstream of the vendor that gave this response. */
export const gatewayFor = (exchange: Exchange, fetch: ServedBytes['fetch']): Gateway =>
  gatewayTo(exchange.format, {
    fetch,
    ...(exchange.format === 'chat' && vendorsWithoutDone.has(exchange.vendor)
      ? { upstream: openaiCompatible({ baseURL: 'http://upstream.test/v1', quirks: { doneOptional: true } }) }
      : {}),
  })

/** Returns the body of a recorded generation call; undefined if the recording has none. */
export const requestOf = ({ method, request }: Exchange): JsonObject | undefined =>
  method === 'POST' && isObject(request) ? request : undefined

/** Some formats join several pieces of reasoning with blank lines. */
const joined = (text: string): string => text.replaceAll(/\s+/g, '')

/** Expects the client's result to equal the recording; usage only as far as the recording has it. */
export function expectSame(text: ResponseContent, read: ResponseContent): void {
  // A format without refusals returns them as text.
  expect(text.text + text.refusal).toBe(read.text + read.refusal)
  // Formats without freeform tools carry plain input as the only field of an object.
  const plain = ({ name, input }: ResponseContent['tools'][number]): unknown => ({
    name,
    input: typeof input === 'string' ? { input } : input,
  })
  expect(text.tools.map(plain)).toEqual(read.tools.map(plain))
  expect(joined(text.reasoning)).toBe(joined(read.reasoning))
  if (read.usage === undefined) return
  expect(text.usage?.output).toBe(read.usage.output)
  // One vendor counts more cached input than input, which makes the total undefined.
  if ((read.usage.cacheRead ?? 0) <= read.usage.input) expect(text.usage?.input).toBe(read.usage.input)
  expect(text.usage?.cacheRead ?? 0).toBe(read.usage.cacheRead ?? 0)
  expect(text.usage?.reasoning ?? 0).toBe(read.usage.reasoning ?? 0)
}

/** Counts successes by name, and collects failures until all recordings are checked. */
export interface Tally {
  readonly counts: Readonly<Record<string, number>>
  count(what: string): void
  check(name: string, exchange: Exchange, what: () => void | Promise<void>): Promise<void>
  expectNoneWrong(): void
}

export function createTally(): Tally {
  const counts: Record<string, number> = {}
  const wrong: string[] = []
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  return {
    counts,
    count,
    async check(name, exchange, what) {
      try {
        await what()
        count(name)
      } catch (error) {
        wrong.push(`${name} ${exchange.path}: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
    expectNoneWrong() {
      const found = wrong.splice(0)
      expect(found.slice(0, Number(process.env.SHOW ?? 25)), `${found.length} recordings failed`).toEqual([])
    },
  }
}
