// Uses the packages as a user does: a gateway with tokens, a console and telemetry, in front of the fake provider, in each installed host.
// `load` gets a module, by `import()` or `require`; `installed` names the installed packages. Prints a line for each part that works, and
// rejects if one fails.
'use strict'
const assert = require('node:assert/strict')
const http = require('node:http')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')

/** @typedef {Record<string, any>} Module a module of which nothing is known here: versions differ */
/** @typedef {(name: string) => Promise<Module>} Load */

/** A module's one export, whichever way it came. @param {Module} module */
const only = (module) => module.default ?? module

/** @param {Load} load @param {string[]} installed */
module.exports = async function usePackages(load, installed) {
  const has = (/** @type {string} */ name) => installed.includes(name)
  const { createFakeProvider, listen } = await load('@modelgate/testing')
  const provider = createFakeProvider()
  const upstream = await listen(provider)
  const world = { load, has, provider, upstream }

  for (const [name, start] of Object.entries(hosts)) {
    if (!has(name)) continue
    for (const prefix of ['', '/ai']) {
      // Hosts that strip a prefix need no basePath.
      const basePath = name === 'node:http' ? { basePath: prefix } : {}
      const { gateway, secret } = await createUsersGateway(world, prefix === '' ? {} : basePath)
      const { server, close } = await start(world, gateway, prefix)
      if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
      const origin = `http://127.0.0.1:${server.address().port}${prefix}`
      await askAll(origin, secret, provider)
      await gateway.close()
      await close()
      console.log(`${name}${prefix}: JSON, stream, abort`)
    }
  }
  for (const [name, ask] of Object.entries(peers)) {
    if (!has(name)) continue
    await ask(world)
    console.log(`${name}: used`)
  }
  if (has('modelgate')) {
    const { defineConfig } = await load('modelgate')
    assert.equal(typeof defineConfig, 'function')
    console.log('modelgate: defineConfig')
  }
  await upstream.close()
}

/** @typedef {{ load: Load, has(name: string): boolean, provider: any, upstream: { url: string, origin: string } }} World */

/** @param {World} world @param {object} more */
async function createUsersGateway({ load, has, upstream }, more) {
  const { createGateway, openai } = await load('@modelgate/core')
  const { createTokens, memoryStorage } = await load('@modelgate/tokens')
  const tokens = createTokens({ storage: memoryStorage() })
  const { consolePages } = await load('@modelgate/console')
  const plugins = [consolePages()]
  if (has('@opentelemetry/api')) plugins.push((await load('@modelgate/otel')).otel())
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { openai: openai({ apiKey: 'any', baseURL: upstream.url }) },
    models: { m: 'openai' },
    plugins,
    logger: false,
    ...more,
  })
  const { secret } = await tokens.issue({ owner: 'ada' })
  return { gateway, secret }
}

/** @type {Record<string, (world: World, gateway: any, prefix: string) => Promise<{ server: any, close(): unknown }>>} */
const hosts = {
  'node:http': async ({ load }, gateway) => {
    const { nodeListener } = await load('@modelgate/node')
    const server = http.createServer(nodeListener(gateway)).listen(0, '127.0.0.1')
    return { server, close: () => server.close() }
  },
  express: async ({ load }, gateway, prefix) => {
    const express = only(await load('express'))
    const { expressMiddleware } = await load('@modelgate/express')
    const app = express()
    app.use(prefix || '/', expressMiddleware(gateway))
    const server = app.listen(0, '127.0.0.1')
    return { server, close: () => server.close() }
  },
  fastify: async ({ load }, gateway, prefix) => {
    const fastify = only(await load('fastify'))
    const { fastifyPlugin } = await load('@modelgate/fastify')
    const app = fastify()
    app.register(fastifyPlugin(gateway), prefix === '' ? {} : { prefix })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { server: app.server, close: () => app.close() }
  },
  hono: async ({ load }, gateway, prefix) => {
    const { Hono } = await load('hono')
    const { serve } = await load('@hono/node-server')
    const { honoMiddleware } = await load('@modelgate/hono')
    const app = new Hono()
    app.use(`${prefix}/*`, honoMiddleware(gateway))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    return { server, close: () => server.close() }
  },
}

