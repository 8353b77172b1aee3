import {
  codecOf,
  createSseDecoder,
  foldEvents,
  type ModelRequest,
  type ModelResponse,
  type Part,
  type ToolCallPart,
  type Turn,
} from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import { parsedInput } from '../base/content/content.ts'
import { parseJson } from '../base/json.ts'
import { type Exchange, haveRecordings, recordedExchanges, whyNoRecordings } from '../base/recorded-traffic.ts'
import { createTally, useOf } from '../recordings/checks.ts'
import { decodedRequest, describePart } from './parallel-facets.ts'
import { createExchange, run } from './support.ts'

if (!haveRecordings) console.log(`replay: ${whyNoRecordings}`)

/** Returns the recorded response in the IR. */
function decodedAnswer({ format, stream, answer }: Exchange, request: ModelRequest): ModelResponse {
  const codec = codecOf(format)
  const exchange = { ...createExchange(), request, target: { model: 'demo', quirks: { doneOptional: true } } }
  if (!stream) return codec.decodeResponse(parseJson(answer) ?? null, exchange)
  const decoder = createSseDecoder(1e8)
  return foldEvents(run(codec.decodeStream(exchange), [...decoder.pushText(answer), ...decoder.end()]))
}

/** Returns the part of the model's response that a client must keep when it sends it back. */
const spokenBy = (parts: readonly Part[]): unknown => ({
  text: parts
    .filter(({ type }) => type === 'text')
    .map(describePart)
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim(),
  calls: parts
    .filter((part): part is ToolCallPart => part.type === 'tool-call')
    .map(({ name, input }) => ({ name, input: parsedInput(input) })),
})

/** Returns consecutive calls of one conversation: the second sends the first one's response back. */
function pairsOf(exchanges: readonly Exchange[]): [Exchange, Exchange][] {
  const byPath = new Map(exchanges.map((exchange) => [exchange.path, exchange]))
  return exchanges.flatMap((exchange): [Exchange, Exchange][] => {
    const [, series, number] = /^(.*)\.(\d\d)\.json$/.exec(exchange.path) ?? []
    const next = byPath.get(`${series}.${String(Number(number) + 1).padStart(2, '0')}.json`)
    return next === undefined ? [] : [[exchange, next]]
  })
}

const sameTurn = (one: Turn | undefined, other: Turn | undefined): boolean =>
  one?.role === other?.role &&
  JSON.stringify(one?.parts.map(describePart)) === JSON.stringify(other?.parts.map(describePart))

/** Returns the following content of the assistant; some libraries write one turn per part. */
function repliesAt(at: number, turns: readonly Turn[]): Part[] {
  const rest = turns.slice(at)
  const end = rest.findIndex(({ role }) => role !== 'assistant')
  return (end < 0 ? rest : rest.slice(0, end)).flatMap(({ parts }) => parts)
}

/** Returns seals as bytes: some libraries re-encode them with the other base64 alphabet. */
const sealsOf = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => ('seal' in part && part.seal !== undefined ? [plain(part.seal.data)] : []))
/** The codec's prefix names the part that a seal signs; one library puts all signatures on thoughts. */
const plain = (seal: string): string =>
  seal
    .replace(/^@\w+:/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')

/** Changes that a library makes to a response before it sends it back. */
const changed: readonly { readonly where: RegExp; readonly reason: string }[] = [
  { where: /^crewai\/anthropic-messages\//, reason: 'the text next to tool calls is dropped' },
  { where: /(crew_with_tool|test_agents_and_tools)/, reason: 'the agent writes its own observations into the text' },
  { where: /cross_provider_capability_replay_google/, reason: 'the other provider responded in between' },
  { where: /tool_search/, reason: 'the tool has a namespace of its name, or search results are in between' },
]
/** Scenarios whose seals differ for a known reason. */
const cut: readonly RegExp[] = [
  // The recording truncated the response's seal, but not the request's.
  /image_generation_with_tool_output/,
  // An entry of `reasoning_details` is one seal; the library drops fields that it does not know.
  /chat_with_extended_thinking_openrouter/,
]

describe.skipIf(!haveRecordings)('recorded response that a client sends back', () => {
  const { counts, count, check, expectNoneWrong } = createTally()
  afterAll(() => {
    const reported = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`replay: recorded answers sent back by their clients: ${reported.join(' · ')}`)
  })

  test('decodes to the same content as the original', async () => {
    for (const [first, second] of pairsOf(recordedExchanges())) {
      const requested = decodedRequest(first)
      if (requested === undefined || useOf(first).kind !== 'answer') continue
      const at = requested.turns.length
      const later = decodedRequest(second)?.turns ?? []
      const replied = repliesAt(at, later)
      if (replied.length === 0 || !requested.turns.every((turn, index) => sameTurn(turn, later[index]))) continue
      const answered = decodedAnswer(first, requested).choices[0]?.parts ?? []
      if (JSON.stringify(spokenBy(replied)) !== JSON.stringify(spokenBy(answered))) {
        const known = changed.find(({ where }) => where.test(first.path))
        if (known !== undefined) {
          count(known.reason)
          continue
        }
      }
      await check(first.format, first, () => {
        expect(spokenBy(replied)).toEqual(spokenBy(answered))
        const seals = sealsOf(answered)
        for (const seal of cut.some((where) => where.test(first.path)) ? [] : sealsOf(replied)) {
          expect(seals).toContain(seal)
          count('of them seals')
        }
      })
    }
    expectNoneWrong()
    for (const [format, floor] of Object.entries({ chat: 90, messages: 55, gemini: 100, responses: 55 }))
      expect(counts[format], format).toBeGreaterThan(floor)
    expect(counts['of them seals']).toBeGreaterThan(100)
  })
})
