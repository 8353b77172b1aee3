import { pathOf } from '../../base/client-formats.ts'
import { sendGoodResponse, sendJson, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Target } from '../check.ts'
import { bodyFor, headersFor } from '../client.ts'
import { ms, tally } from '../measurements.ts'
import { frames, hiding, largeHeads, type RawCase, type Words } from './framing-table.ts'
import { type UploadResult, type UploadStep, uploadSlowly } from './slow-upload.ts'

/** Milliseconds of the promise, and the tolerance of a timer sweep. */
const slowBodyWithin = 30_000
const toleranceMs = 1000

const chatPath = pathOf('chat')

const wordsFor = (target: Target, marker: string, hiddenMarker: string): Words => {
  const [pair] = target.pairs
  if (pair === undefined) throw new Error('the target serves no pair')
  const ask = { client: 'chat', upstream: pair.upstream, text: marker } as const
  const lines = Object.entries(headersFor(target, ask)).map(([name, value]) => `${name}: ${value}\r\n`)
  const { host } = new URL(target.origin)
  const headers = lines.join('')
  const hiddenBody = bodyFor(target, { ...ask, text: hiddenMarker })
  return {
    path: chatPath,
    host,
    headers,
    body: bodyFor(target, ask),
    hidden: `POST ${chatPath} HTTP/1.1\r\nhost: ${host}\r\n${headers}content-length: ${hiddenBody.length}\r\n\r\n${hiddenBody}`,
  }
}

/** Result of the cases of one kind. */
interface Asked {
  readonly complaints: string[]
  readonly total: number
}

/** Sends raw requests, each on a new connection; a hidden request must not reach the upstream. */
async function rawCases({ target, upstream }: CheckContext, cases: readonly RawCase[]): Promise<Asked> {
  const complaints: string[] = []
  for (const { name, steps, expected } of cases) {
    const carrier = upstream.play(sendGoodResponse)
    const smuggled = upstream.play(sendGoodResponse)
    const words = wordsFor(target, carrier.marker, smuggled.marker)
    const { status, closed } = await uploadSlowly(target, [Buffer.from(steps(words), 'latin1')], 2000)
    await sleep(10)
    // As part of a forwarded body, it is not a request.
    const calls = smuggled.calls.filter(({ body }) => body[0] === 0x7b)
    if (calls.length > 0 && status !== 200) complaints.push(`${name}: the hidden request reached the upstream`)
    else if (status === 0 && !closed) complaints.push(`${name}: neither a response nor a close within 2 s`)
    else if (!expected.includes(status))
      complaints.push(`${name}: received ${status === 0 ? 'nothing' : status}, expected ${expected.join(' or ')}`)
    else if (status >= 400 && carrier.calls.length > 0) complaints.push(`${name}: reached the upstream`)
    carrier.end()
    smuggled.end()
  }
  return { complaints, total: cases.length }
}

/** Sends Expect: known, unknown, and for a body that is rejected. */
async function expectations({ target, upstream }: CheckContext): Promise<Asked> {
  const complaints: string[] = []
  const scene = upstream.play(sendGoodResponse)
  const { path, host, headers, body } = wordsFor(target, scene.marker, '')
  const head = (more: string): string => `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}${more}\r\n`
  const length = `content-length: ${body.length}\r\n`
  const cases: readonly (readonly [string, UploadStep[], (poured: UploadResult) => boolean])[] = [
    [
      '100-continue',
      [head(`expect: 100-continue\r\n${length}`), { restMs: 100 }, body],
      ({ raw, status }) => raw.startsWith('HTTP/1.1 100') && status === 200,
    ],
    [
      '100-continue, sent without waiting',
      [head(`expect: 100-continue\r\n${length}`) + body],
      ({ status }) => status === 200,
    ],
    [
      '100-continue for an oversized body',
      [head('expect: 100-continue\r\ncontent-length: 100000000000\r\n')],
      ({ status }) => status === 413,
    ],
    ['tea', [head(`expect: tea\r\n${length}`) + body], ({ status }) => status === 417],
    ['200-ok', [head(`expect: 200-ok\r\n${length}`)], ({ status }) => status === 417],
  ]
  for (const [name, steps, isRight] of cases) {
    const poured = await uploadSlowly(target, steps, 3000)
    if (!isRight(poured)) complaints.push(`Expect: ${name}: ${JSON.stringify(poured.raw.slice(0, 100))}`)
  }
  scene.end()
  return { complaints, total: cases.length }
}

