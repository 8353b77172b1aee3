// A virtual gateway process: the storage, tokens and admission that a real process has, with a connection of its own. Many of them run in
// one Node process.
import { createTokens, redisStorage } from '@modelgate/tokens'
import { createClient } from 'redis'

/** @typedef {import('@modelgate/tokens').Storage} Storage @typedef {import('@modelgate/core').Identity} Identity */
/**
 * Replaces the storage of a process. `--wrap <module>` names the file with it as its default export.
 * @typedef {(storage: Storage, at: { process: number, processes: number }) => Storage | Promise<Storage>} Wrap
 */
/** How processes count. @typedef {{ wrap?: Wrap | undefined, leases?: boolean | undefined }} Counting */
/** @typedef {{ secret: string } | { identity: Identity }} Caller with a token, or of the host's own login */
/** @typedef {{ outcome: string, ms: number, admitMs: number }} Result `ms`: look-up and admission; `admitMs`: admission alone */
/**
 * @typedef {object} GatewayProcess
 * @property {import('@modelgate/tokens').Tokens} tokens
 * @property {(caller: Caller, use: Use) => Promise<Result>} call resolves when the call is admitted or refused
 * @property {() => Promise<void>} close
 */
/** @typedef {{ tokens: number, durationMs?: number }} Use of a call; it also reserves as many */
/**
 * @typedef {object} Fleet
 * @property {(process: number) => string} urlFor
 * @property {number} processes
 * @property {import('./tally.js').Tally} tally
 * @property {Counting} [counting]
 * @property {import('@modelgate/tokens').OwnerSettings} [ownerDefaults]
 * @property {number} [staleMs]
 * @property {(message: string, process: number) => void} [onWarn]
 */

const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
let calls = 0

/** @param {number} process @param {Fleet} fleet @returns {Promise<GatewayProcess>} */
export async function startGatewayProcess(process, fleet) {
  const client = createClient({ url: fleet.urlFor(process) })
  client.on('error', () => {})
  await client.connect()
  const logger = { warn: (/** @type {string} */ message) => fleet.onWarn?.(message, process) }
  const redis = redisStorage({
    client: fleet.tally.count(client),
    logger,
    leases: fleet.counting?.leases === true,
  })
  return createGatewayProcess(redis, process, fleet, () => client.destroy())
}

/**
 * @param {Storage} redis @param {number} process @param {Pick<Fleet, 'processes' | 'counting' | 'ownerDefaults' | 'staleMs'>} fleet
 * @param {() => void} disconnect @returns {Promise<GatewayProcess>}
 */
export async function createGatewayProcess(
  redis,
  process,
  { processes, counting: { wrap } = {}, ownerDefaults, staleMs = 0 },
  disconnect,
) {
  const storage = wrap === undefined ? redis : await wrap(redis, { process, processes })
  const tokens = createTokens({
    storage,
    staleMs,
    logger: false,
    ...(ownerDefaults === undefined ? {} : { ownerDefaults }),
  })
  tokens.plugin.onStart?.(/** @type {never} */ ({}))

  /** @param {Caller} caller @param {Use} use @returns {Promise<Result>} */
  const call = async (caller, { tokens: used, durationMs = 0 }) => {
    const startedAt = performance.now()
    let admittedAt = startedAt
    const requestId = `req_${process}_${calls++}`
    const result = (/** @type {string} */ outcome) => {
      const now = performance.now()
      return { outcome, ms: now - startedAt, admitMs: now - admittedAt }
    }
    try {
      const identity =
        'secret' in caller ? ((await tokens.authenticate(caller.secret, request)) ?? null) : caller.identity
      if (identity === null) return result('unauthenticated')
      admittedAt = performance.now()
      const facts = {
        requestId,
        identity,
        operation: /** @type {const} */ ('generate'),
        format: /** @type {const} */ ('chat'),
        model: 'gpt-5',
        stream: false,
        startedAt: Date.now(),
      }
      const admission = await tokens.plugin.admit?.({
        ...facts,
        targets: [{ upstream: 'openai', model: 'gpt-5' }],
        estimate: () => ({ input: used, output: 0 }),
        header: () => undefined,
      })
      const admitted = result('admitted')
      setTimeout(() => {
        admission?.settle?.({
          ...facts,
          status: 200,
          outcome: 'finished',
          losses: [],
          attempts: [],
          durationMs,
          basis: 'reported',
          usage: { input: { total: used }, output: { total: 0 } },
        })
      }, durationMs)
      return admitted
    } catch (error) {
      return result(outcomeOf(error))
    }
  }
  return {
    tokens,
    call,
    async close() {
      await tokens.close()
      disconnect()
    },
  }
}

/** Returns the kind of a GatewayError: `rate_limited`, `quota_exceeded`, `unavailable`. @param {unknown} error */
function outcomeOf(error) {
  if (typeof error === 'object' && error !== null && 'info' in error) {
    const { info } = error
    if (typeof info === 'object' && info !== null && 'kind' in info) return String(info.kind)
  }
  throw error
}

/** Starts all processes of a fleet, some at a time. @param {Fleet} fleet @returns {Promise<GatewayProcess[]>} */
export async function startFleet(fleet) {
  /** @type {GatewayProcess[]} */
  const started = []
  while (started.length < fleet.processes) {
    const first = started.length
    const some = Math.min(50, fleet.processes - first)
    started.push(...(await Promise.all(Array.from({ length: some }, (_, n) => startGatewayProcess(first + n, fleet)))))
  }
  return started
}

/** @param {readonly GatewayProcess[]} fleet */
export async function closeFleet(fleet) {
  await Promise.all(fleet.map((process) => process.close()))
}
