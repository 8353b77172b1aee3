import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servers } from '../base/servers.ts'
import { eventResponse, jsonResponse, type MediaUpstream, sha256, useMediaFixture } from './multipart-fixture.ts'

const sound = Buffer.alloc(3_000_000, 'RIFF\r\n--\0WAVE')
const delta = 'data: {"type":"transcript.text.delta","delta":"Hel"}\n\n'
const done = 'data: {"type":"transcript.text.done","text":"Hello"}\n\n'

for (const server of servers)
  describe(server.name, () => {
    let upstream: MediaUpstream
    let client: OpenAI
    let folder: string
    let wav: string
    useMediaFixture(server, (setting) => {
      upstream = setting.upstream
      client = setting.client
    })
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'audio-sdk-'))
      wav = join(folder, 'ünï "1".wav')
      await writeFile(wav, sound)
    })
    afterAll(() => rm(folder, { recursive: true }))

    test('creates a transcription from a file stream', async () => {
      upstream.answer = (_call, res) => jsonResponse(res, { text: 'Hello', duration: 2, segments: [] })
      const answer = await client.audio.transcriptions.create({
        file: createReadStream(wav),
        model: 'alias',
        response_format: 'verbose_json',
        timestamp_granularities: ['word', 'segment'],
      })
      expect(answer).toMatchObject({ text: 'Hello', duration: 2 })
      expect(upstream.calls[0]).toMatchObject({
        path: '/v1/audio/transcriptions',
        fields: { model: ['real'], 'timestamp_granularities[]': ['word', 'segment'] },
        files: [{ name: 'file', filename: 'ünï "1".wav', sha256: sha256(sound) }],
      })
    })

    test('returns a transcript as text and as events', async () => {
      upstream.answer = ({ fields }, res) =>
        fields.stream?.[0] === 'true'
          ? eventResponse(res, delta + done)
          : void res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('Hellö\n')
      const text = await client.audio.transcriptions.create({
        file: createReadStream(wav),
        model: 'alias',
        response_format: 'text',
      })
      expect(text).toBe('Hellö\n')
      const stream = await client.audio.transcriptions.create({
        file: createReadStream(wav),
        model: 'alias',
        stream: true,
      })
      const types: string[] = []
      for await (const { type } of stream) types.push(type)
      expect(types).toEqual(['transcript.text.delta', 'transcript.text.done'])
    })

    test('throws for a truncated transcript stream', async () => {
      upstream.answer = (_call, res) => eventResponse(res, delta)
      const stream = await client.audio.transcriptions.create({
        file: createReadStream(wav),
        model: 'alias',
        stream: true,
      })
      const reading = (async () => {
        for await (const _ of stream);
      })()
      await expect(reading).rejects.toThrow(/before the end of its response/)
    })

    test('creates a translation', async () => {
      upstream.answer = (_call, res) => jsonResponse(res, { text: 'Hello' })
      expect(await client.audio.translations.create({ file: createReadStream(wav), model: 'alias' })).toEqual({
        text: 'Hello',
      })
      expect(upstream.calls[0]).toMatchObject({ path: '/v1/audio/translations', files: [{ sha256: sha256(sound) }] })
    })

    test('creates speech and writes it to a file', async () => {
      upstream.answer = (_call, res) => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound)
      const answer = await client.audio.speech.create({ model: 'alias', input: 'Hello', voice: 'alloy' })
      expect(answer.headers.get('content-type')).toBe('audio/mpeg')
      const to = join(folder, 'out.mp3')
      await pipeline(Readable.fromWeb(answer.body as ReadableStream), createWriteStream(to))
      expect(sha256(await readFile(to))).toBe(sha256(sound))
      expect(upstream.calls[0]?.json).toEqual({ model: 'real', input: 'Hello', voice: 'alloy' })
    })

    test('never completes truncated speech', async () => {
      upstream.answer = (_call, res) => {
        res.writeHead(200, { 'content-type': 'audio/mpeg' })
        res.write(sound.subarray(0, 500_000))
        setTimeout(() => res.destroy(), 20)
      }
      const reading = client.audio.speech
        .create({ model: 'alias', input: 'Hello', voice: 'alloy' })
        .then((answer) => answer.arrayBuffer())
      await expect(reading).rejects.toThrow()
    })

    test('uses the path of models with another API for speech and transcripts', async () => {
      const parts = (part: object) => ({ candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] })
      upstream.answer = ({ path }, res) =>
        jsonResponse(
          res,
          path.includes('tts')
            ? parts({ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'AQACAA==' } })
            : parts({ text: 'Hello' }),
        )
      const spoken = await client.audio.speech.create({
        model: 'gemini-tts',
        input: 'x',
        voice: 'alloy',
        response_format: 'wav',
      })
      const file = Buffer.from(await spoken.arrayBuffer())
      expect([file.subarray(0, 4).toString(), file.length]).toEqual(['RIFF', 48])
      const received = await client.audio.transcriptions.create({ file: createReadStream(wav), model: 'gemini-hears' })
      expect(received.text).toBe('Hello')
      expect(JSON.stringify(upstream.calls[1]?.json)).toContain(sound.toString('base64'))
    })
  })
