import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import Anthropic, { toFile as toAnthropicFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import {
  anthropic,
  createGateway,
  type Gateway,
  type GatewayConfig,
  gemini,
  memoryResponseStore,
  openai,
} from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const provider = createFakeProvider()

const listen = async (listener: Parameters<typeof createServer>[1]): Promise<{ server: Server; origin: string }> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const close = (server: Server | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (server === undefined) return resolve()
    server.close(() => resolve())
    server.closeAllConnections()
  })

const gatewayOver = (
  baseURL: string,
  fetch?: typeof globalThis.fetch,
  references: GatewayConfig['references'] = {},
): Gateway =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      openai: openai({ apiKey: 'k', baseURL: `${baseURL}/v1` }),
      claude: anthropic({ apiKey: 'k', baseURL }),
      google: gemini({ apiKey: 'k', baseURL }),
    },
    models: { 'gpt*': 'openai', 'claude*': 'claude', 'gemini*': 'google' },
    responses: { store: memoryResponseStore() },
    references,
    ...(fetch === undefined ? {} : { fetch }),
    logger: false,
  })

describe('official clients over loopback', () => {
  let running: { server: Server; origin: string }
  const openaiOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${running.origin}/v1`, maxRetries: 0 })
  const anthropicOf = (apiKey: string) => new Anthropic({ apiKey, baseURL: running.origin, maxRetries: 0 })

  beforeAll(async () => {
    running = await listen(nodeListener(gatewayOver('http://up', provider.fetch as typeof fetch)))
  })
  afterAll(() => close(running?.server))

  test('openai uploads, lists, reads and deletes files, and refers to them', async () => {
    const [ann, bob] = [openaiOf('ann'), openaiOf('bob')]
    const file = await ann.files.create({ file: await toFile(Buffer.from('hello'), 'a.txt'), purpose: 'user_data' })
    expect(file).toMatchObject({ object: 'file', bytes: 5, filename: 'a.txt', purpose: 'user_data' })
    expect(await ann.files.retrieve(file.id)).toEqual(file)
    expect(await (await ann.files.content(file.id)).text()).toBe('hello')
    const listed: string[] = []
    for await (const { id } of ann.files.list({ purpose: 'user_data', limit: 1 })) listed.push(id)
    expect(listed).toEqual([file.id])
    expect((await ann.files.list({ purpose: 'batch' })).data).toEqual([])
    expect((await bob.files.list()).data).toEqual([])
    await expect(bob.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.files.content(file.id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.files.delete(file.id)).rejects.toMatchObject({ status: 404 })
    const ask = (client: OpenAI) =>
      client.responses.create({
        model: 'gpt-5',
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
      })
    expect((await ask(ann)).status).toBe('completed')
    await expect(ask(bob)).rejects.toMatchObject({ status: 400 })
    expect(await ann.files.delete(file.id)).toMatchObject({ deleted: true })
    await expect(ann.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 })
  })

  test('openai creates, changes and deletes conversations and their items', async () => {
    const [ann, bob] = [openaiOf('ann'), openaiOf('bob')]
    const conversation = await ann.conversations.create({
      items: [{ type: 'message', role: 'user', content: 'hi' }],
      metadata: { topic: 'a' },
    })
    const { id } = conversation
    expect(await ann.conversations.update(id, { metadata: { topic: 'b' } })).toMatchObject({ metadata: { topic: 'b' } })
    const added = await ann.conversations.items.create(id, {
      items: [{ type: 'message', role: 'user', content: 'more' }],
    })
    const item = added.data[0]?.id ?? ''
    expect(await ann.conversations.items.retrieve(item, { conversation_id: id })).toMatchObject({ id: item })
    expect((await ann.conversations.items.list(id)).data).toHaveLength(2)
    await expect(bob.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.conversations.items.list(id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.conversations.items.delete(item, { conversation_id: id })).rejects.toMatchObject({ status: 404 })
    await expect(bob.responses.create({ model: 'gpt-5', input: 'hi', conversation: id })).rejects.toMatchObject({
      status: 400,
    })
    await ann.conversations.items.delete(item, { conversation_id: id })
    expect(await ann.conversations.delete(id)).toMatchObject({ deleted: true })
  })

  test('openai hangs up its calls over WebRTC, and accepts, rejects and transfers phone calls', async () => {
    const gateway = gatewayOver('http://up', provider.fetch as typeof fetch, { calls: 'pass' })
    const calls = await listen(nodeListener(gateway))
    const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${calls.origin}/v1`, maxRetries: 0 })
    const [ann, bob] = [clientOf('ann'), clientOf('bob')]
    const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n'
    const form = new FormData()
    form.set('sdp', new Blob([sdp], { type: 'application/sdp' }))
    form.set('session', JSON.stringify({ type: 'realtime', model: 'gpt-realtime' }))
    const created = await ann.post('/realtime/calls', { body: form }).asResponse()
    expect([created.status, created.headers.get('content-type')]).toEqual([201, 'application/sdp'])
    expect(await created.text()).toMatch(/^v=0/)
    const id = created.headers.get('location')?.split('/').pop() ?? ''
    await expect(bob.realtime.calls.hangup(id)).rejects.toMatchObject({ status: 404 })
    await ann.realtime.calls.hangup(id)
    await expect(ann.realtime.calls.hangup(id)).rejects.toMatchObject({ status: 404 })
    const phone = 'rtc_sip_1'
    await ann.realtime.calls.accept(phone, { type: 'realtime', model: 'gpt-realtime', instructions: 'Be brief.' })
    await expect(bob.realtime.calls.refer(phone, { target_uri: 'tel:+1' })).rejects.toMatchObject({ status: 404 })
    await ann.realtime.calls.refer(phone, { target_uri: 'tel:+14155550123' })
    await bob.realtime.calls.reject('rtc_sip_2', { status_code: 486 })
    await close(calls.server)
  })

  test('@google/genai uploads, lists, reads and deletes files, and refers to them', async () => {
    const clientOf = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: running.origin } })
    const [ann, bob] = [clientOf('ann'), clientOf('bob')]
    const other = await ann.files.upload({ file: new Blob(['other'], { type: 'text/plain' }) })
    // More than one part of the client.
    const file = await ann.files.upload({
      file: new Blob(['x'.repeat(9_000_000)]),
      config: { mimeType: 'text/plain', displayName: 'large' },
    })
    expect(file).toMatchObject({ sizeBytes: '9000000', displayName: 'large', state: 'ACTIVE' })
    const name = file.name ?? ''
    expect(await ann.files.get({ name })).toMatchObject({ name })
    const listed: unknown[] = []
    for await (const one of await ann.files.list({ config: { pageSize: 1 } })) listed.push(one.name)
    expect(listed).toEqual([name, other.name])
    expect((await bob.files.list()).page).toEqual([])
    await expect(bob.files.get({ name })).rejects.toMatchObject({ status: 404 })
    await expect(bob.files.delete({ name })).rejects.toMatchObject({ status: 404 })
    const ask = (client: GoogleGenAI) =>
      client.models.generateContent({
        model: 'gemini-2.5-pro',
        contents: [{ role: 'user', parts: [{ fileData: { fileUri: file.uri ?? '', mimeType: 'text/plain' } }] }],
      })
    expect((await ask(ann)).candidates).toHaveLength(1)
    await expect(ask(bob)).rejects.toMatchObject({ status: 400 })
    await ann.files.delete({ name })
    await expect(ann.files.get({ name })).rejects.toMatchObject({ status: 404 })
  })

  test('@google/genai creates, lists, changes and deletes cached contents, and uses them', async () => {
    const clientOf = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: running.origin } })
    const [ann, bob] = [clientOf('ann'), clientOf('bob')]
    const model = 'gemini-2.5-pro'
    const contents = 'The cached text. '.repeat(400)
    const created = await ann.caches.create({ model, config: { contents, ttl: '600s', displayName: 'text' } })
    const name = created.name ?? ''
    expect(created).toMatchObject({ model: `models/${model}`, displayName: 'text' })
    expect(await ann.caches.get({ name })).toMatchObject({ name })
    const listed: unknown[] = []
    for await (const one of await ann.caches.list()) listed.push(one.name)
    expect(listed).toEqual([name])
    const changed = await ann.caches.update({ name, config: { ttl: '3600s' } })
    expect(Date.parse(changed.expireTime ?? '')).toBeGreaterThan(Date.parse(created.expireTime ?? ''))
    const ask = (client: GoogleGenAI) =>
      client.models.generateContent({ model, contents: 'Hello', config: { cachedContent: name } })
    expect((await ask(ann)).candidates).toHaveLength(1)
    await expect(ask(bob)).rejects.toMatchObject({ status: 400 })
    expect((await bob.caches.list()).page).toEqual([])
    for (const call of [
      () => bob.caches.get({ name }),
      () => bob.caches.update({ name, config: { ttl: '60s' } }),
      () => bob.caches.delete({ name }),
    ])
      await expect(call()).rejects.toMatchObject({ status: 404 })
    await ann.caches.delete({ name })
    await expect(ann.caches.get({ name })).rejects.toMatchObject({ status: 404 })
  })

  test('@anthropic-ai/sdk creates, lists, reads and deletes skills and their versions', async () => {
    const [ann, bob] = [anthropicOf('ann').beta.skills, anthropicOf('bob').beta.skills]
    const files = async () => [await toAnthropicFile(Buffer.from('---\nname: a\n---\n'), 'a/SKILL.md')]
    const other = await ann.create({ files: await files() })
    const skill = await ann.create({ files: await files(), display_name: 'Reports' })
    expect(skill).toMatchObject({ type: 'skill', display_name: 'Reports', source: { type: 'custom' } })
    const { id } = skill
    expect(await ann.retrieve(id)).toMatchObject({ id })
    const listed: string[] = []
    for await (const one of ann.list({ limit: 1 })) listed.push(one.id)
    expect(listed).toEqual([id, other.id])
    expect((await bob.list()).data).toEqual([])
    const version = await ann.versions.create(id, { files: await files() })
    const versions: string[] = []
    for await (const one of ann.versions.list(id)) versions.push(one.id)
    expect(versions).toEqual([version.id, skill.latest_version_id])
    const of = { skill_id: id }
    expect(await ann.versions.retrieve(version.id, of)).toMatchObject({ id: version.id })
    expect(await (await ann.versions.download(version.id, of)).text()).toBe('PK')
    for (const call of [
      async () => bob.retrieve(id),
      async () => bob.delete(id),
      async () => bob.versions.create(id, { files: await files() }),
      async () => bob.versions.list(id),
      async () => bob.versions.retrieve(version.id, of),
      async () => bob.versions.download(version.id, of),
      async () => bob.versions.delete(version.id, of),
    ])
      await expect(call()).rejects.toMatchObject({ status: 404 })
    await expect(ann.delete(id)).rejects.toMatchObject({ status: 400 })
    for (const one of versions) await ann.versions.delete(one, of)
    expect(await ann.delete(id)).toMatchObject({ id, type: 'skill_deleted' })
    await expect(ann.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })

  test('@anthropic-ai/sdk uploads, lists, reads and deletes files', async () => {
    const [ann, bob] = [anthropicOf('ann'), anthropicOf('bob')]
    const other = await ann.files.upload({ file: await toAnthropicFile(Buffer.from('other'), 'b.txt') })
    const all: string[] = []
    const file = await ann.beta.files.upload({
      file: await toAnthropicFile(Buffer.from('hello'), 'a.txt', { type: 'text/plain' }),
    })
    expect(file).toMatchObject({ type: 'file', size_bytes: 5, mime_type: 'text/plain' })
    expect(await ann.beta.files.retrieveMetadata(file.id)).toMatchObject({ id: file.id })
    expect(await (await ann.beta.files.download(file.id)).text()).toBe('hello')
    for await (const { id } of ann.files.list({ limit: 1 })) all.push(id)
    expect(all).toEqual([file.id, other.id])
    expect((await ann.files.list({ ids: [other.id, 'file_other'] })).data.map(({ id }) => id)).toEqual([other.id])
    expect((await bob.beta.files.list()).data).toEqual([])
    await expect(bob.beta.files.retrieveMetadata(file.id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.beta.files.delete(file.id)).rejects.toMatchObject({ status: 404 })
    expect(await ann.beta.files.delete(file.id)).toMatchObject({ id: file.id })
  })
})

