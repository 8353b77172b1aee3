import { type Gateway, openaiCompatible } from '@modelgate/core'
import { expect } from 'vitest'
import { gatewayTo } from '../base/gateways.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import type { Exchange } from '../base/recorded-traffic.ts'
import { type Answer, readRecording } from '../base/response-content.ts'
import type { ServedBytes } from '../base/upstream-fetch.ts'

/** These end their streams with the finish reason alone; a gateway is told so by a quirk of the upstream. */
const vendorsWithoutDone = new Set(['perplexity', 'gpustack'])

/** Use of a recording: an answer to compare, a broken answer that must stay broken, or neither. */
export type Use = { kind: 'answer'; read: Answer } | { kind: 'broken'; why: string } | { kind: 'excluded'; why: string }

export function useOf(exchange: Exchange): Use {
  const { features, method, stream, answer, format } = exchange
  if (features.has('concatenated_streams')) return { kind: 'excluded', why: 'several streams in one file' }
  if (method !== 'POST') return { kind: 'excluded', why: 'no generation call' }
  if (stream && (answer.match(/"type": ?"message_start"/g) ?? []).length > 1)
    return { kind: 'excluded', why: 'several messages in one stream' }
  if (format === 'gemini' && stream && answer.trimStart().startsWith('['))
    return { kind: 'excluded', why: 'an array, which the gateway never asks an upstream for' }
  if (stream && !/^(data|event|:)/m.test(answer)) return { kind: 'broken', why: 'documentation, no event stream' }
  if (format === 'gemini' && !stream && endsInFault(answer))
    return { kind: 'broken', why: 'a fault that other formats can only tell as an error' }
  // Their events tell another text than their end does.
  if (exchange.path.includes('openai-shell-container') && stream)
    return { kind: 'excluded', why: 'written by hand, and at odds with itself' }
  const read = readRecording(exchange, vendorsWithoutDone.has(exchange.vendor))
  if (read !== undefined) return { kind: 'answer', read }
  return { kind: 'broken', why: stream ? 'ends in an error or not at all' : 'the body is no answer' }
}

/** The model called what it may not, or gave no answer for a reason of the server's own. */
function endsInFault(answer: string): boolean {
  const candidate = objectOf(listOf(objectOf(parseJson(answer)).candidates)[0])
  return (
    candidate.finishReason === 'UNEXPECTED_TOOL_CALL' ||
    (candidate.finishReason === 'OTHER' && candidate.content === undefined)
  )
}

/** A gateway before the vendor that gave this answer. */
export const gatewayFor = (exchange: Exchange, fetch: ServedBytes['fetch']): Gateway =>
  gatewayTo(exchange.format, {
    fetch,
    ...(exchange.format === 'chat' && vendorsWithoutDone.has(exchange.vendor)
      ? { upstream: openaiCompatible({ baseURL: 'http://upstream.test/v1', quirks: { doneOptional: true } }) }
      : {}),
  })

/** The body of a recorded generation call; undefined where the recording kept none. */
export const requestOf = ({ method, request }: Exchange): JsonObject | undefined =>
  method === 'POST' && isObject(request) ? request : undefined

/** Several pieces of reasoning are one in some formats, set apart by blank lines. */
const joined = (text: string): string => text.replaceAll(/\s+/g, '')

/** Expects the client's result to equal the recording; usage only as far as the recording has it. */
export function expectSame(said: Answer, read: Answer): void {
  // A format without refusals says them as text.
  expect(said.text + said.refusal).toBe(read.text + read.refusal)
  // Formats without tools that take plain text: it travels as the only field of an object.
  const plain = ({ name, input }: Answer['tools'][number]): unknown => ({
    name,
    input: typeof input === 'string' ? { input } : input,
  })
  expect(said.tools.map(plain)).toEqual(read.tools.map(plain))
  expect(joined(said.reasoning)).toBe(joined(read.reasoning))
  if (read.usage === undefined) return
  expect(said.usage?.output).toBe(read.usage.output)
  // One vendor counts more cached input than input; what the total is then, nobody knows.
  if ((read.usage.cacheRead ?? 0) <= read.usage.input) expect(said.usage?.input).toBe(read.usage.input)
  expect(said.usage?.cacheRead ?? 0).toBe(read.usage.cacheRead ?? 0)
  expect(said.usage?.reasoning ?? 0).toBe(read.usage.reasoning ?? 0)
}

/** Counts what went well, by name, and keeps what did not until all recordings were looked at. */
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
      expect(found.slice(0, Number(process.env.SHOW ?? 25)), `${found.length} recordings came out wrong`).toEqual([])
    },
  }
}
