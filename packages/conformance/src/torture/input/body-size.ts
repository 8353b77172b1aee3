import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { pathOf } from '../../base/client-formats.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { Check, Target } from '../check.ts'
import { mb, ms, tally } from '../measurements.ts'
import { chunked, filler, headOf, type UploadResult, type UploadStep, uploadSlowly } from './slow-upload.ts'
import { type ObservedEffects, observeDuring, retryWhileSlow, withLimits } from './watch-process.ts'

/** Limit of our gateway; other gateways receive eight times as much. */
const bodyBytes = 8 * 1024 * 1024
const uploadBytes = 16 * 1024 * 1024
const foreignBytes = 64 * 1024 * 1024

interface Size {
  /** Size limits of a body and of an upload. */
  readonly body: number
  readonly upload: number
}

/** One way to exceed the limit. */
interface Way {
  readonly name: string
  readonly expected: readonly number[]
  /** The limit that bounds the memory use. */
  readonly limit: keyof Size
  steps(target: Target, marker: string, size: Size): Iterable<UploadStep>
}

const chatPath = pathOf('chat')
const json = { 'content-type': 'application/json' }
const openBody = (target: Target, marker: string): string =>
  `{"model":"${target.model(target.pairs[0]?.upstream ?? 'chat')}","messages":[{"role":"user","content":"${marker} `

/** Waits until the gateway has read everything on its way, so that only the excess byte is timed. */
const settled = { restMs: 150 } as const

const form = 'multipart/form-data; boundary=torture-boundary'
const formField = (name: string, more = ''): string =>
  `--torture-boundary\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`
const openForm = (target: Target): string =>
  `${formField('model')}${target.model('chat')}\r\n${formField('file', '; filename="a.wav"')}`
const formHead = (target: Target, headers: Record<string, string>): string =>
  headOf(target, '/v1/audio/transcriptions', { 'content-type': form, ...headers })

/** Tiny when compressed. Members of gzip may follow each other, so that a gigabyte is fast to create. */
const gigabyteOfGzip = (): Uint8Array => {
  const member = gzipSync(Buffer.alloc(8 * 1024 * 1024))
  return Buffer.concat(Array.from({ length: 128 }, () => member))
}
const zeros = (): Uint8Array => Buffer.alloc(128 * 1024 * 1024)
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

/** Support for compressed bodies is optional: 415 is as valid as 413. */
function bomb(encoding: string, make: () => Uint8Array): Way {
  return {
    name: `${encoding} bomb`,
    expected: [413, 415],
    limit: 'body',
    *steps(target) {
      const bytes = make()
      const length = { 'content-length': String(bytes.length), 'content-encoding': encoding }
      yield headOf(target, chatPath, { ...json, ...length })
      yield bytes.subarray(0, -1)
      yield settled
      yield 'mark'
      yield bytes.subarray(-1)
    },
  }
}

const ways: readonly Way[] = [
  {
    name: 'content-length',
    expected: [413],
    limit: 'body',
    *steps(target, marker, { body }) {
      const open = openBody(target, marker)
      const length = { 'content-length': String(body + 1) }
      yield 'mark'
      yield headOf(target, chatPath, { ...json, ...length })
      yield open
      yield* filler(body + 1 - open.length)
    },
  },
  {
    name: 'content-length without a body',
    expected: [413],
    limit: 'body',
    *steps(target, _marker, { body }) {
      yield 'mark'
      yield headOf(target, chatPath, { ...json, 'content-length': String(body * 1000) })
    },
  },
  {
    name: 'chunked',
    expected: [413],
    limit: 'body',
    *steps(target, marker, { body }) {
      const open = openBody(target, marker)
      yield headOf(target, chatPath, { ...json, 'transfer-encoding': 'chunked' })
      yield* chunked([open, ...filler(body - open.length)])
      yield settled
      yield 'mark'
      yield* chunked(['a'])
    },
  },
  {
    name: 'chunked without an end',
    expected: [413],
    limit: 'body',
    *steps(target, marker, { body }) {
      yield headOf(target, chatPath, { ...json, 'transfer-encoding': 'chunked' })
      yield* chunked([openBody(target, marker)])
      yield* chunked(filler(body * 4))
    },
  },
  {
    name: 'content-length that is too small',
    expected: [400],
    limit: 'body',
    *steps(target, marker, { body }) {
      yield 'mark'
      yield headOf(target, chatPath, { ...json, 'content-length': '10' })
      yield openBody(target, marker)
      yield* filler(body)
    },
  },
  {
    name: 'content-length that is too large',
    // A half-closed request may stay without a response, but must not become a call.
    expected: [400, 0],
    limit: 'body',
    *steps(target, marker) {
      yield headOf(target, chatPath, { ...json, 'content-length': '100000' })
      yield `${openBody(target, marker)}"}]}`
      yield 'end'
    },
  },
  {
    name: 'content-length beyond all numbers',
    expected: [400, 413],
    limit: 'body',
    *steps(target, marker) {
      yield 'mark'
      yield headOf(target, chatPath, { ...json, 'content-length': '9'.repeat(30) })
      yield openBody(target, marker)
    },
  },
  bomb('gzip', gigabyteOfGzip),
  bomb('deflate', () => deflateSync(zeros(), { level: 1 })),
  bomb('br', () => brotliCompressSync(zeros(), fast)),
  bomb('gzip, gzip', () => gzipSync(gigabyteOfGzip())),
  {
    name: 'multipart, content-length',
    expected: [413],
    limit: 'upload',
    *steps(target, _marker, { upload }) {
      const open = openForm(target)
      yield 'mark'
      yield formHead(target, { 'content-length': String(upload + 1) })
      yield open
      yield* filler(upload + 1 - open.length)
    },
  },
  {
    name: 'multipart, chunked',
    expected: [413],
    limit: 'upload',
    *steps(target, _marker, { upload }) {
      const open = openForm(target)
      yield formHead(target, { 'transfer-encoding': 'chunked' })
      yield* chunked([open, ...filler(upload - open.length)])
      yield settled
      yield 'mark'
      yield* chunked(['a'])
    },
  },
  {
    name: 'multipart, a field without an end',
    expected: [413],
    limit: 'upload',
    *steps(target, _marker, { upload }) {
      yield formHead(target, { 'transfer-encoding': 'chunked' })
      yield* chunked([formField('prompt')])
      yield* chunked(filler(upload - 10_000))
    },
  },
  {
    name: 'multipart, gzip bomb',
    expected: [413, 415],
    limit: 'upload',
    *steps(target) {
      const bytes = gzipSync(Buffer.concat([Buffer.from(openForm(target)), zeros()]), { level: 1 })
      yield formHead(target, { 'content-length': String(bytes.length), 'content-encoding': 'gzip' })
      yield bytes
    },
  },
]

