import {
  type ClientFormat,
  clientFormatRows,
  clientFormats,
  namedIn,
  pathOf,
  queryOf,
  simpleRequest,
} from '../../base/client-formats.ts'
import type { JsonObject } from '../../base/json.ts'
import { operationCalls } from '../../fuzz/operations.ts'
import { attackedAnswers, errorBodies } from './answer-bodies.ts'
import { type Attack, attacksOn, formAttacks, formBoundary, unique } from './body-attacks.ts'
import { operationAnswers } from './operation-answers.ts'
import { attackedBodies, moreOperationCalls } from './request-bodies.ts'
import { plainStream, streamAttacks } from './stream-attacks.ts'
import { generating, type UpstreamFormat } from './targets.ts'
import { pumps } from './text-attacks.ts'

/** Response of an upstream. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: Uint8Array | string
}

/** A call with its attack. */
export interface Prepared {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Returns the response by the upstream path. */
  readonly answer: (path: string) => Answer
  /** The growing part: the body of the request or of the response. */
  readonly grown: string | Uint8Array
}

export type Side = 'request' | 'answer' | 'stream' | 'error'

/** One attack on one endpoint with one upstream. */
export interface Case {
  readonly endpoint: string
  /** `chat > messages`: the client's format and the name of the upstream. */
  readonly pair: string
  readonly side: Side
  /** Kind of the attack, for selecting samples. */
  readonly kind: string
  readonly attack: string
  readonly withMedia: boolean
  prepare(bytes: number): Prepared
}

const json = (status: number, body: JsonObject | string): Answer => ({
  status,
  type: 'application/json',
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const streamTypes = (speaks: UpstreamFormat): string =>
  speaks === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream'

const spokenAt: readonly (readonly [RegExp, UpstreamFormat])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/messages$/, 'messages'],
  [/enerateContent$/, 'gemini'],
  [/\/responses$/, 'responses'],
  [/\/converse(-stream)?$/, 'converse'],
]

/** Responses of each upstream to attacked requests, created once. */
const usual = new Map<string, Answer>()
function usualAnswer(path: string, stream: boolean): Answer {
  const key = `${path.replace(/.*(?=[/:])/, '')} ${stream}`
  let answer = usual.get(key)
  if (answer === undefined) {
    answer = makeUsual(path, stream)
    usual.set(key, answer)
  }
  return answer
}

function makeUsual(path: string, stream: boolean): Answer {
  const operation = operationAnswers.find((one) => one.path.test(path))
  if (operation !== undefined) return json(200, operation.body)
  const speaks = spokenAt.find(([end]) => end.test(path))?.[1] ?? 'chat'
  if (path.endsWith('/speech')) return { status: 200, type: 'audio/mpeg', body: 'bytes' }
  return stream || /stream/i.test(path)
    ? { status: 200, type: streamTypes(speaks), body: plainStream(speaks) }
    : json(200, attackedAnswers(speaks)[0] ?? {})
}

const headersOf = (format: ClientFormat): Record<string, string> => ({
  'content-type': 'application/json',
  ...clientFormatRows[format].headers,
})

interface Call {
  readonly endpoint: string
  readonly path: string
  readonly client: ClientFormat
  readonly stream: boolean
  readonly upstreams: readonly string[]
  /** Contains `anyModel` in place of the model's name. */
  readonly body: JsonObject
}

/** Placeholder of an upstream's name in `<name>-model`, so that attacks are created once for all upstreams. */
const anyUpstream = '@upstream@'
const anyModel = `${anyUpstream}-model`
const placed = (text: string, upstream: string): string => text.replaceAll(anyUpstream, upstream)

const generatingCalls: readonly Call[] = clientFormats.flatMap((client) =>
  attackedBodies(client).map((body): Call => {
    const { inPath, streamsByDefault } = clientFormatRows[client]
    const stream = !inPath && (body.stream ?? streamsByDefault) === true
    return {
      endpoint: decodeURIComponent(pathOf(client, { model: '{model}' })),
      path: decodeURIComponent(pathOf(client, { model: anyModel, stream })) + queryOf(client, { stream }),
      client,
      stream,
      upstreams: Object.keys(generating),
      body: clientFormatRows[client].inPath ? body : { model: anyModel, ...body },
    }
  }),
)

const operatingCalls: readonly Call[] = [...operationCalls, ...moreOperationCalls].map(
  ({ path, dialect, models, body }) => {
    const named = JSON.parse(JSON.stringify(body).replaceAll('{model}', anyModel)) as JsonObject
    return {
      endpoint: path,
      path: path.replaceAll('{model}', anyModel),
      client: dialect,
      stream: body.stream === true,
      upstreams: models,
      body: path.includes('{model}') ? named : { model: anyModel, ...named },
    }
  },
)