/** Sends wrong methods, and HEAD, which has no body. */
async function methods({ target, upstream }: CheckContext): Promise<Asked> {
  const complaints: string[] = []
  const { host, headers } = wordsFor(target, '', '')
  const posts = [...new Set(target.pairs.map(({ client }) => pathOf(client)))]
  const wrong = posts.flatMap((path) =>
    ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [method, path, 405] as const),
  )
  const cases: readonly (readonly [string, string, number])[] = [
    ...wrong,
    ['GET', '/v1/models', 200],
    ['HEAD', '/v1/models', 200],
    ['POST', '/v1/models', 405],
    ['OPTIONS', '/v1/models', 405],
    ['GET', '/v1/nothing', 404],
    ['HEAD', '/v1/nothing', 404],
  ]
  const before = upstream.requests
  for (const [method, path, expected] of cases) {
    const { raw, status } = await uploadSlowly(
      target,
      [`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`],
      3000,
    )
    const what = `${method} ${path}`
    const [head = '', body] = raw.split(/\r\n\r\n(.*)/s)
    if (status !== expected) complaints.push(`${what}: returned status ${status}`)
    else if (method === 'HEAD' && body !== '') complaints.push(`${what}: has a body`)
    else if (expected === 405 && !/^allow: .*(POST|GET)/im.test(head)) complaints.push(`${what}: has no Allow header`)
  }
  if (upstream.requests > before)
    complaints.push(`${upstream.requests - before} upstream calls for methods that are not allowed`)
  return { complaints, total: cases.length }
}

/** Sends pipelined requests: each must get its response in order, even if some fail. */
async function pipelined({ target, upstream, count }: CheckContext): Promise<Asked> {
  const complaints: string[] = []
  const rounds = count(50, 10)
  const each = 8
  for (let round = 0; round < rounds; round++) {
    const scene = upstream.play(async (call) => {
      const number = /number (\d)/.exec(call.body.toString())?.[1]
      // The first response is the last to be ready.
      await sleep(20 - 2 * Number(number))
      sendJson(call, 200, { ...wholeResponse.chat, id: `answer-${number}` })
    })
    const requests = Array.from({ length: each }, (_, place) => {
      const { path, host, headers, body } = wordsFor(target, `${scene.marker} number ${place}`, '')
      const to = place === 3 ? '/v1/nothing' : path
      return `POST ${to} HTTP/1.1\r\nhost: ${host}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`
    })
    const { raw } = await uploadSlowly(target, [requests.join(''), { restMs: 120 }], 2000)
    scene.end()
    const statuses = [...raw.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status).join(' ')
    const ids = [...raw.matchAll(/answer-(\d)/g)].map(([, id]) => id).join('')
    if (ids !== '0124567' || statuses !== '200 200 200 404 200 200 200 200')
      complaints.push(`pipelined: ${statuses || 'nothing'}, answers ${ids || 'none'}`)
  }
  return { complaints, total: rounds }
}