/** @param {string} origin @param {string} secret @param {any} provider */
async function askAll(origin, secret, provider) {
  const post = (/** @type {string} */ path, /** @type {object} */ body, /** @type {RequestInit} */ init = {}) =>
    fetch(origin + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      ...init,
    })
  const messages = (/** @type {string} */ content) => [{ role: 'user', content }]

  const json = await post('/v1/chat/completions', { model: 'm', messages: messages('[[say:in the same format]]') })
  assert.equal(json.status, 200)
  assert.match(await json.text(), /in the same format/)

  const body = { model: 'm', max_tokens: 100, stream: true, messages: messages('[[say:translated]]') }
  const stream = await post('/v1/messages', body)
  assert.equal(stream.status, 200)
  assert.match(await stream.text(), /translated.*event: message_stop/s)

  const { aborted } = provider.stats
  const leaving = new AbortController()
  const stalled = { model: 'm', stream: true, messages: messages('[[stall after:2]]') }
  const left = await post('/v1/chat/completions', stalled, { signal: leaving.signal })
  await left.body?.getReader().read()
  leaving.abort()
  // A limit, not a figure: so that what hangs is named.
  const end = Date.now() + 60_000
  while (provider.stats.aborted === aborted) {
    assert.ok(Date.now() < end, 'its client has left, and the call upstream goes on')
    await sleep(5)
  }

  const strange = await post('/v1/chat/completions', {}, { headers: { authorization: 'Bearer nobody' } })
  assert.equal(strange.status, 401)
  assert.match(await (await fetch(`${origin}/`)).text(), /<!doctype html>/i)
}

/** Calls through what core uses where it is installed. @type {Record<string, (world: World) => Promise<void>>} */
const peers = {
  '@ai-sdk/openai': async ({ load, upstream }) => {
    const { createGateway, openai } = await load('@modelgate/core')
    const { createModelgate } = await load('@modelgate/ai-sdk')
    const gateway = createGateway({
      auth: 'none',
      upstreams: { openai: openai({ apiKey: 'any', baseURL: upstream.url }) },
      models: { m: 'openai' },
      logger: false,
    })
    const prompt = [{ role: 'user', content: [{ type: 'text', text: '[[say:in process]]' }] }]
    for (const format of ['responses', 'chat', 'messages', 'gemini']) {
      const { content } = await createModelgate(gateway, { format })('m').doGenerate({ prompt })
      assert.match(JSON.stringify(content), /in process/)
    }
    await gateway.close()
  },
  aws4fetch: async (world) => {
    const { bedrockMantle } = await world.load('@modelgate/core')
    const credentials = { accessKeyId: 'AKIA0', secretAccessKey: 'secret' }
    // The fake provider knows no signatures, and refuses it.
    const { sent } = await callThrough(
      world,
      bedrockMantle({ region: 'us-east-1', credentials, baseURL: world.upstream.url }),
    )
    assert.match(sent.headers.authorization, /^AWS4-HMAC-SHA256 Credential=AKIA0\//)
  },
  'google-auth-library': async (world) => {
    const { vertex } = await world.load('@modelgate/core')
    // A machine of Google's, as far as the library can tell, and not the one whose user may be logged in to Google.
    const metadata = http.createServer((request, response) => {
      response.setHeader('metadata-flavor', 'Google')
      if (!request.url?.includes('/token')) return void response.end('a-project')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ access_token: 'ya29.token', expires_in: 3600, token_type: 'Bearer' }))
    })
    await new Promise((resolve) => metadata.listen(0, '127.0.0.1', () => resolve(undefined)))
    const { port } = /** @type {import('node:net').AddressInfo} */ (metadata.address())
    process.env.GCE_METADATA_HOST = `127.0.0.1:${port}`
    const settings = mkdtempSync(join(tmpdir(), 'modelgate-gcloud-'))
    process.env.CLOUDSDK_CONFIG = settings
    delete process.env.GOOGLE_APPLICATION_CREDENTIALS
    const { status, sent } = await callThrough(world, vertex({ project: 'a-project', baseURL: world.upstream.origin }))
    assert.deepEqual([status, sent.headers.authorization], [200, 'Bearer ya29.token'])
    metadata.close()
    metadata.closeAllConnections()
    rmSync(settings, { recursive: true })
  },
  'gpt-tokenizer': async ({ load, upstream }) => {
    const { createGateway, openaiCompatible } = await load('@modelgate/core')
    const local = openaiCompatible({ baseURL: upstream.url })
    const gateway = createGateway({ auth: 'none', upstreams: { local }, models: { m: 'local' }, logger: false })
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'How many tokens is this?' }] })
    const headers = { 'anthropic-version': '2023-06-01', 'content-type': 'application/json' }
    const counted = await gateway.fetch('http://gateway/v1/messages/count_tokens', { method: 'POST', headers, body })
    assert.match(counted.headers.get('modelgate-estimate'), /o200k_base/)
  },
}

/** Returns the response of a call through the upstream, and the request that reached it. @param {World} world @param {unknown} upstream */
async function callThrough({ load, provider }, upstream) {
  const { createGateway } = await load('@modelgate/core')
  const gateway = createGateway({ auth: 'none', upstreams: { it: upstream }, models: { '*': 'it' }, logger: false })
  const body = JSON.stringify({ model: 'gemini-3-flash', messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { 'content-type': 'application/json' }
  const answer = await gateway.fetch('http://gateway/v1/chat/completions', { method: 'POST', headers, body })
  await gateway.close()
  return { status: answer.status, sent: provider.requests.at(-1) }
}