const explain = (call: Call): Call => ({
  ...call,
  endpoint: `${call.endpoint}?modelgate=explain`,
  path: `${call.path}${call.path.includes('?') ? '&' : '?'}modelgate=explain`,
})

interface RequestOptions {
  readonly withMedia?: true
  /** Selects the attacks. */
  readonly only?: (attack: Attack) => boolean
}

function requestCases(
  { endpoint, path, client, stream, body, upstreams }: Call,
  { withMedia, only = () => true }: RequestOptions = {},
): Case[] {
  const attacks = attacksOn(body).filter(only)
  return upstreams.flatMap((upstream, turn) =>
    attacks.filter(inTurn(turn, upstreams.length)).map(({ name, kind, write }) => ({
      endpoint,
      pair: `${client} > ${upstream}${withMedia ? ' with media' : ''}`,
      side: 'request',
      kind,
      attack: name,
      withMedia: withMedia === true,
      prepare(bytes) {
        const text = placed(write(bytes), upstream)
        return {
          path: placed(path, upstream),
          headers: headersOf(client),
          body: text,
          answer: (called) => usualAnswer(called, stream),
          grown: text,
        }
      },
    })),
  )
}

/**
 * Attacks on texts and maps are numerous and mostly run the same code for all upstreams: they rotate, so that each runs
 * on at least one pair.
 */
const inTurn =
  (turn: number, turns: number) =>
  ({ kind }: { readonly kind: string }, at: number): boolean =>
    (kind !== 'text' && kind !== 'map') || at % turns === turn

/** Formats that look up a tool's name or a call's arguments in the request need one. */
const tools: { readonly [F in ClientFormat]: JsonObject } = {
  chat: { tools: [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }] },
  messages: { tools: [{ name: 'lookup', input_schema: { type: 'object' } }] },
  gemini: { tools: [{ functionDeclarations: [{ name: 'lookup', parameters: { type: 'OBJECT' } }] }] },
  responses: { tools: [{ type: 'function', name: 'lookup', parameters: { type: 'object' }, strict: false }] },
  ollama: { tools: [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }] },
  converse: { toolConfig: { tools: [{ toolSpec: { name: 'lookup', inputSchema: { json: { type: 'object' } } } }] } },
}

/** Returns a small call whose response is attacked. */
function asking(client: ClientFormat, upstream: string, stream: boolean): Pick<Prepared, 'path' | 'headers' | 'body'> {
  const requested = { model: `${upstream}-model`, stream }
  const body = { ...simpleRequest(client, stream), ...tools[client] }
  return {
    path: pathOf(client, requested) + queryOf(client, requested),
    headers: headersOf(client),
    body: JSON.stringify({ ...body, ...namedIn(client, requested.model, stream) }),
  }
}

const answering = Object.entries(generating).filter(([name, { speaks }]) => name === speaks)

const caseOf = (
  shared: Pick<Case, 'endpoint' | 'pair'>,
  side: Side,
  { name, kind }: { readonly name: string; readonly kind: string },
  ask: Pick<Prepared, 'path' | 'headers' | 'body'>,
  write: (bytes: number) => Answer,
  at: RegExp = /./,
): Case => ({
  ...shared,
  side,
  kind,
  attack: name,
  withMedia: false,
  prepare(bytes) {
    const answer = write(bytes)
    return {
      ...ask,
      answer: (called) => (at.test(called) ? answer : usualAnswer(called, false)),
      grown: answer.body,
    }
  },
})

/** Returns cases of an attacked response from this upstream, for the clients of every format. */
function answerCases(upstream: string, speaks: UpstreamFormat): Case[] {
  const answers = attackedAnswers(speaks).flatMap(attacksOn)
  const streams = streamAttacks.filter((attack) => attack.speaks === speaks)
  const errors = errorBodies[speaks].flatMap((wrap, shape) =>
    pumps.map((pump) => ({
      name: `error ${shape + 1}: ${JSON.stringify(pump)} repeated`,
      kind: 'error',
      write: (bytes: number) =>
        json(shape === 1 ? 429 : 400, wrap(pump.repeat(Math.ceil(bytes / Buffer.byteLength(pump))))),
    })),
  )
  return clientFormats.flatMap((client, turn) => {
    const shared = { endpoint: pathOf(client, { model: 'm' }), pair: `${client} > ${upstream}` }
    const mine = inTurn(turn, clientFormats.length)
    const whole = asking(client, upstream, false)
    const streamed = asking(client, upstream, true)
    return [
      ...answers
        .filter(mine)
        .map((attack) => caseOf(shared, 'answer', attack, whole, (bytes) => json(200, attack.write(bytes)))),
      ...streams.filter(mine).map((attack) =>
        caseOf(shared, 'stream', attack, streamed, (bytes) => ({
          status: 200,
          type: streamTypes(speaks),
          body: attack.write(bytes),
        })),
      ),
      ...errors
        .filter((_, at) => at % clientFormats.length === turn)
        .map((attack) => caseOf(shared, 'error', attack, whole, attack.write)),
    ]
  })
}

