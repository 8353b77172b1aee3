import { fileSpool } from '@modelgate/node'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parsingServers, type Running, servers } from '../base/servers.ts'
import { jsonResponse, type MediaUpstream, mediaGateway, sha256, startMediaUpstream } from './multipart-fixture.ts'

const boundary = 'XyZ-0123456789'
const bytes = Buffer.concat([
  Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n\0\0--${boundary}--\n--${boundary}\r--\r\n-`),
  Buffer.alloc(2_000_000, '\r\n-\0\xff', 'latin1'),
])
const field = (name: string, value: string): Buffer =>
  Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
const file = Buffer.concat([
  Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n`,
  ),
  bytes,
  Buffer.from('\r\n'),
])
const end = Buffer.from(`--${boundary}--\r\n`)
const type = `multipart/form-data; boundary=${boundary}`
const whole = Buffer.concat([file, field('model', 'alias'), end])

for (const server of [...servers, ...parsingServers])
  describe(server.name, () => {
    let upstream: MediaUpstream
    let running: Running
    let small: Running
    const send = (body: Buffer, contentType = type, place = running): Promise<Response> =>
      (place.fetch ?? fetch)(`${place.origin}/v1/audio/transcriptions`, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: { authorization: 'Bearer good', 'content-type': contentType },
      })
    beforeAll(async () => {
      upstream = await startMediaUpstream()
      upstream.answer = (_call, res) => jsonResponse(res, { text: 'heard' })
      running = await server.start(mediaGateway(upstream))
      small = await server.start(mediaGateway(upstream, { limits: { uploadBytes: 1_000_000 } }))
    })
    beforeEach(() => void upstream.calls.splice(0))
    afterAll(async () => {
      await Promise.all([running.close(), small.close()])
      await upstream.close()
    })

    test('passes a file with bytes like a boundary unchanged, even if the model follows it', async () => {
      const reply = await send(whole)
      expect([reply.status, await reply.json()]).toEqual([200, { text: 'heard' }])
      expect(upstream.calls).toMatchObject([
        { fields: { model: ['real'] }, files: [{ filename: 'a.wav', type: 'audio/wav', sha256: sha256(bytes) }] },
      ])
    })

    test.each([
      ['that is truncated', whole.subarray(0, -40), type, 400, null],
      ['that is empty', Buffer.alloc(0), type, 400, null],
      ['without a file', Buffer.concat([field('model', 'alias'), end]), type, 400, 'file'],
      [
        'with a text field instead of a file',
        Buffer.concat([field('file', 'x'), field('model', 'alias'), end]),
        type,
        400,
        'file',
      ],
      ['without a model', Buffer.concat([file, end]), type, 400, 'model'],
      ['for an unknown model', Buffer.concat([file, field('model', 'nobody'), end]), type, 404, 'model'],
      ['without a boundary', whole, 'multipart/form-data', 400, 'content-type'],
      ['of another type', whole, 'application/octet-stream', 415, null],
    ])('rejects an upload %s without an upstream call', async (_what, body, contentType, status, param) => {
      const reply = await send(body, contentType)
      expect(reply.status).toBe(status)
      expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
      expect(upstream.calls).toEqual([])
    })

    test('returns 413 for an upload above the limit', async () => {
      const reply = await send(whole, type, small)
      expect(reply.status).toBe(413)
      expect(await reply.json()).toMatchObject({ error: { code: 'request_too_large' } })
      expect(upstream.calls).toEqual([])
    })
  })

test('accepts uploads above the body limit with a spool if memory is the only storage', async () => {
  const upstream = await startMediaUpstream()
  upstream.answer = (_call, res) => jsonResponse(res, { text: 'heard' })
  const status = async (spool?: typeof fileSpool) => {
    const gateway = mediaGateway(upstream, { limits: { bodyBytes: 10_000 }, ...(spool === undefined ? {} : { spool }) })
    const headers = { authorization: 'Bearer good', 'content-type': type }
    const init = { method: 'POST', body: new Uint8Array(whole), headers }
    return (await gateway.fetch('http://gateway.test/v1/audio/transcriptions', init)).status
  }
  expect([await status(), await status(fileSpool)]).toEqual([413, 200])
  expect(upstream.calls.map(({ files }) => files[0]?.sha256)).toEqual([sha256(bytes)])
  await upstream.close()
})
