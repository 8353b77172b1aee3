// Code that every runtime runs: the gateways of the matrix and a host's own routes. It imports only packages that run
// in every runtime, and no runtime's own modules.
import { consolePages } from '@modelgate/console'
import { anthropic, cohere, createGateway, gemini, openai } from '@modelgate/core'
import { honoMiddleware } from '@modelgate/hono'
import { otel } from '@modelgate/otel'
import { Hono } from 'hono'
import { inProcess } from './in-process.js'
import { offline } from './offline.js'

/**
 * Settings that the matrix passes to a program: the upstreams' origins (`providers`: fake providers, `live`: realtime
 * sessions, `stage`: scripted by a check), the API key of the upstreams, and the token of the one client.
 * @typedef {{ providers: string, live: string, stage: string, key: string, token: string }} Setting
 */

/** One upstream per format, selected by the model's name. @param {string} origin @param {string} apiKey */
const upstreamsAt = (origin, apiKey) => ({
  chat: openai({ apiKey, baseURL: `${origin}/v1`, formats: ['chat'] }),
  messages: anthropic({ apiKey, baseURL: origin }),
  gemini: gemini({ apiKey, baseURL: origin }),
  responses: openai({ apiKey, baseURL: `${origin}/v1`, formats: ['responses'] }),
})

const models = /** @type {const} */ ({
  'chat-model': 'chat',
  'messages-model': 'messages',
  'gemini-model': 'gemini',
  'responses-model': 'responses',
})

/** Models for operations other than text generation. */
const moreModels = /** @type {const} */ ({
  'demo-embedding': 'chat',
  'demo-image': 'chat',
  'demo-transcribe': 'chat',
  'demo-speech': 'chat',
  'demo-rerank': 'ranks',
  'demo-realtime': 'live',
})

/** @param {Setting} setting */
export function makeGateways({ providers, live, stage, key, token }) {
  /** @param {string} credential */
  const auth = (credential) => (credential === token ? { id: 'client' } : null)
  /** @type {Record<string, number>} */
  const outcomes = {}
  const witness = {
    name: 'witness',
    /** @param {import('@modelgate/core').FinishEvent} event */
    onFinish({ outcome }) {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    },
  }
  // Without retries, circuit breaker and shared health: one call never affects the next.
  const byItself = /** @type {const} */ ({
    auth,
    upstreams: upstreamsAt(stage, key),
    models,
    retry: false,
    breaker: false,
    health: { read: () => undefined, write() {} },
    plugins: [witness],
    logger: false,
  })
  return {
    /** Outcomes of the calls of all gateways except `plain`. */
    outcomes,
    /** The default configuration. */
    plain: createGateway({
      auth,
      upstreams: {
        ...upstreamsAt(providers, key),
        ranks: cohere({ apiKey: key, baseURL: providers }),
        live: openai({ apiKey: key, baseURL: live }),
      },
      models: { ...models, ...moreModels },
      plugins: [consolePages(), otel()],
      logger: false,
    }),
    strict: createGateway({ ...byItself, basePath: '/strict' }),
    /** Short limits, so that a check can wait for them. */
    hasty: createGateway({
      ...byItself,
      basePath: '/hasty',
      limits: { heartbeatMs: 150, holdMs: 300, firstByteMs: 1500, idleMs: 1500, bodyBytes: 100_000 },
    }),
    /** Short heartbeat interval, default limits. */
    beating: createGateway({ ...byItself, basePath: '/beating', limits: { heartbeatMs: 150, holdMs: 300 } }),
  }
}

/**
 * The whole site as a `fetch` function, as Bun, Deno and Workers serve it.
 * @param {Setting} setting
 * @param {(path: string) => Promise<unknown>} [more] endpoints that only some runtimes have, by path
 */
export function createSite(setting, more = async () => null) {
  const { plain, outcomes, ...others } = makeGateways(setting)
  const app = hostOf(plain, setting, async (what) => (what === 'outcomes' ? outcomes : more(what)))
  /**
   * Runtimes pass further arguments with the request. A host that serves `gateway.fetch` passes them on.
   * @param {Request} request @param {any[]} more
   */
  const fetch = async (request, ...more) => {
    const [, first = ''] = new URL(request.url).pathname.split('/')
    if (first === 'host') return app.fetch(request, ...more)
    return (Object.entries(others).find(([name]) => name === first)?.[1] ?? plain).fetch(request, ...more)
  }
  return { plain, others, app, fetch }
}

/**
 * A host with its own routes and the gateway below `/host/ai`.
 * @param {import('@modelgate/core').Gateway} gateway @param {Setting} setting @param {(path: string) =>
 * Promise<unknown>} more
 */
function hostOf(gateway, setting, more) {
  const app = new Hono()
  app.get('/host/before', (context) => context.text('before'))
  app.use('/host/ai/*', honoMiddleware(gateway))
  app.get('/host/in-process', async (context) => context.json(await inProcess(gateway, setting.token)))
  app.get('/host/offline', async (context) => context.json(await offline()))
  app.get('/host/more/:what', async (context) => context.json(await more(context.req.param('what'))))
  app.onError((error, context) => context.text(error.stack ?? error.message, 500))
  app.notFound((context) => context.text('nothing of the host here', 404))
  return app
}