/** Responses of other operations are parsed, too. */
function operationAnswerCases({ endpoint, path, client, upstreams, body }: Call): Case[] {
  return operationAnswers
    .filter(({ endpoints }) => endpoints.test(endpoint))
    .flatMap(({ path: at, body: answer }) => {
      const attacks = attacksOn(answer).map((attack) => ({ ...attack, name: `${at.source}: ${attack.name}` }))
      return upstreams.flatMap((upstream, turn) =>
        attacks.filter(inTurn(turn, upstreams.length)).map((attack) =>
          caseOf(
            { endpoint, pair: `${client} > ${upstream}` },
            'answer',
            attack,
            {
              path: placed(path, upstream),
              headers: headersOf(client),
              body: placed(JSON.stringify({ ...body, ...('stream' in body ? { stream: false } : {}) }), upstream),
            },
            (bytes) => json(200, attack.write(bytes)),
            at,
          ),
        ),
      )
    })
}

const uploads: readonly {
  readonly endpoint: string
  readonly upstreams: readonly string[]
  readonly fields: Readonly<Record<string, string>>
  readonly file: string
}[] = [
  {
    endpoint: '/v1/audio/transcriptions',
    upstreams: ['chat', 'gemini', 'mistral'],
    fields: {
      language: 'en',
      prompt: 'p',
      response_format: 'json',
      'timestamp_granularities[]': 'word',
      temperature: '0',
    },
    file: 'file',
  },
  { endpoint: '/v1/audio/translations', upstreams: ['chat', 'gemini'], fields: { prompt: 'p' }, file: 'file' },
  {
    endpoint: '/v1/images/edits',
    upstreams: ['chat', 'gemini'],
    fields: { prompt: 'a cat', n: '1', size: '1024x1024', user: 'u1' },
    file: 'image[]',
  },
  { endpoint: '/v1/images/variations', upstreams: ['chat'], fields: { n: '1', size: '1024x1024' }, file: 'image' },
]

const uploadCases = (): Case[] =>
  uploads.flatMap(({ endpoint, upstreams, fields, file }) =>
    upstreams.flatMap((upstream) =>
      formAttacks({ model: `${upstream}-model`, ...fields }, file).map(({ name, write }) => ({
        endpoint,
        pair: `chat > ${upstream}`,
        side: 'request' as const,
        kind: 'form',
        attack: name,
        withMedia: false,
        prepare(bytes: number) {
          const body = write(bytes)
          return {
            path: endpoint,
            headers: { 'content-type': `multipart/form-data; boundary=${formBoundary}` },
            body,
            answer: (called: string) => usualAnswer(called, false),
            grown: body,
          }
        },
      })),
    ),
  )

/** Returns every body without an attack. */
export const plainCalls = (): readonly { readonly name: string; readonly one: Case }[] =>
  [...generatingCalls, ...operatingCalls].flatMap((call, at) =>
    call.upstreams.map((upstream) => ({
      name: `${call.endpoint} ${call.client} > ${upstream}, body ${at}`,
      one: {
        endpoint: call.endpoint,
        pair: `${call.client} > ${upstream}`,
        side: 'request' as const,
        kind: 'plain',
        attack: 'none',
        withMedia: false,
        prepare: () => {
          const body = placed(JSON.stringify(call.body), upstream)
          return {
            path: placed(call.path, upstream),
            headers: headersOf(call.client),
            body,
            answer: (called: string) => usualAnswer(called, call.stream),
            grown: body,
          }
        },
      },
    })),
  )

const nameOf = ({ endpoint, pair, side, attack }: Case): string => `${side} ${endpoint} ${pair}: ${attack}`

/** Returns every attack on every endpoint, by name. */
export function allCases(): ReadonlyMap<string, Case> {
  const isLarge = ({ kind }: Attack): boolean => kind !== 'text' && kind !== 'map'
  const cases = [
    ...[...generatingCalls, ...operatingCalls].flatMap((call) => requestCases(call)),
    ...generatingCalls.flatMap((call) =>
      requestCases({ ...explain(call), upstreams: ['messages'] }, { only: isLarge }),
    ),
    ...generatingCalls.flatMap((call) =>
      requestCases(
        { ...call, upstreams: ['converse', 'gemini'] },
        { withMedia: true, only: (attack) => isLarge(attack) && /ur[il]/i.test(JSON.stringify(call.body)) },
      ),
    ),
    ...uploadCases(),
    ...answering.flatMap(([upstream, { speaks }]) => answerCases(upstream, speaks)),
    ...operatingCalls.flatMap(operationAnswerCases),
  ]
  return new Map(unique(cases.map((one) => ({ name: nameOf(one), one }))).map(({ name, one }) => [name, one]))
}
