import type { UpstreamFormat } from '@modelgate/core'
import { type ClientCodec, clientCodecs, type UpstreamCodec, upstreamCodecs } from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import { type Json, type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import { askingFor } from '../openapi/response-translations.ts'
import {
  injectionsInto,
  type Outcome,
  type StreamEvent,
  sendAnswer,
  sendRequest,
  sendStream,
  unknownField,
  unknownText,
  type Verdict,
  verdictOf,
} from './injection.ts'
import { answersOf, requestsOf } from './injection-samples.ts'
import { streamsOf } from './injection-streams.ts'

const pairs: readonly (readonly [ClientCodec, UpstreamCodec])[] = clientCodecs.flatMap((client) =>
  upstreamCodecs.filter(({ format }) => format !== client.format).map((upstream) => [client, upstream] as const),
)
const trips = pairs.map((pair) => ({ pair, client: pair[0].format, upstream: pair[1].format }))

const numbers = Array.from({ length: 20 }, (_, at) => at)
const numberAt = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

/** Maps a place in an event to pointers into the whole response, as loss reports name it. */
const placesIn: { readonly [F in UpstreamFormat]: (event: JsonObject, pointer: string) => readonly string[] } = {
  chat: (event, pointer) => [
    pointer,
    pointer.replace(/^\/choices\/(\d+)\/delta/, '/choices/$1/message'),
    pointer.replace('/delta/', '/message/').replace(/\/tool_calls\/(\d+)/, (_, at) => {
      const calls = listOf(objectOf(objectOf(listOf(event.choices)[0]).delta).tool_calls)
      return `/tool_calls/${numberAt(objectOf(calls[Number(at)]).index)}`
    }),
  ],
  messages: (event, pointer) => [
    pointer,
    pointer.replace(/^\/message/, ''),
    event.index === undefined
      ? pointer.replace(/^\/delta/, '')
      : `/content/${event.index}${pointer.replace(/^\/(delta|content_block)(?=\/)/, '')}`,
  ],
  // Only blocks that no other format has are dropped whole. Their number counts through the stream.
  gemini: (event, pointer) => {
    const found = /^\/candidates\/0\/content\/parts\/(\d+)(?<rest>.*)/.exec(pointer)
    const part = listOf(objectOf(objectOf(listOf(event.candidates)[0]).content).parts)[Number(found?.[1])]
    const isWhole = ['executableCode', 'codeExecutionResult', 'inlineData'].some((kind) => kind in objectOf(part))
    return isWhole ? numbers.map((at) => `/candidates/0/content/parts/${at}${found?.groups?.rest}`) : [pointer]
  },
  responses: (event, pointer) => [
    pointer,
    pointer.replace(/^\/response/, ''),
    `/output/${numberAt(event.output_index)}${pointer.replace(/^\/item(?=\/)/, '')}`,
    `/output/${numberAt(event.output_index)}/content/${numberAt(event.content_index)}${pointer.replace(/^\/part(?=\/)/, '')}`,
  ],
  converse: (event, pointer) => [
    pointer,
    `/output/message/content/${numberAt(event.contentBlockIndex)}${pointer.replace(/^\/(delta|start)(?=\/)/, '')}`,
  ],
}
const namesEvents: ReadonlySet<UpstreamFormat> = new Set(['messages', 'responses', 'converse'])
const nameOf = (event: string, data: Json): string => {
  const { delta, content_block, item, part } = objectOf(data)
  const kinds = [delta, content_block, item, part]
    .map((one) => textOf(objectOf(one).type))
    .filter((kind) => kind !== '')
  return [event, ...kinds].join(' ')
}

/** Exempt places with the reasons. */
const exempt: readonly { readonly from: UpstreamFormat; readonly shape: RegExp; readonly why: string }[] = [
  {
    from: 'responses',
    shape: /^(response\.\w+ \/response)?\/(reasoning|text|tool_choice|tools|prompt)\//,
    why: 'a response repeats the settings of its request, which the gateway wrote',
  },
  {
    from: 'responses',
    shape: /^response\.\w+\.done .*\/bytes\/\*$/,
    why: 'the events at the end of a text repeat the bytes of its tokens, which follow from their texts',
  },
]

class Tally {
  readonly counts: Record<Verdict, number> = { kept: 0, reported: 0, refused: 0, silent: 0 }
  readonly wrong: string[] = []
  exempt = 0
  readonly #seen = new Set<string>()

  readonly #from: UpstreamFormat | undefined

  constructor(from?: UpstreamFormat) {
    this.#from = from
  }

  isNew(shape: string): boolean {
    if (this.#seen.has(shape)) return false
    this.#seen.add(shape)
    return true
  }

  count(places: readonly string[], outcome: Outcome, baseline: Outcome, shape: string): void {
    for (const { path, detail } of outcome.losses)
      if (path === '' || detail === '') this.wrong.push(`nameless '${path}' '${detail}' ${shape}`)
    const verdict = verdictOf(places, outcome, baseline)
    if (verdict === 'silent' && exempt.some((one) => this.#from === one.from && one.shape.test(shape))) {
      this.exempt++
      return
    }
    this.counts[verdict]++
    if (verdict === 'silent' || verdict === 'refused') this.wrong.push(`${verdict} ${shape}`)
  }
}

const tallies = new Map<string, Tally>()
function tallyOf(kind: string, from?: UpstreamFormat): Tally {
  const tally = new Tally(from)
  tallies.set(kind, tally)
  return tally
}

describe('unknown field in every object and unknown element in every list', () => {
  afterAll(() => {
    const totals = new Map<string, Record<string, number>>()
    for (const [name, { counts, exempt: passed }] of tallies) {
      const kind = name.split(' ')[0] ?? ''
      const sum = totals.get(kind) ?? {}
      for (const [verdict, number] of Object.entries(counts)) sum[verdict] = (sum[verdict] ?? 0) + number
      sum.exempt = (sum.exempt ?? 0) + passed
      totals.set(kind, sum)
    }
    for (const [kind, sum] of totals)
      console.log(
        `injection: ${kind} ${Object.entries(sum)
          .map(([verdict, number]) => `${number} ${verdict}`)
          .join(', ')}`,
      )
  })

  test.each(trips)('of a request arrives or is reported: $client → $upstream', ({ pair: [client, upstream] }) => {
    const tally = tallyOf(`requests ${client.format} ${upstream.format}`)
    for (const body of requestsOf[client.format]) {
      const baseline = sendRequest(client, upstream, body)
      for (const { pointer, shape, body: injected } of injectionsInto(body)) {
        if (!tally.isNew(shape)) continue
        tally.count([pointer], sendRequest(client, upstream, objectOf(injected)), baseline, shape)
      }
    }
    expect(tally.wrong, tally.wrong.join('\n')).toEqual([])
  })

  test.each(trips)('of a response arrives or is reported: $upstream → $client', ({ pair: [client, upstream] }) => {
    const tally = tallyOf(`answers ${upstream.format} ${client.format}`, upstream.format)
    const request = askingFor(client.format, false)
    for (const body of answersOf[upstream.format]) {
      const baseline = sendAnswer(client, upstream, request, body)
      for (const { pointer, shape, body: injected } of injectionsInto(body)) {
        if (!tally.isNew(shape)) continue
        tally.count([pointer], sendAnswer(client, upstream, request, injected), baseline, shape)
      }
    }
    expect(tally.wrong, tally.wrong.join('\n')).toEqual([])
  })

  test.each(trips)('of a stream arrives or is reported: $upstream → $client', ({ pair: [client, upstream] }) => {
    const tally = tallyOf(`events ${upstream.format} ${client.format}`, upstream.format)
    const request = askingFor(client.format, true)
    for (const events of streamsOf[upstream.format]) {
      const baseline = sendStream(client, upstream, request, events)
      const probe = (
        at: number,
        remove: number,
        event: StreamEvent,
        places: readonly string[],
        shape: string,
      ): void => {
        if (!tally.isNew(shape)) return
        const changed = [...events.slice(0, at), event, ...events.slice(at + remove)]
        tally.count(places, sendStream(client, upstream, request, changed), baseline, shape)
      }
      for (const [at, { event, data }] of events.entries()) {
        if (typeof data === 'string') continue
        for (const { pointer, shape, body } of injectionsInto(data))
          probe(
            at,
            1,
            { event, data: body },
            placesIn[upstream.format](objectOf(data), pointer),
            `${nameOf(event, data)} ${shape}`,
          )
      }
      const unknown = { type: unknownField, [unknownField]: unknownText }
      probe(
        2,
        0,
        { event: namesEvents.has(upstream.format) ? unknownField : '', data: unknown },
        [`/${unknownField}`],
        'an unknown event',
      )
    }
    expect(tally.wrong, tally.wrong.join('\n')).toEqual([])
  })
})
