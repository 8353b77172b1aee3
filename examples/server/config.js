import { randomBytes } from 'node:crypto'
import { anthropic, cohere, gemini, openai } from '@modelgate/core'
import { createFakeProvider, listen, listenRealtime } from '@modelgate/testing'
import { either, oneToken } from './auth.js'
import { openTokens } from './open-tokens.js'
import { providers } from './providers.js'

/** @typedef {{ [name: string]: string | undefined }} Env */
/** @typedef {{ [name: string]: import('@modelgate/core').Upstream }} Upstreams */

/**
 * @typedef {object} Config
 * @property {string} host
 * @property {number} port
 * @property {string | undefined} token what clients send as their API key; undefined: only issued tokens are let in
 * @property {string | undefined} data the folder of the issued tokens
 * @property {boolean} tokenIsMade nobody set one: it changes with every start
 * @property {import('@modelgate/core').Authenticate} auth
 * @property {import('@modelgate/tokens').Tokens} tokens
 * @property {Upstreams} upstreams
 * @property {{ [model: string]: string }} models
 * @property {() => Promise<void>} close ends what the upstreams need, and writes what is not written yet
 * @property {boolean} demo there is no key, so the answers are made up
 * @property {readonly string[]} notes what the user should know
 */

/** What the server is to do, from the environment. Throws an Error whose message is for the user. @param {Env} env @returns {Promise<Config>} */
export async function readConfig(env) {
  const port = Number(env.PORT || 8787)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`PORT is '${env.PORT}': set it to a number from 0 to 65535`)
  const common = {
    host: env.HOST || '127.0.0.1',
    port,
    ...access(env),
    notes: providers
      .filter((provider) => env[`${provider.env}_BASE_URL`] && !env[`${provider.env}_API_KEY`])
      .map(({ env: prefix }) => `${prefix}_BASE_URL is ignored, because ${prefix}_API_KEY is not set`),
  }
  const configured = providers.filter((provider) => env[`${provider.env}_API_KEY`])
  const upstreams = configured.length > 0 ? realUpstreams(configured, env) : await demoUpstreams()
  return {
    ...common,
    ...upstreams,
    close: async () => {
      await Promise.all([upstreams.close(), common.tokens.close()])
    },
  }
}

/**
 * Who is let in: the token of MODELGATE_TOKEN, and those that were issued into the folder of MODELGATE_DATA. With neither, a
 * token that is made for this run.
 * @param {Env} env
 */
function access(env) {
  const tokens = openTokens(env)
  const data = env.MODELGATE_DATA || undefined
  const token = env.MODELGATE_TOKEN || (data ? undefined : `mg-${randomBytes(24).toString('base64url')}`)
  const own = token === undefined ? undefined : oneToken(token)
  const auth = own === undefined ? tokens.authenticate : data ? either(own, tokens.authenticate) : own
  return { data, token, tokenIsMade: token !== undefined && !env.MODELGATE_TOKEN, auth, tokens }
}

/** @param {readonly import('./providers.js').Provider[]} configured @param {Env} env */
function realUpstreams(configured, env) {
  /** @type {Upstreams} */
  const upstreams = {}
  /** @type {{ [model: string]: string }} */
  const models = {}
  for (const provider of configured) {
    const apiKey = env[`${provider.env}_API_KEY`] ?? ''
    const baseURL = env[`${provider.env}_BASE_URL`]
    upstreams[provider.name] = provider.upstream({ apiKey, ...(baseURL ? { baseURL } : {}) })
    for (const model of provider.models) models[model] = provider.name
  }
  return { upstreams, models, demo: false, close: async () => {} }
}

/**
 * Without a key: a provider within this process, behind a real socket, so that everything else is as it will be. One upstream
 * for each format, so that every kind of client can be tried against each.
 */
async function demoUpstreams() {
  const apiKey = randomBytes(24).toString('base64url')
  const { url, origin, close } = await listen(createFakeProvider({ apiKey, paceMs: 25, keepRequests: 0 }))
  const realtime = await listenRealtime({ apiKey, paceMs: 25 })
  return {
    upstreams: {
      'demo-openai': openai({ apiKey, baseURL: url, formats: ['chat'] }),
      'demo-anthropic': anthropic({ apiKey, baseURL: origin }),
      'demo-google': gemini({ apiKey, baseURL: origin }),
      'demo-openai-responses': openai({ apiKey, baseURL: url, formats: ['responses'] }),
      'demo-cohere': cohere({ apiKey, baseURL: origin }),
      'demo-openai-realtime': openai({ apiKey, baseURL: realtime.url }),
    },
    models: {
      'demo-chat': 'demo-openai',
      'demo-messages': 'demo-anthropic',
      'demo-gemini': 'demo-google',
      'demo-responses': 'demo-openai-responses',
      'demo-embedding': 'demo-openai',
      'demo-image': 'demo-openai',
      'demo-transcribe': 'demo-openai',
      'demo-speech': 'demo-openai',
      'demo-rerank': 'demo-cohere',
      'demo-realtime': 'demo-openai-realtime',
    },
    demo: true,
    close: async () => {
      await Promise.all([close(), realtime.close()])
    },
  }
}
