import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGateway, type FinishEvent, gemini, openai } from '@modelgate/core'
import { describe, expect, test } from 'vitest'
import { objectOf, parseJson, textOf } from '../base/json.ts'
import { whyNoRecordings } from '../base/recorded-traffic.ts'

interface Recording {
  readonly path: string
  readonly format: string
  readonly url: string
  readonly status: number
  readonly request: unknown
  readonly requestType: string
  readonly type: string
  readonly answer: Buffer
}

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')
const index = join(folder, 'fixtures', 'INDEX.tsv')

function readRecording(path: string, format: string): Recording {
  const { request, response } = JSON.parse(readFileSync(join(folder, 'fixtures', path), 'utf8'))
  const type = response.headers?.['content-type'] ?? response.headers?.['Content-Type']
  return {
    path,
    format,
    url: request.url ?? '',
    status: response.status,
    request: request.body,
    requestType: textOf(request.headers?.['content-type']),
    type: textOf(Array.isArray(type) ? type[0] : type) || 'application/json',
    answer:
      response.body_base64 === undefined
        ? Buffer.from(typeof response.body === 'string' ? response.body : JSON.stringify(response.body))
        : Buffer.from(response.body_base64, 'base64'),
  }
}

const recordings = existsSync(index)
  ? readFileSync(index, 'utf8')
      .split('\n')
      .map((line) => line.split('\t'))
      .filter((cells) => ['images', 'audio', 'gemini-images'].includes(cells[6] ?? ''))
      // Its body is a whole response as JSON, status and headers included, which no provider sends.
      .filter(([path]) => path?.endsWith('/packages__groq__src____fixtures____groq-transcription-text.json') === false)
      .map((cells) => readRecording(cells[0] ?? '', cells[6] ?? ''))
  : []

const operations = ['images/generations', 'images/edits', 'audio/transcriptions', 'audio/translations', 'audio/speech']

/** Returns the endpoint below `/v1`, derived from the request or the response if the recording has no URL. */
function endpointOf({ url, format, answer, path }: Recording): string {
  const named = operations.find((one) => url.includes(one))
  if (named !== undefined) return named
  if (format === 'audio') return 'audio/transcriptions'
  return path.includes('edit') && answer.length > 0 ? 'images/edits' : 'images/generations'
}

/** Returns the recorded request if complete, else a similar one: many uploads were truncated by the recorder. */
function bodyOf(recording: Recording): { body: string | FormData | Blob; streams: boolean } {
  const own = objectOf(recording.request)
  const streams = recording.type.includes('event-stream')
  if (typeof own.prompt === 'string' || typeof own.input === 'string')
    return { body: JSON.stringify({ ...own, model: 'recorded' }), streams }
  const upload = Buffer.from(textOf(own.$base64), 'base64')
  if (upload.toString('latin1').trimEnd().endsWith('--'))
    return { body: new Blob([new Uint8Array(upload)], { type: recording.requestType }), streams }
  const fields = { model: 'recorded', prompt: 'x', input: 'x', voice: 'alloy', ...(streams ? { stream: true } : {}) }
  if (!recording.url.includes('audio') && recording.format !== 'audio') return { body: JSON.stringify(fields), streams }
  const form = new FormData()
  form.append('file', new File([new Uint8Array(100)], 'a.wav', { type: 'audio/wav' }))
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  return { body: form, streams }
}

async function replay(recording: Recording, body: string | FormData | Blob, endpoint: string) {
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openai({ baseURL: 'http://up/v1' }), google: gemini({ baseURL: 'http://up' }) },
    models: { '*': 'up', 'imagen-*': 'google' },
    plugins: [{ name: 'test', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: async () =>
      new Response(new Uint8Array(recording.answer), {
        status: recording.status,
        headers: { 'content-type': recording.type },
      }),
  })
  const reply = await gateway.fetch(`http://gw/v1/${endpoint}`, {
    method: 'POST',
    body,
    ...(typeof body === 'string' ? { headers: { 'content-type': 'application/json' } } : {}),
  })
  return { reply, bytes: Buffer.from(await reply.arrayBuffer()), finished }
}

const messageIn = (bytes: Buffer): string => textOf(objectOf(objectOf(parseJson(bytes.toString())).error).message)

describe.skipIf(recordings.length === 0)(
  `recorded images and audio${recordings.length === 0 ? `: ${whyNoRecordings}` : ''}`,
  () => {
    const good = recordings.filter(({ status, format }) => status === 200 && format !== 'gemini-images')
    test.each(good.map((recording) => [recording.path, recording] as const))(
      'pass unchanged: %s',
      async (_path, recording) => {
        const { body, streams } = bodyOf(recording)
        const { reply, bytes, finished } = await replay(recording, body, endpointOf(recording))
        expect(reply.status).toBe(200)
        // Examples of the documentation lack the final blank line of a stream.
        expect(streams ? bytes.toString().trimEnd() : bytes).toEqual(
          streams ? recording.answer.toString().trimEnd() : recording.answer,
        )
        expect(finished).toMatchObject([{ outcome: 'finished', lane: 'wire', stream: streams }])
        const { usage, data, duration } = objectOf(parseJson(bytes.toString()))
        if (Array.isArray(data)) expect(finished[0]?.units).toEqual({ images: data.length })
        const counted = objectOf(usage)
        if (typeof counted.input_tokens === 'number') expect(finished[0]?.usage?.input.total).toBe(counted.input_tokens)
        if (duration !== undefined) expect(finished[0]?.units?.seconds).toBeGreaterThan(0)
      },
    )

    const refused = recordings.filter(({ status, format }) => status !== 200 && format !== 'gemini-images')
    test.each(refused.map((recording) => [recording.path, recording] as const))(
      'pass the message of a rejection to the client: %s',
      async (_path, recording) => {
        const { reply, bytes } = await replay(recording, bodyOf(recording).body, endpointOf(recording))
        expect([reply.status, messageIn(bytes)]).toEqual([recording.status, messageIn(recording.answer)])
      },
    )

    const imagen = recordings.filter(({ format }) => format === 'gemini-images')
    test.each(imagen.map((recording) => [recording.path, recording] as const))(
      'report %s as an error in OpenAI’s dialect',
      async (_path, recording) => {
        const body = JSON.stringify({ model: 'imagen-3', prompt: 'x', n: 4 })
        const { reply, bytes, finished } = await replay(recording, body, 'images/generations')
        const recorded = objectOf(parseJson(recording.answer.toString()))
        const predictions = Array.isArray(recorded.predictions) ? recorded.predictions.map(objectOf) : []
        const images = predictions.flatMap(({ bytesBase64Encoded: data }) => (typeof data === 'string' ? [data] : []))
        if (images.length === 0) {
          expect(reply.status).toBe(400)
          const reason = predictions
            .map(({ raiFilteredReason }) => raiFilteredReason)
            .find((one) => typeof one === 'string')
          expect(messageIn(bytes)).toBe(reason ?? messageIn(recording.answer))
          return
        }
        const { data } = objectOf(parseJson(bytes.toString()))
        expect((Array.isArray(data) ? data : []).map((image) => objectOf(image).b64_json)).toEqual(images)
        expect(finished[0]?.units).toEqual({ images: images.length })
      },
    )
  },
)
