// What platform tokens add to a call, in this process and without sockets: the check of a credential, and the check of its
// limits with their correction afterwards. In terms of what one SHA-256 of the credential costs, which cannot be saved.
import { createHash } from 'node:crypto'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { median, table } from './table.js'

const rounds = Number(process.env.BENCH_CODEC_ROUNDS ?? 15)
/** Milliseconds that a subject runs in one round. */
const slice = 20

export const tokensName = 'tokens: check and limits'

/** @type {unknown} */
let sink

/** @param {() => void} run @returns {number} microseconds of one run */
function time(run) {
  let count = 0
  const started = performance.now()
  let now = started
  do {
    for (let i = 0; i < 50; i++) run()
    count += 50
    now = performance.now()
  } while (now - started < slice)
  return ((now - started) * 1000) / count
}

const limits = { requests: 1e9, inputTokens: 1e12, outputTokens: 1e12, concurrent: 1e6 }

async function subjects() {
  const tokens = createTokens({ storage: memoryStorage() })
  const plain = await tokens.issue({ name: 'plain' })
  const limited = await tokens.issue({ name: 'limited', limits, budget: { period: 'month', tokens: 1e12 } })
  tokens.plugin.onStart?.(/** @type {never} */ ({}))
  const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
  const identity = await tokens.authenticate(limited.secret, request)
  let calls = 0
  const admit = () =>
    tokens.plugin.admit?.({
      requestId: `req_${calls++}`,
      identity,
      operation: 'generate',
      format: 'chat',
      model: 'gpt-5',
      stream: false,
      startedAt: Date.now(),
      targets: [{ upstream: 'up', model: 'gpt-5' }],
      estimate: () => ({ input: 100, output: 100 }),
      header: () => undefined,
    })
  /** @type {import('@modelgate/core').FinishEvent} */
  const end = {
    requestId: '',
    identity,
    operation: 'generate',
    format: 'chat',
    model: 'gpt-5',
    stream: false,
    status: 200,
    outcome: 'finished',
    losses: [],
    attempts: [],
    startedAt: Date.now(),
    durationMs: 5,
    basis: 'reported',
    usage: { input: { total: 90 }, output: { total: 40 } },
  }
  return {
    'SHA-256 of a credential': () => {
      sink = createHash('sha256').update(plain.secret).digest('hex')
    },
    'check of a token': () => {
      sink = tokens.authenticate(plain.secret, request)
    },
    'check of four limits and a budget, and settling': () => {
      const admission = admit()
      if (admission === undefined || admission instanceof Promise) throw new Error('memory answers at once')
      admission.settle?.(end)
      sink = admission
    },
  }
}

/** Prints the table; the number of missed bars: a check is to take microseconds. @returns {Promise<number>} */
export async function benchTokens() {
  const runs = Object.entries(await subjects())
  for (const [, run] of runs) time(run)
  const micros = runs.map(([, run]) => median(Array.from({ length: rounds }, () => time(run))))
  const floor = micros[0] ?? Number.NaN
  console.log(`\n${tokensName}\n`)
  console.log(
    table(
      runs.map(([name], at) => ({
        what: name,
        µs: (micros[at] ?? 0).toFixed(2),
        'times SHA-256': ((micros[at] ?? 0) / floor).toFixed(1),
      })),
    ),
  )
  const missed = micros.filter((time, at) => at > 0 && time > (at === 1 ? 6 : 25) * floor).length
  if (missed > 0) console.log(`${missed} of them above their bar (6 and 25 times a SHA-256)`)
  if (sink === undefined) console.log('nothing was measured')
  return missed
}
