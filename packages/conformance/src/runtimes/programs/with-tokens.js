// Platform tokens inside the runtime. Each storage must keep issued tokens, revocations and remaining limits.
import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, fileLedger, folderStorage, memoryStorage, redisStorage } from '@modelgate/tokens'
import { tried } from './in-process.js'

/** @typedef {import('./in-process.js').Tried} Tried */

/**
 * Endpoints of runtimes that provide Node's modules, by path.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {(what: string) => Promise<unknown>}
 */
export const moreWith =
  ({ FOLDER = '', REDIS = '' }) =>
  async (what) => {
    if (what === 'tokens-memory') return tokensInMemory()
    if (what === 'tokens-folder') return tokensInFolder(FOLDER)
    if (what === 'tokens-redis') return tokensInRedis(REDIS)
    if (what === 'hono') return import.meta.resolve('@modelgate/hono')
    return null
  }

const tokensInMemory = () => tokensIn(memoryStorage())

/** @param {string} folder */
const tokensInFolder = (folder) =>
  tokensIn(folderStorage(folder), { ledger: fileLedger({ folder: `${folder}/ledger` }) })

/** @param {string} url */
async function tokensInRedis(url) {
  const { createClient } = await import('redis')
  const client = createClient({ url })
  await client.connect()
  try {
    // A long timeout: this check is not about Redis latency on a busy machine.
    return await tokensIn(redisStorage({ client, prefix: `matrix-${crypto.randomUUID()}`, timeoutMs: 10_000 }))
  } finally {
    await client.close()
  }
}

/**
 * @param {import('@modelgate/tokens').Storage} storage @param {Partial<import('@modelgate/tokens').TokensOptions>} [options]
 * @returns {Promise<Tried[]>}
 */
async function tokensIn(storage, options = {}) {
  const tokens = createTokens({ storage, logger: false, ...options })
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { openai: openai({ apiKey: 'any' }) },
    models: { '*': 'openai' },
    fetch: createFakeProvider().fetch,
    logger: false,
  })
  /** @param {string} secret @param {boolean} [stream] */
  const call = async (secret, stream = false) => {
    const response = await gateway.fetch('http://gateway/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: '[[say:hello]]' }], stream }),
    })
    await response.text()
    return response.status
  }
  try {
    const { id, secret } = await tokens.issue({ owner: 'ada', limits: { requests: 2, window: 'day' } })
    return [
      await tried('an unknown token is rejected', async () => `${await call('mg-unknown')}`, '401'),
      await tried('an issued token is accepted', async () => `${await call(secret)}`, '200'),
      await tried('a stream counts as usage', async () => `${await call(secret, true)}`, '200'),
      await tried('the limit is enforced', async () => `${await call(secret)}`, '429'),
      await tried('the usage is recorded', async () => `${(await tokens.usage(id)).totals.calls}`, '2'),
      await tried(
        'a revoked token is rejected',
        async () => {
          await tokens.revoke(id)
          return `${await call(secret)}`
        },
        '401',
      ),
    ]
  } finally {
    await gateway.close({ graceMs: 0 })
    await tokens.close()
  }
}