/** Simulates clients that never finish. Node's own time limit of heads is 60 s, checked every 30 s. */
async function slow({
  target,
  upstream,
}: CheckContext): Promise<{ readonly complaints: string[]; readonly figure: string }> {
  const scene = upstream.play(sendGoodResponse)
  const { path, host, headers, body } = wordsFor(target, scene.marker, '')
  const head = (more: string): string => `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}${more}\r\n`
  function* drip(begin: string, piece: string, seconds: number): Generator<UploadStep> {
    yield begin
    for (let second = 0; second < seconds; second++) {
      yield { restMs: 1000 }
      yield piece
    }
  }
  const long = 'content-length: 100000\r\n'
  const form = (more: string): string =>
    head(more).replace('application/json', 'multipart/form-data; boundary=b').replace(path, '/v1/audio/transcriptions')
  const bodies: readonly (readonly [string, Iterable<UploadStep>])[] = [
    ['a body byte by byte', drip(head(long) + body, ' ', 40)],
    ['chunks byte by byte', drip(head('transfer-encoding: chunked\r\n'), '1\r\na\r\n', 40)],
    ['no body at all', [head(long), { restMs: 40_000 }]],
    ['an upload byte by byte', drip(form(long), 'a', 40)],
  ]
  const heads: readonly (readonly [string, Iterable<UploadStep>])[] = [
    ['a head byte by byte', drip(`POST ${path} HTTP/1.1\r\nhost: ${host}\r\nx: `, 'y', 95)],
    ['half a head', [`POST ${path} HTTP/1.1\r\nhost`, { restMs: 95_000 }]],
  ]
  const complaints: string[] = []
  const slowest = async (cases: typeof bodies, within: number): Promise<number> => {
    const poured = await Promise.all(
      cases.map(async ([name, steps]) => {
        const { status, answerMs } = await uploadSlowly(target, timed(steps), 1000)
        if (status !== 408) complaints.push(`${name}: received ${status || 'nothing'} after ${ms(answerMs)}`)
        else if (answerMs > within + toleranceMs) complaints.push(`${name}: 408 after ${ms(answerMs)}`)
        return Number.isNaN(answerMs) ? 0 : answerMs
      }),
    )
    return Math.max(...poured)
  }
  const [body408, head408] = await Promise.all([slowest(bodies, slowBodyWithin), slowest(heads, 90_000)])
  if (scene.calls.length > 0) complaints.push('an unfinished request reached the upstream')
  scene.end()
  return {
    complaints,
    figure: `slow bodies 408 after ${(body408 / 1000).toFixed(0)} s at most, slow heads after ${(head408 / 1000).toFixed(0)} s`,
  }
}

function* timed(steps: Iterable<UploadStep>): Generator<UploadStep> {
  yield 'mark'
  yield* steps
}

/**
 * Requests with hostile framing or pace. The server's own parser decides most of them before any gateway: Node rejects
 * unreadable requests with a bare `400 Bad Request` and closes, heads above 16 kB with 431, unknown expectations with
 * 417, and unfinished heads with 408, after 60 s and at its next check, every 30 s. So these have no dialect. The
 * gateway decides methods, bodies that are rejected unread, and slow bodies (408 within 30 s). A second request hidden
 * in the first must never reach the upstream.
 */
export const framing: Check = {
  row: 33,
  group: 'Input',
  title: 'Framing/slow: CL+TE, 2×CL, LF, big headers, Expect, slow headers/body',
  promise: '400/417/431/408; slow body cut ≤ 30 s; HEAD/OPTIONS/405 right',
  perServer: true,
  async run(setting) {
    // Slow clients run parallel to all others, and only in the full form.
    const slowly = setting.short ? undefined : slow(setting)
    const parts = {
      frames: await rawCases(setting, frames),
      'large heads': await rawCases(setting, largeHeads),
      'hidden requests': await rawCases(setting, hiding),
      expectations: await expectations(setting),
      methods: await methods(setting),
      'pipelines of 8': await pipelined(setting),
    }
    const slowOnes = await slowly
    const complaints = [...Object.values(parts).flatMap((part) => part.complaints), ...(slowOnes?.complaints ?? [])]
    const counts = Object.entries(parts).map(
      ([name, part]) => `${Math.max(0, part.total - part.complaints.length)}/${part.total} ${name}`,
    )
    return {
      held: complaints.length === 0,
      figure: `${counts.join(', ')} correct; ${slowOnes?.figure ?? 'slow clients only in the full form'}`,
      notes: tally(complaints),
    }
  },
}