describe('batches with official clients', () => {
  let running: { server: Server; origin: string }
  beforeAll(async () => {
    running = await listen(nodeListener(gatewayOver('http://up', provider.fetch as typeof fetch)))
  })
  afterAll(() => close(running?.server))

  test('openai creates, lists and cancels batches, and reads their results', async () => {
    const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${running.origin}/v1`, maxRetries: 0 })
    const [ann, bob] = [clientOf('ann'), clientOf('bob')]
    const endpoint = '/v1/responses' as const
    const line = { custom_id: 'one', method: 'POST', url: endpoint, body: { model: 'gpt-5', input: 'Say one' } }
    const { id: input_file_id } = await ann.files.create({
      file: await toFile(Buffer.from(JSON.stringify(line)), 'in.jsonl'),
      purpose: 'batch',
    })
    const settings = { input_file_id, endpoint, completion_window: '24h' as const }
    await expect(bob.batches.create(settings)).rejects.toMatchObject({ status: 400 })
    const { id } = await ann.batches.create(settings)
    expect(await ann.batches.retrieve(id)).toMatchObject({ id, status: 'in_progress' })
    const batch = await ann.batches.retrieve(id)
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 1, failed: 0 } })
    const output = batch.output_file_id ?? ''
    const result = JSON.parse(await (await ann.files.content(output)).text())
    expect(result).toMatchObject({ custom_id: 'one', response: { status_code: 200, body: { object: 'response' } } })
    const other = await ann.batches.create(settings)
    expect(await ann.batches.cancel(other.id)).toMatchObject({ status: 'cancelling' })
    const listed: string[] = []
    for await (const one of ann.batches.list({ limit: 1 })) listed.push(one.id)
    expect(listed).toEqual([other.id, id])
    expect((await bob.batches.list()).data).toEqual([])
    for (const call of [() => bob.batches.retrieve(id), () => bob.batches.cancel(id), () => bob.files.content(output)])
      await expect(call()).rejects.toMatchObject({ status: 404 })
  })

  test('@anthropic-ai/sdk creates, lists, cancels and deletes batches, and reads their results', async () => {
    const clientOf = (apiKey: string) => new Anthropic({ apiKey, baseURL: running.origin, maxRetries: 0 })
    const [ann, bob] = [clientOf('ann').messages.batches, clientOf('bob').messages.batches]
    const request = (custom_id: string) => ({
      custom_id,
      params: {
        model: 'claude-sonnet-5',
        max_tokens: 50,
        messages: [{ role: 'user' as const, content: `Say ${custom_id}` }],
      },
    })
    const created = await ann.create({ requests: [request('one'), request('two')] })
    const { id } = created
    expect(created).toMatchObject({ type: 'message_batch', processing_status: 'in_progress', results_url: null })
    await expect(ann.results(id)).rejects.toThrow()
    expect(await ann.retrieve(id)).toMatchObject({ id, processing_status: 'ended' })
    const results: string[] = []
    for await (const { custom_id, result } of await ann.results(id)) results.push(`${custom_id} ${result.type}`)
    expect(results.sort()).toEqual(['one succeeded', 'two succeeded'])
    const other = await ann.create({ requests: [request('three')] })
    expect(await ann.cancel(other.id)).toMatchObject({ processing_status: 'canceling' })
    const listed: string[] = []
    for await (const batch of ann.list({ limit: 1 })) listed.push(batch.id)
    expect(listed).toEqual([other.id, id])
    expect((await bob.list()).data).toEqual([])
    for (const call of [() => bob.retrieve(id), () => bob.cancel(id), () => bob.delete(id), () => bob.results(id)])
      await expect(call()).rejects.toMatchObject({ status: 404 })
    expect(await ann.delete(id)).toMatchObject({ id, type: 'message_batch_deleted' })
    await expect(ann.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })
})

describe('a large file', () => {
  const chunk = Buffer.alloc(1 << 20, 'x')
  const chunks = 96

  /** Resolves once a count has stopped growing. */
  const settled = async (count: () => number): Promise<number> => {
    for (let before = -1; before !== count(); ) {
      before = count()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    return count()
  }

  test('is not read from the client faster than the upstream reads it', async () => {
    let received = 0
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let hasBegun = false
    const upstream = await listen(async (req, res) => {
      hasBegun = true
      await released
      for await (const part of req) received += (part as Buffer).length
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ id: 'file-large', object: 'file', purpose: 'user_data' }))
    })
    const running = await listen(nodeListener(gatewayOver(upstream.origin)))
    const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`
    let sent = 0
    const body = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(head)
      for (; sent < chunks; sent++) yield chunk
      yield Buffer.from('\r\n--b--\r\n')
    }
    const headers = { authorization: 'Bearer ann', 'content-type': 'multipart/form-data; boundary=b' }
    const creating = fetch(`${running.origin}/v1/files`, {
      method: 'POST',
      headers,
      body: Readable.toWeb(Readable.from(body())),
      duplex: 'half',
    } as unknown as RequestInit)
    await expect.poll(() => hasBegun, { timeout: 20_000 }).toBe(true)
    // Sockets and streams buffer some chunks on each side.
    expect(await settled(() => sent)).toBeLessThan(chunks / 2)
    release()
    expect((await creating).status).toBe(200)
    expect(received).toBe(chunks * chunk.length + head.length + 9)
    await Promise.all([close(running.server), close(upstream.server)])
  })

  test('is not read from the upstream faster than the client reads it', async () => {
    let sent = 0
    const upstream = await listen(async (req, res) => {
      if (req.method === 'POST') {
        req.resume()
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ id: 'file-large', object: 'file', purpose: 'user_data' }))
        return
      }
      res.setHeader('content-type', 'application/octet-stream')
      for (; sent < chunks; sent++) if (!res.write(chunk)) await new Promise((resolve) => res.once('drain', resolve))
      res.end()
    })
    const running = await listen(nodeListener(gatewayOver(upstream.origin)))
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('file', new Blob(['x']), 'a')
    const headers = { authorization: 'Bearer ann' }
    expect((await fetch(`${running.origin}/v1/files`, { method: 'POST', headers, body: form })).status).toBe(200)
    const content = await fetch(`${running.origin}/v1/files/file-large/content`, { headers })
    expect(await settled(() => sent)).toBeLessThan(chunks / 2)
    let read = 0
    for await (const part of content.body ?? []) read += part.length
    expect(read).toBe(chunks * chunk.length)
    await Promise.all([close(running.server), close(upstream.server)])
  })

  test('that the client cuts off is an error for the upstream, too, and leaves no object', async () => {
    let outcome = ''
    let hasBegun: () => void = () => {}
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve
    })
    const upstream = await listen(async (req, res) => {
      try {
        for await (const _ of req) hasBegun()
        outcome = 'complete'
        res.end('{"id":"file-cut"}')
      } catch {
        outcome = 'cut'
      }
    })
    const running = await listen(nodeListener(gatewayOver(upstream.origin)))
    const body = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
      yield chunk
      // An upload that ends before the upstream is called never reaches it.
      await begun
      throw new Error('cut')
    }
    const headers = { authorization: 'Bearer ann', 'content-type': 'multipart/form-data; boundary=b' }
    await expect(
      fetch(`${running.origin}/v1/files`, {
        method: 'POST',
        headers,
        body: Readable.toWeb(Readable.from(body())),
        duplex: 'half',
      } as unknown as RequestInit),
    ).rejects.toThrow()
    await expect.poll(() => outcome, { timeout: 20_000 }).toBe('cut')
    const list = await fetch(`${running.origin}/v1/files`, { headers: { authorization: 'Bearer ann' } })
    expect(await list.json()).toMatchObject({ data: [] })
    await Promise.all([close(running.server), close(upstream.server)])
  })
})