interface Tried {
  readonly poured: UploadResult
  readonly noticed: ObservedEffects
  readonly reached: number
}

/** Milliseconds of the promise. */
const answerWithin = 50
const othersWithin = 50

/**
 * Oversized bodies in every form must be rejected at the first excess byte, while memory stays small and other clients
 * are unaffected. Each form is repeated many times. A slow result may be caused by the machine and has two more
 * attempts. Memory is bounded by the limit: `uploadBytes` for uploads, `bodyBytes` for all others.
 */
export const bodySize: Check = {
  row: 26,
  group: 'Input',
  title: 'Body size by CL, chunked, lying CL, gzip bomb, multipart',
  promise: '413 < 50 ms after the limit byte; RSS ≤ limit×3 + 20 MB; others ≤ 50 ms',
  perServer: true,
  async run(setting) {
    const target = await withLimits(setting, { bodyBytes, uploadBytes })
    const ours = target.local !== undefined
    const size: Size = ours ? { body: bodyBytes, upload: uploadBytes } : { body: foreignBytes, upload: foreignBytes }
    const complaints: string[] = []
    const slow: string[] = []
    const tries = setting.count(8, 1)
    let total = 0
    let slowest = 0
    let grown = 0
    let known = false
    let worst = 0
    let direct = 0

    for (const way of ways) {
      const room = size[way.limit] * 3 + 20_000_000
      // Created first, because compression takes this process longer than anything it measures.
      const marker = setting.upstream.play(sendGoodResponse)
      const steps = [...way.steps(target, marker.marker, size)]
      const once = async (): Promise<Tried> => {
        const before = marker.calls.length
        const { result, noticed } = await observeDuring(target, setting.upstream, () => uploadSlowly(target, steps))
        return { poured: result, noticed, reached: marker.calls.length - before }
      }
      const wrongOf = ({ poured, noticed, reached }: Tried): string | undefined => {
        if (!way.expected.includes(poured.status))
          return `received ${poured.status === 0 ? 'nothing' : poured.status}, expected ${way.expected.join(' or ')}`
        if (reached > 0) return `${reached} calls upstream`
        // A bomb reaches the limit before its last byte.
        if (poured.early && !way.name.includes('bomb')) return 'response before the limit was reached'
        if ((noticed.grownBytes ?? 0) > room)
          return `memory grew by ${mb(noticed.grownBytes ?? 0)}, allowed are ${mb(room)}`
        return noticed.failed > 0 ? `${noticed.failed} calls of another client failed` : undefined
      }
      const lateOf = ({ poured, noticed }: Tried): string | undefined => {
        if (poured.answerMs > answerWithin) return `responded after ${ms(poured.answerMs)}`
        return noticed.worstMs > othersWithin ? `another client waited ${ms(noticed.worstMs)}` : undefined
      }
      for (let round = 0; round < tries; round++) {
        const tried = await retryWhileSlow(
          once,
          (outcome) => wrongOf(outcome) !== undefined || lateOf(outcome) === undefined,
        )
        const wrong = wrongOf(tried)
        const late = wrong === undefined ? lateOf(tried) : undefined
        total++
        if (wrong !== undefined) complaints.push(`${way.name}: ${wrong}`)
        if (late !== undefined) slow.push(`${way.name}: ${late}`)
        const { poured, noticed } = tried
        if (poured.answerMs > slowest) slowest = poured.answerMs
        known ||= noticed.grownBytes !== undefined
        grown = Math.max(grown, noticed.grownBytes ?? 0)
        worst = Math.max(worst, noticed.worstMs)
        direct = Math.max(direct, noticed.directMs)
      }
      marker.end()
    }
    const limits = ours ? ` (limits ${mb(size.body)}, uploads ${mb(size.upload)})` : ' (its limits are unknown)'
    return {
      held: complaints.length === 0 && slow.length === 0,
      late: complaints.length === 0,
      figure:
        `${total - complaints.length - slow.length}/${total} in ${ways.length} forms rejected in time; slowest 413 after ${ms(slowest)};` +
        `${known ? `RSS + ${mb(grown)}` : 'RSS unknown'}${limits}; others ${ms(worst)} at worst (direct ${ms(direct)})`,
      notes: tally([...complaints, ...slow]),
    }
  },
}
