import type { ClientFormat } from '../../base/client-formats.ts'
import { readResponse } from '../../base/content/client.ts'
import type { ResponseContent as Said, UsageTotals } from '../../base/content/content.ts'
import { type JsonObject, objectOf, parseJson } from '../../base/json.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, sendJson, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, Pair } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'

/** Distinct numbers for each field: seven in, two of them from a cache; eleven out, four of them reasoning. */
const counted: Readonly<Record<Format, JsonObject>> = {
  chat: {
    prompt_tokens: 7,
    prompt_tokens_details: { cached_tokens: 2 },
    completion_tokens: 11,
    completion_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 18,
  },
  messages: { input_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 0, output_tokens: 11 },
  gemini: {
    promptTokenCount: 7,
    cachedContentTokenCount: 2,
    candidatesTokenCount: 7,
    thoughtsTokenCount: 4,
    totalTokenCount: 18,
  },
  responses: {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 2 },
    output_tokens: 11,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 18,
  },
}

/** Returns the events with their data changed. */
const edited = (events: string, change: (data: JsonObject) => JsonObject): string =>
  events.replaceAll(
    /data: (\{.*\})/g,
    (_, json: string) => `data: ${JSON.stringify(change(objectOf(parseJson(json))))}`,
  )

const bare = (name: string) => (event: string) => edited(event, ({ [name]: _, ...data }) => data)
const dataEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const chat = (): Record<string, string[]> => {
  const [open = '', one = '', two = '', three = '', finish = '', usage = '', done = ''] = good.chat
  const words = [open, one, two, three]
  const alone = edited(usage, (data) => ({ ...data, usage: counted.chat }))
  const withIt = (event: string, count: JsonObject = counted.chat): string =>
    edited(event, (data) => ({ ...data, usage: count }))
  const running = words.map((event, at) =>
    withIt(event, { prompt_tokens: 7, completion_tokens: at, total_tokens: 7 + at }),
  )
  return {
    'with the finish': [...words, withIt(finish), done],
    'after the finish': [...words, finish, alone, done],
    'before the finish': [...words, alone, finish, done],
    'in every chunk': [...running, withIt(finish), done],
  }
}

const messages = (): Record<string, string[]> => {
  const [open = '', ...rest] = good.messages
  const [end = '', stop = ''] = rest.splice(-2)
  const start = (usage: JsonObject): string =>
    edited(open, ({ message, ...data }) => ({
      ...data,
      ...(message === undefined ? {} : { message: { ...objectOf(message), usage } }),
    }))
  const opened = start({ ...counted.messages, output_tokens: 1 })
  const finish = bare('usage')(end)
  const alone = `event: message_delta\n${dataEvent({ type: 'message_delta', delta: {}, usage: { output_tokens: 11 } })}`
  const withAll = edited(end, (data) => ({ ...data, usage: counted.messages }))
  return {
    'with the finish': [opened, ...rest, edited(end, (data) => ({ ...data, usage: { output_tokens: 11 } })), stop],
    'after the finish': [opened, ...rest, finish, alone, stop],
    'before the finish': [opened, ...rest, alone, finish, stop],
    'with the finish alone': [start({ input_tokens: 0, output_tokens: 0 }), ...rest, withAll, stop],
  }
}

const gemini = (): Record<string, string[]> => {
  const words = good.gemini.slice(0, -1).map(bare('usageMetadata'))
  const finish = bare('usageMetadata')(good.gemini.at(-1) ?? '')
  const withIt = (event: string): string => edited(event, (data) => ({ ...data, usageMetadata: counted.gemini }))
  const alone = dataEvent({ usageMetadata: counted.gemini, modelVersion: 'recorded', responseId: 'r1' })
  return {
    'with the finish': [...words, withIt(finish)],
    'after the finish': [...words, finish, alone],
    'before the finish': [...words, alone, finish],
    'in every chunk': [...words.map(withIt), withIt(finish)],
  }
}

/** Responses has one place for usage. */
const responses = (): Record<string, string[]> => ({
  'with the finish': good.responses.map((event) =>
    event.includes('"response.completed"')
      ? edited(event, (data) => ({ ...data, response: { ...objectOf(data.response), usage: counted.responses } }))
      : event,
  ),
})

const orders: Readonly<Record<Format, Record<string, string[]>>> = {
  chat: chat(),
  messages: messages(),
  gemini: gemini(),
  responses: responses(),
}

/** Returns the unstreamed response with these numbers. */
const wholeOf = (format: Format): string =>
  JSON.stringify({ ...wholeResponse[format], [format === 'gemini' ? 'usageMetadata' : 'usage']: counted[format] })

/** Counts that the responses of a format do not state apart. */
const lacking: Readonly<Partial<Record<ClientFormat, ReadonlySet<string>>>> = {
  ollama: new Set(['cached', 'reasoning']),
  converse: new Set(['reasoning']),
}

function sums(usage: UsageTotals | undefined, client: ClientFormat): string {
  if (usage === undefined) return 'no usage'
  const { input, cacheRead = 0, output, reasoning = 0 } = usage
  const apart = (name: string, count: number): string =>
    lacking[client]?.has(name) === true ? '' : ` (${count} ${name})`
  return `${input} in${apart('cached', cacheRead)}, ${output} out${apart('reasoning', reasoning)}`
}

/** Reads the usage of a response from its bytes. */
const usageIn = (format: ClientFormat, stream: boolean, answer: string): Said['usage'] =>
  readResponse(format, answer, stream)?.usage

interface Case extends Pair {
  readonly order: string
  readonly stream: boolean
  readonly answer: string
}

/** Billed usage, at every place where the upstream reports it. */
export const usage: Check = {
  row: 8,
  group: 'Streams',
  title: 'Usage',
  promise: 'usage event present and equal to the upstream’s for every order (with, after, before finish)',
  async run({ target, upstream, count }) {
    const cases = target.pairs.flatMap((pair): Case[] => [
      ...Object.entries(orders[pair.upstream]).map(([order, events]) => ({
        ...pair,
        order,
        stream: true,
        answer: events.join(''),
      })),
      { ...pair, order: 'in an unstreamed response', stream: false, answer: wholeOf(pair.upstream) },
    ])
    const rounds = Array.from({ length: count(20, 1) }, () => cases).flat()
    const complaints: string[] = []
    await inParallel(rounds, 8, async ({ order, stream, answer, ...pair }) => {
      const scene = upstream.play((call) => {
        if (!stream) return sendJson(call, 200, answer)
        beginStream(call)
        call.response.end(answer)
      })
      const asksForIt = stream && pair.client === 'chat' ? { more: { stream_options: { include_usage: true } } } : {}
      const got = await exchange(target, { ...pair, text: scene.marker, stream, ...asksForIt })
      scene.end()
      const text = sums(usageIn(pair.client, stream, got.text), pair.client)
      const due = sums(usageIn(pair.upstream, stream, answer), pair.client)
      if (text !== due) complaints.push(`${pair.client} from ${pair.upstream}, ${order}: ${text} instead of ${due}`)
    })
    return {
      held: complaints.length === 0,
      figure: `${rounds.length - complaints.length}/${rounds.length} equal (${cases.length} orders over ${target.pairs.length} pairs, streamed and unstreamed)`,
      notes: tally(complaints),
    }
  },
}
